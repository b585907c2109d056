"""The documentation site: pages of python/docs, and reference that is made of the sources → HTML.

Pages are brought into a plain tree of Markdown first (`tree`): the generator only makes HTML.
"""

"""The documentation site: pages of python/docs and the reference that is made of the sources → one folder of HTML.

The pages are brought into a plain tree of Markdown first (`tree`), so that the generator is no more than that.
"""

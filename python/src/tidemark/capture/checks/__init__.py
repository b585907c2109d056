"""Checks of a database before anything runs: can it be captured?"""

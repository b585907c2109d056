"""Operates the mirrors of databases."""

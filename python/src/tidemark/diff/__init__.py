"""Differences between two tables, moments of an entity or schemas, and from a database."""

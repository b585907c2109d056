"""Tidemark: extracts and change events become current tables, history and a change feed."""

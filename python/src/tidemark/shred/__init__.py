"""Enriched events: their canonical columns and the schemas of what they carry."""

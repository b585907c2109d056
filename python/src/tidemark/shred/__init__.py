"""Enriched events: their canonical columns and the schemas of what they carry."""

from tidemark.shred.reading import read_events

__all__ = ["read_events"]

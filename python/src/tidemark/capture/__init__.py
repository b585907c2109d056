"""Captures a live database: Debezium's embedded engine reads it, envelopes land untouched."""

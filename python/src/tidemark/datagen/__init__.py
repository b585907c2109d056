"""Seeded test data: two-day extracts of any size, and small scenarios with their counts."""

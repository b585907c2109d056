"""Unit tests of a model's state: rows given date by date, and what its tables have then."""

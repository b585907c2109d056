"""Sessions: what runs the SQL that macros make."""

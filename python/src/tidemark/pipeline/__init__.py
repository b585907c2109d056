"""The load pipeline decides; macros return the text of SQL."""

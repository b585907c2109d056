"""The page of the report, live: served on the loopback, to whoever knows its token."""

"""Rules of a load: pure functions. They know no engine, no format and no connection."""

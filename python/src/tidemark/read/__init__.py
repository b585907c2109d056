"""The state of all entities, read without Spark: what was loaded, what changed, what is open."""

"""`tidemark feed`: the changes of an entity as JSON lines."""

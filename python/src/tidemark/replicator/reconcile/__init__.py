"""Is a copy what its source is? Comparing by hashes, then by rows, and repairing by events."""

"""One page that shows the state of all entities, with its data as JSON."""

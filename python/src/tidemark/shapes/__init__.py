"""What the steps of a load hand on: the keys of their dicts, each said once."""

"""Types of the dicts that the steps of a load hand on."""

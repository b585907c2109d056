"""Whether a database can be captured: asked before anything runs."""

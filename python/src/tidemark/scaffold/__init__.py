"""Help with writing a project: settings, their JSON Schema, and models made from samples."""

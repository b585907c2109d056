"""`tidemark check`: mistakes in YAML and models, found without Spark."""

"""`tidemark check`: what is wrong in YAML and models, told without Spark."""

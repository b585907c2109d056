"""`tidemark shell`: commands in one process that keeps the project parsed and Spark up."""

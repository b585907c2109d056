"""The Spark session of this process: its start, its settings, what its JVM tells."""

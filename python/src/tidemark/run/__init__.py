"""`tidemark run`: dbt over many business dates in one process, with one Spark session."""

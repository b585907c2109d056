"""What `dbt run-operation` does to an entity: decided here, macros return the text of SQL."""

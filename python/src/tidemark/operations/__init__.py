"""What `dbt run-operation` does to an entity; arguments: macros/operations/operations.yml."""

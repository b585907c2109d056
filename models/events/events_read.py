from tidemark.shred import read_events


def model(dbt, session):
    dbt.config(materialized="table", file_format="delta")
    return read_events(session.read.text(dbt.config.get("path")))

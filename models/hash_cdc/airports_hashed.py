from tidemark.hashing import cast_and_hash

COLUMNS = {
    "icao": "string",
    "iata": "string",
    "name": "string",
    "city": "string",
    "subd": "string",
    "country": "string",
    "elevation": "double",
    "lat": "double",
    "lon": "double",
    "tz": "string",
    "lid": "string",
}


def model(dbt, session):
    dbt.config(materialized="table", file_format="delta")
    path = dbt.config.get("path")
    # quotes doubled inside quotes; "" is a text, nothing at all is NULL
    rows = session.read.csv(path, header=True, escape='"', multiLine=True, nullValue="\x01")
    return cast_and_hash(rows, columns=COLUMNS, keys=["icao"])

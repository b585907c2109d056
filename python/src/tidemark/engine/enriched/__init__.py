"""Enriched events by the engine in the workers: a batch of lines becomes files of its tables.

    covers    which models it can take, by their configuration             (no I/O)
    batch     what one batch reads and writes                              (data)
    lines     whether the bytes of files are lines to every reader         (reads all of them)
    entities  contexts and self-describing events of an event              (texts, no I/O)
    sql       the queries of a batch                                       (DuckDB SQL)
    task      one batch, in a worker: files that no commit names yet       (I/O)

Lines that DuckDB may read otherwise than Spark are read by tidemark.shred.enriched, which gives
the values and reasons of the SQL; where even that is not proven, Spark SQL takes the batch.
"""

"""Change events by the engine in the workers: lines of JSON are read, put in order and replayed.

load    what one batch is read from and written with         (data)
lines   the lines of the files, numbered as Spark does       (DuckDB)
sql     the queries of a batch                               (DuckDB SQL)
task    one batch, in a worker: files that no commit names   (I/O)
"""

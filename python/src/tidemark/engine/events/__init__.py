"""Change events by the engine in the workers: lines of JSON are read, put in order and replayed.

load       what one batch is read from and written with             (data)
lines      the lines of the files, numbered as Spark does           (DuckDB)
prefilter       files of many tables, opened once for all of them        (I/O)
parsed     what each line says                                      (DuckDB SQL)
types      texts of images that are read alike                      (DuckDB SQL)
staged     the events, typed, hashed, each once                     (DuckDB SQL)
replayed   what each does to the row that stands                    (DuckDB SQL)
written    what the tables get                                      (DuckDB SQL)
task       one batch, in a worker: files that no commit names yet   (I/O)
"""

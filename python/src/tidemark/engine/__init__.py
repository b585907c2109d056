"""The engine in the workers: DuckDB, in a Python worker of Spark, loads an extract.

Spark SQL is the reference and can do everything. This does what it provably does alike, faster: a
full or delta extract of CSV, JSON or Parquet files that comes after all others, whose rows can all
be used. Whatever else it meets ends the attempt before a commit, and Spark takes the load from its
beginning.

    covers    which loads it can take, by their configuration          (no I/O)
    header    what the files say of their columns                      (reads their first lines)
    parquet   the columns of Parquet files                             (reads their footers)
    pages     whether Parquet files are as they were written           (reads all of them)
    load      what one load reads, compares and writes                 (data)
    members   the members of JSON lines                                (DuckDB SQL)
    types     texts that are read alike, and the text of a value       (DuckDB SQL)
    quoted    names and texts in it                                    (DuckDB SQL)
    sql       the queries of a load                                    (DuckDB SQL)
    room      what a task has of its machine, DuckDB among it            (I/O)
    task      one load, in a worker: files that no commit names yet    (I/O)

What names the files in a commit of Delta is tidemark.spark.delta.worker.
"""

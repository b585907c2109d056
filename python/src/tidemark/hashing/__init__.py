"""The hash recipe (docs block `hash_recipe`) in Python: same bytes as the macro `row_hash_expr`.

The functions for one value and one row need no Spark. `hash_rows` and `cast_and_hash` hash the
rows of a DataFrame or RDD in Python workers, for sources that SQL cannot express; the `cdc`
materialization takes such hashes as they are.
"""

from tidemark.hashing.frames import cast_and_hash, hash_rows
from tidemark.hashing.recipe import ALGORITHMS, PEPPER_VARIABLE, RECIPE_VERSION, Column
from tidemark.hashing.rows import row_hash, row_text
from tidemark.hashing.text import canonical_text

__all__ = [
    "ALGORITHMS",
    "PEPPER_VARIABLE",
    "RECIPE_VERSION",
    "Column",
    "canonical_text",
    "cast_and_hash",
    "hash_rows",
    "row_hash",
    "row_text",
]

"""Operations as commands: they say what they would do, ask, and call `tidemark.operations`."""

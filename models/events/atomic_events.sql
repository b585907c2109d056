{{ tidemark.extract() }}

{{ tidemark.scd2(ref('airports')) }}

"""`tidemark demo`: a project and three days of data, played step by step."""

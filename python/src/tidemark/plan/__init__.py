"""`tidemark plan` and `tidemark apply`: what a load would do, looked at before it is done."""

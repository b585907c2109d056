"""The columns of the sources from which the columns of the models come."""

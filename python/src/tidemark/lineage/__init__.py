"""From which columns of the sources the columns of the models come."""

"""One file per kind of advice: a function that finds it in a load."""

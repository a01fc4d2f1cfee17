"""The results of a run: a folder with one SQLite file."""

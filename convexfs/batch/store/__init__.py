"""The store of a run: a folder with one SQLite file."""

"""Problem files: what a Python file or a file of a known format asks to be solved."""

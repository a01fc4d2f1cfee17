"""Problem files: Python files, or files of a known format, that state problems to solve."""

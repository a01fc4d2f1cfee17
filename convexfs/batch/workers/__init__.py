"""Worker processes: how they start, run tasks, write logs and respect limits."""

"""Worker processes: how they start, what they run, log and may use."""

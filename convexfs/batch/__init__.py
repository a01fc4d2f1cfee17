"""Batch runs: problem files, tasks, worker processes, and the store of their results."""

"""Many problems at once: problem files, tasks, worker processes and the results they leave."""

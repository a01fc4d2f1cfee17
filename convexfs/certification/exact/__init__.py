"""Linear programs decided in rational arithmetic."""

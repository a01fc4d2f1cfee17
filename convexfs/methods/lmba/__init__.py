"""The method lmba."""

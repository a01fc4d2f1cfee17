"""The method lmnn."""

"""The method simba."""

"""The method relief."""

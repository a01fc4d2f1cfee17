"""The method base."""

"""The method logo."""

"""The method mmc."""

"""The method irelief."""

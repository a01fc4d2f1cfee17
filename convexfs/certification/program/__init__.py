"""The compiled cone program: its matrices, cones and units."""

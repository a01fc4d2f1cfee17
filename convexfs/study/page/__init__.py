"""The report as one HTML page: columns of numbers, sections, and the files it is made of."""

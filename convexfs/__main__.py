"""``python -m convexfs`` is the command ``convexfs``."""

import sys

from convexfs.cli import main

# The workers of an MPI pool load this module too, under another name.
if __name__ == "__main__":
    sys.exit(main())

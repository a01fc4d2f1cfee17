"""Same as `convexfs solve`."""

import sys

from convexfs.cli import main

sys.exit(main(["solve", *sys.argv[1:]]))

"""Same as `convexfs show`."""

import sys

from convexfs.cli import main

sys.exit(main(["show", *sys.argv[1:]]))

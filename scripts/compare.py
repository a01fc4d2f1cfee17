"""Same as `convexfs compare`."""

import sys

from convexfs.cli import main

sys.exit(main(["compare", *sys.argv[1:]]))

"""Same as `convexfs report`."""

import sys

from convexfs.cli import main

sys.exit(main(["report", *sys.argv[1:]]))

"""``python -m convexfs`` is the command ``convexfs``."""

import sys

from convexfs.cli import main

sys.exit(main())

"""Repeat the experiments of the five papers: scripts/reproduce.py NAME; no NAME lists them."""

import sys

from convexfs.cli import COMMANDS, main

COMMANDS["reproduce"] = "papers.command:reproduce"
sys.exit(main(["reproduce", *sys.argv[1:]]))

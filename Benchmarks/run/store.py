"""Runs StoreBench, which prints the table and writes the rows. See scripts/bench."""

import os
import sys

from bench import PEERS

os.execv(PEERS / "StoreBench", [str(PEERS / "StoreBench"), *sys.argv[1:]])

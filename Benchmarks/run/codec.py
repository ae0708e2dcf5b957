"""Runs CodecBench, which prints the table and writes the rows itself. See scripts/bench."""

import os
import sys

from bench import PEERS

os.execv(PEERS / "CodecBench", [str(PEERS / "CodecBench"), *sys.argv[1:]])

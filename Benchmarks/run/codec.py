"""Benchmarks the generated codec on one notification, compared with swift-protobuf's JSON and binary formats. See scripts/bench."""

import subprocess
import sys

from bench import ONE_CORE, PEERS

if __name__ == "__main__":
    sys.exit(subprocess.run([*ONE_CORE, str(PEERS / "CodecBench"), *sys.argv[1:]]).returncode)

"""Prepares the programs for the tests, and isolates tests that run concurrently (`pytest -n`)."""

import ctypes
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARIES = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build" / "debug"))
CLONE_NEWNET = 0x40000000


def pytest_configure():
    """Gives `campanile-suite` the names of its programs, by which the tests start them. Moves each worker into a separate network
    namespace, if that is permitted: otherwise another worker's test may have taken the port of a process that a test restarts."""
    if (BINARIES / "campanile-suite").exists():
        subprocess.run(["bash", "-c", '. scripts/lib/common.sh; link_programs "$0"', BINARIES], cwd=ROOT, check=True)
    if "PYTEST_XDIST_WORKER" in os.environ and ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

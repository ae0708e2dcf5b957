"""Isolates tests that run concurrently (`pytest -n`)."""

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000


def pytest_configure():
    """Moves each worker into a separate network namespace, if that is permitted. Otherwise another worker's test may have taken the
    port of a process that a test kills and restarts."""
    if "PYTEST_XDIST_WORKER" in os.environ and ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

"""What keeps tests apart that run at the same time (`pytest -n`)."""

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000


def pytest_configure():
    """Gives each worker a network of its own where that is allowed: a process that a test kills and starts again on its port must not
    find that another worker's test was given it meanwhile."""
    if "PYTEST_XDIST_WORKER" in os.environ and ctypes.CDLL(None).unshare(CLONE_NEWNET) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

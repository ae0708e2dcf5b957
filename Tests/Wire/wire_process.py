"""Starts and stops the suite's executables for the wire tests."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from wire_store import store_settings

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build" / "debug"))


def fixed_port():
    """Returns a port for a process that stops and starts again. It is below those that Linux gives to connections, so that none takes
    it in between."""
    return random.randrange(10_000, 30_000)


class Process:
    """One executable, started on free ports unless the arguments name them. `ready` is the content of its ready file.

    `settings` are passed in the environment, because a command line is not secret.
    """

    def __init__(self, name, directory, *arguments, **settings):
        ready = directory / f"{name}.ready"
        self.log_path = directory / f"{name}.log"
        self.log = open(self.log_path, "ab")
        ready.unlink(missing_ok=True)
        folder = arguments[arguments.index("--data-dir") + 1] if "--data-dir" in arguments else directory
        ports = [part for flag in ("--port", "--http-port") if flag not in arguments for part in (flag, "0")]
        self.process = subprocess.Popen(
            [str(BINARIES / name), *ports, "--ready-file", str(ready), *arguments],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
            env={**os.environ, **store_settings(folder), **{f"CAMPANILE_{key.upper()}": value for key, value in settings.items()}})
        deadline = time.monotonic() + 60
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} did not start: {self.log_path.read_text()[-2000:]}")
            time.sleep(0.01)
        self.ready = json.loads(ready.read_text())
        self.port = self.ready["rpc"]

    @property
    def pid(self):
        return self.process.pid

    def rss_bytes(self):
        with open(f"/proc/{self.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

    def is_running(self):
        return self.process.poll() is None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        if self.is_running():
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        self.log.close()
        return self.process.returncode


class PythonPeer(Process):
    """A server of Examples/python-peer, which prints its port: `strict`, or `plain`, which is peer.py alone."""

    FOLDER = ROOT / "Examples" / "python-peer"

    def __init__(self, directory, kind="strict"):
        self.log_path = directory / "python-peer.log"
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [sys.executable, str(self.FOLDER / "echo_server.py"), "0", kind],
            stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL)
        self.port = int(self.process.stdout.readline())

    def stop(self):
        self.process.stdout.close()
        return super().stop()

"""Runs `campanile` for tests: the suite as real processes, and its commands."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "Tests" / "Wire"))
from wire_store import store_settings  # noqa: E402

BIN = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build" / "debug"))
CLI = str(BIN / "campanile")
# Maximum time for each step, in seconds; far more than it needs, because no test measures time.
PATIENCE_S = int(os.environ.get("CAMPANILE_PATIENCE_S", 60))


def environment():
    """The environment without the `CAMPANILE_` variables of the person who runs the tests."""
    return {key: value for key, value in os.environ.items() if not key.startswith("CAMPANILE_")}


def eventually(condition, what, seconds=PATIENCE_S):
    """Waits until `condition` returns a true value, and returns that value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Threads:
    """Runs `threads` in a `with` block, which ends when all of them have seen `stopped`."""

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


class Suite:
    """A `campanile up` with its own data folder. `settings` are environment variables for all its processes."""

    def __init__(self, folder, *arguments, settings=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_path = self.folder.parent / f"{self.folder.name}.log"
        self.log = open(self.log_path, "ab")
        # A killed `up` may have left its endpoints file; that file does not mean that this one is ready.
        self.left = self.endpoints_mark()
        self.process = subprocess.Popen(
            [CLI, "up", "--data-dir", str(self.folder), "--port-base", "0", *arguments],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True,
            env=environment() | store_settings(self.folder) | (settings or {}))
        self.endpoints = None

    def endpoints_mark(self):
        try:
            status = (self.folder / "endpoints.json").stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"up ended with {self.process.returncode}:\n{self.text()[-4000:]}")
            return self.endpoints_mark() not in (None, self.left)

        eventually(ready, "endpoints.json")
        self.endpoints = json.loads((self.folder / "endpoints.json").read_text())
        return self

    def text(self):
        return self.log_path.read_text(errors="replace")

    def children(self):
        """The process ids of the suite's processes, by name."""
        result = {}
        for file in (self.folder / "run").glob("*.ready.json"):
            try:
                result[file.name.removesuffix(".ready.json")] = json.loads(file.read_text())["pid"]
            except FileNotFoundError:
                pass
        return result

    def run(self, *arguments, input=None, key=None, check=None):
        """Runs a command on this suite. Returns exit code, standard output and standard error."""
        extra = {"CAMPANILE_KEY": key} if key else {}
        result = subprocess.run(
            [CLI, *arguments, "--data-dir", str(self.folder)], input=input, text=True, capture_output=True,
            env=environment() | extra, timeout=PATIENCE_S)
        if check is not None:
            assert result.returncode == check, (arguments, result.returncode, result.stdout, result.stderr)
        return result

    def call(self, method, request=None, key=None, *arguments):
        """Calls a method and returns the response."""
        text = [] if request is None else [json.dumps(request)]
        return json.loads(self.run("call", method, *text, *arguments, key=key, check=0).stdout)

    def key(self, principal):
        """A new key for `principal`."""
        return self.run("keys", "create", principal, "--secret-only", check=0).stdout.strip()

    def simulator(self, method, path, body=None):
        """Calls the control API of the simulated APNs; raises AssertionError with the text of an error."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.endpoints['apns']['simulator']['control']}/v1{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": "Bearer " + self.endpoints["internalToken"]})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from None

    def screen(self, token):
        """The screen of the device or activity that a token belongs to."""
        screens = self.simulator("GET", "/screens?limit=1000")["screens"]
        return next((screen for screen in screens if screen["key"] == token), {})

    def pushed(self, token):
        """The payloads that APNs has accepted for a token, each with its apns-id, in order."""
        # The text after the last line feed is still being written.
        lines = (self.folder / "apns-simulator" / "journal.jsonl").read_bytes().split(b"\n")[:-1]
        entries = [json.loads(line) for line in lines]
        return [(entry["id"], json.loads(entry["payload"])) for entry in entries if entry.get("key") == token]

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.log.close()

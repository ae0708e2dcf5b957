"""The suite's processes, each started separately with the command line of `campanile up`, so that each can be killed,
wrapped in another program, or moved into another network."""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "SuiteTests"), str(TESTS / "Wire")]
from campanile import Suite, environment, eventually  # noqa: E402
from campanile_wire import Peer  # noqa: E402
from wire_process import fixed_port  # noqa: E402

SERVICES = ("notifications", "activities", "sync", "attendance")
STORES = ("notifications", "activities", "sync", "attendance", "gateway")
ORDER = ("notifications", "apns-simulator", "activities", "sync", "attendance", "gateway")


def is_ready(port, timeout_s):
    """Returns whether a process reports at its HTTP port that it is serving."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=timeout_s) as answer:
            return answer.status == 200
    except OSError:
        return False


class Fleet:
    """All processes on one folder. Ports do not change on restarts. Set `change` to modify command lines before they are used."""

    def __init__(self, folder, *up_arguments, users=()):
        self.folder = pathlib.Path(folder)
        self.suite = Suite(self.folder, "--log-level", "warning", "--port-base", str(fixed_port()), *up_arguments).wait_ready()
        self.endpoints = self.suite.endpoints
        self.keys = {user: self.suite.key(user) for user in users}
        self.commands, self.ready = {}, {}
        for name, pid in self.suite.children().items():
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
            self.ready[name] = json.loads(self.ready_file(name).read_text())
            for flag, port in (("--port", "rpc"), ("--http-port", "http"), ("--rpc-port", "service")):
                if flag in command:
                    command[command.index(flag) + 1] = str(self.ready[name][port])
            self.commands[name] = command
        self.processes = {}
        # The order of starts.
        self.order = ORDER
        self.change = lambda name, command: command
        # Responses sent while the machine loses power are ignored.
        self.is_dying = False
        text = (self.folder / "endpoints.json").read_text()
        self.suite.stop()
        # The commands of the CLI read this file.
        path = self.folder / "endpoints.json"
        path.write_text(text)
        path.chmod(0o600)
        self.log = open(self.folder.parent / f"{self.folder.name}.processes.log", "ab")

    def ready_file(self, name):
        return self.folder / "run" / f"{name}.ready.json"

    def pid(self, name):
        return self.ready[name]["pid"]

    def begin(self, name, prefix=(), env=None):
        """Starts a process without waiting for it."""
        self.ready_file(name).unlink(missing_ok=True)
        command = self.change(name, list(self.commands[name]))
        self.processes[name] = subprocess.Popen(
            [*prefix, *command], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env=environment() | (env or {}))

    def wait(self, name):
        def ready():
            assert self.processes[name].poll() is None, f"{name} stopped unexpectedly:\n{self.text()[-3000:]}"
            try:
                return json.loads(self.ready_file(name).read_text())
            except (FileNotFoundError, json.JSONDecodeError):
                return None
        self.ready[name] = eventually(ready, f"{name} is ready")

    def start(self, *names, prefix=(), env=None):
        for name in names or self.order:
            self.begin(name, prefix, env)
        for name in names or self.order:
            self.wait(name)
        if not names:
            self.wait_serving()
        return self

    def signal(self, name, number):
        os.kill(self.pid(name), number)

    def kill(self, name):
        """Kills a process and the program that wraps it."""
        for pid in {self.pid(name), self.processes[name].pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.processes[name].wait(30)

    def stop(self):
        """Stops all processes in order, the gateway first."""
        for name in reversed(self.order):
            process = self.processes.get(name)
            if process is None or process.poll() is not None:
                continue
            for number in (signal.SIGCONT, signal.SIGTERM):
                try:
                    os.kill(self.pid(name), number)
                except ProcessLookupError:
                    pass
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill(name)

    def all_running(self):
        return [name for name, process in self.processes.items() if process.poll() is not None] == []

    def text(self):
        return (self.folder.parent / f"{self.folder.name}.processes.log").read_text(errors="replace")

    # Queries.

    def peer(self, user=None, timeout_s=60, port=None, host="127.0.0.1", **members):
        link = Peer(port or self.endpoints["gateway"]["rpc"], host, timeout_s, **members)
        if user:
            answer = link.hello(self.keys.get(user, user))
            if answer is None or "error" in answer:
                link.close()
                raise ConnectionError(f"hello: {answer}")
        return link

    def serves(self, timeout_s=5):
        """Returns whether the gateway reports that it and all services are serving."""
        return is_ready(self.endpoints["gateway"]["http"], timeout_s)

    def wait_serving(self):
        eventually(self.serves, "the gateway serves all services")

    def rows(self, store, statement, *arguments):
        """Reads a database while its service is running."""
        with sqlite3.connect(f"file:{self.folder}/{store}.sqlite?mode=ro", uri=True, timeout=20) as database:
            rows = database.execute(statement, arguments).fetchall()
        database.close()
        return rows

    def is_damaged(self, store):
        return self.rows(store, "PRAGMA integrity_check") != [("ok",)]

    def metrics(self, name, host="127.0.0.1"):
        """Returns the metrics of a process, by name with labels."""
        url = f"http://{host}:{self.ready[name].get('admin', self.ready[name]['http'])}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and line[0] != "#"}

    def rss_bytes(self, name):
        with open(f"/proc/{self.pid(name)}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

    def descriptors(self, name):
        return len(os.listdir(f"/proc/{self.pid(name)}/fd"))


class Tracer:
    """strace on a running process, which makes system calls fail or changes their results until `end` is called."""

    def __init__(self, fleet, name, *injections):
        traced = ",".join(sorted({word for one in injections for word in one.split(":")[0].split(",")}))
        self.log = fleet.folder.parent / f"strace.{name}.{time.monotonic_ns()}"
        arguments = [word for one in injections for word in ("-e", f"inject={one}")]
        self.process = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", str(self.log), "-p", str(fleet.pid(name)), "-e", f"trace={traced}", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        pid = fleet.pid(name)

        def attached():
            assert self.process.poll() is None, self.process.stderr.read().decode()
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
            return f"TracerPid:\t{self.process.pid}" in text
        eventually(attached, "strace is attached")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        text = self.log.read_text(errors="replace")
        return text.count("INJECTED")


def run(*words, check=True):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert not check or result.returncode == 0, (words, result.stdout, result.stderr)
    return result

"""Kills `campanile up` itself."""

import contextlib
import os
import pathlib
import signal

from campanile import Suite, alive
from fleet import ORDER, Fleet, eventually
from load import MixedLoad

# The scenario has a separate network, so fixed ports are free.
PORTS = "7400"


class Upped(Fleet):
    """The same processes as children of `campanile up`, on fixed ports."""

    def __init__(self, folder, users=()):
        self.folder, self.is_dying, self.suite = pathlib.Path(folder), False, None
        self.start()
        self.keys = {user: self.suite.key(user) for user in users}

    def begin(self):
        self.suite = Suite(self.folder, "--log-level", "warning", "--port-base", PORTS)

    def start(self):
        self.begin()
        self.endpoints = self.suite.wait_ready().endpoints
        self.wait_serving()
        return self

    def pid(self, name):
        return self.suite.children()[name]

    def all_running(self):
        return self.suite.process.poll() is None

    def text(self):
        return self.suite.text()

    def stop(self):
        self.suite.stop()


def programs(folder):
    """Returns the running processes of the suite on a folder, from /proc and not from the suite's files."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().decode().split("\0")
            # The executable of all of them is campanile-suite; the first argument names the program.
            if any(str(folder) in word for word in words) and alive(int(path.name)):
                if pathlib.Path(os.readlink(path / "exe")).name.startswith("campanile"):
                    found[int(path.name)] = pathlib.Path(words[0]).name
    return found


def kills(context):
    """`campanile up` is killed under load: while serving or starting, alone or with one of its children, or with a stopped child. All its
    children end, none runs alongside those of the next `up`, and acknowledged changes exist."""
    fleet = Upped(context.folder / "data", users=MixedLoad.users())
    try:
        with context.judged_load(fleet) as load:
            kinds = ["alone", "starting", "with a child", "with a stopped child", "starting again at once"]
            for number in range(context.pick(quick=5, full=60)):
                if number % len(kinds) == 0:
                    context.random.shuffle(kinds)
                kind = kinds[number % len(kinds)]
                kill(context, fleet, load, kind)
                load.all_served(2)
                count = sorted(programs(fleet.folder).values())
                # One of each: the children of two `up` processes would appear twice.
                assert len(count) == len(ORDER) + 1, f"{kind}: {count}"
                context.tell(f"killed {kind}")
                context.count(rounds=1)
    finally:
        fleet.stop()
    assert programs(fleet.folder) == {}, f"left behind: {programs(fleet.folder)}"


def kill(context, fleet, load, kind):
    load.clients[0].stopping.wait(context.random.uniform(0.1, 1.0))
    children = list(programs(fleet.folder))
    assert len(children) == len(ORDER) + 1, children
    child = fleet.pid(context.random.choice(ORDER))
    if kind == "with a child":
        os.kill(child, signal.SIGKILL)
    elif kind == "with a stopped child":
        os.kill(child, signal.SIGSTOP)
    fleet.suite.stop(signal.SIGKILL)
    if kind == "starting":
        for _ in range(3):
            fleet.begin()
            load.clients[0].stopping.wait(context.random.uniform(0.0, 1.2))
            fleet.suite.stop(signal.SIGKILL)
    if kind != "starting again at once":
        eventually(lambda: not programs(fleet.folder), f"{kind}: the children of the killed up have ended", 20)
    fleet.start()

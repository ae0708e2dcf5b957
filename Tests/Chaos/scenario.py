"""The context of a scenario: its seed, its effort, a folder, and functions to report its progress."""

import collections
import contextlib
import json
import os
import pathlib
import random
import sys
import threading
import time

from fleet import Fleet
from judge import judge
from load import MixedLoad


class Context:
    """One run of one scenario."""

    def __init__(self, name, seed, full, folder):
        self.name, self.full, self.folder = name, full, pathlib.Path(folder)
        self.seed = seed
        self.random = random.Random(f"{name}:{seed}")
        self.figures = collections.Counter()
        self.notes = {}
        self.begun = time.monotonic()

    def pick(self, quick, full):
        return full if self.full else quick

    def tell(self, text):
        print(f"   {self.name} {time.monotonic() - self.begun:6.1f} s  {text}", file=sys.stderr, flush=True)

    def count(self, **numbers):
        self.figures.update(numbers)

    def note(self, **values):
        self.notes.update(values)

    def result(self):
        return json.dumps({**self.figures, **self.notes})

    @contextlib.contextmanager
    def fleet(self, name, *up_arguments, **members):
        """Runs a fleet on a separate folder until the end of the block."""
        fleet = Fleet(self.folder / name, *up_arguments, users=MixedLoad.users(), **members)
        try:
            yield fleet.start()
        finally:
            fleet.stop()

    @contextlib.contextmanager
    def judged_load(self, fleet, **members):
        """Runs a mixed load during the block, and checks the invariants afterwards."""
        load = MixedLoad(fleet, self.random.randrange(1 << 30), **members)
        with load:
            load.all_served(3)
            yield load
            load.all_served(3)
        self.count(acknowledged=judge(load), refused=sum(load.refusals().values()),
                   resumed=sum(one.resumed for one in load.watchers), repeats=sum(one.repeats for one in load.publishers))
        for watcher in load.watchers:
            watcher.stopping.set()
        for watcher in load.watchers:
            watcher.join(10)


class Stalls(threading.Thread):
    """Measures the time that threads of the given processes, and of this one, wait for a processor, so that time limits do not depend on
    the machine's load. On an idle machine the time is negligible."""

    def __init__(self, *pids):
        super().__init__(daemon=True)
        self.pids = [os.getpid(), *pids]
        self.stopping, self.samples = threading.Event(), collections.deque(maxlen=40_000)

    def waited_s(self):
        """Returns the total time for which the processes' runnable threads have waited."""
        total = 0
        for pid in self.pids:
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                        total += int(file.read().split()[1])
        return total / 1e9

    def run(self):
        at, waited = time.monotonic(), self.waited_s()
        while not self.stopping.wait(0.02):
            now, total = time.monotonic(), self.waited_s()
            # The waiting time of a thread disappears when it ends. A late wake-up of this thread counts as well.
            self.samples.append((at, now, max(0.0, total - waited) + max(0.0, now - at - 0.04)))
            at, waited = now, total

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()

    def during(self, begun, ended):
        """Returns the total waiting time in an interval, in seconds."""
        return sum(waited for since, until, waited in list(self.samples) if until >= begun and since <= ended)

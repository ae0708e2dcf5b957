"""What every scenario is given: its seed, its effort, a folder, and where it tells what it did."""

import collections
import contextlib
import json
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
        """A fleet on a folder of its own, which ends with the block."""
        fleet = Fleet(self.folder / name, *up_arguments, users=MixedLoad.users(), **members)
        try:
            yield fleet.start()
        finally:
            fleet.stop()

    @contextlib.contextmanager
    def judged_load(self, fleet, **members):
        """Mixed load during the block, and the judgement after it."""
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
    """Measures for how long this machine let a thread wait that asked for 5 ms, so that a bound on time is not the machine's."""

    def __init__(self):
        super().__init__(daemon=True)
        self.stopping, self.samples = threading.Event(), collections.deque(maxlen=40_000)

    def run(self):
        while not self.stopping.is_set():
            begun = time.monotonic()
            time.sleep(0.005)
            now = time.monotonic()
            if now - begun > 0.02:
                self.samples.append((now, now - begun))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()

    def worst(self, begun, ended):
        """All stalls of an interval, in seconds."""
        return sum(length for at, length in list(self.samples) if at >= begun and at - length <= ended)

"""Clients that check whether deadlines are kept, and the number of calls that a service receives."""

import random
import threading
import time

from load import BROKEN, NOTIFICATIONS
from scenario import Stalls

# The tolerated delay after a deadline, in addition to the time for which the gateway and its clients waited for a
# processor.
LATE_S = 0.2
METHODS = {
    "notifications": NOTIFICATIONS + "GetUnreadCounts",
    "sync": "campanile.sync.v1.AssetsService/ListAssets",
    "activities": "campanile.activities.v1.ActivitiesService/ListActivities",
    "attendance": "campanile.attendance.v1.LodgeService/GetLodgeSettings",
}


def caller(fleet, service):
    """Returns a key that may call the probe's method of a service."""
    return fleet.endpoints["gateway"]["adminKey"] if service == "attendance" else "user/ann"


class Probe(threading.Thread):
    """Makes one call at a time to one service, each with a random deadline.

    Two planted faults: `extra` is the number of uncounted calls per call; `truth` is the deadline that is actually sent.
    """

    def __init__(self, fleet, service, seed, longest_ms=800, pause_s=0.01, extra=0, truth=None):
        super().__init__(daemon=True)
        self.fleet, self.service, self.random = fleet, service, random.Random(seed)
        self.longest_ms, self.pause_s, self.extra, self.truth = longest_ms, pause_s, extra, truth
        self.stopping, self.fault = threading.Event(), None
        self.calls = []  # start, duration and deadline in seconds, status

    def run(self):
        link = None
        try:
            while not self.stopping.is_set():
                link = link or self.fleet.peer(caller(self.fleet, self.service))
                asked = self.random.randrange(50, self.longest_ms)
                begun = time.monotonic()
                answer = link.call(METHODS[self.service], {}, timeoutMs=self.truth or asked)
                took = time.monotonic() - begun
                if answer is None:
                    link.close()
                    link = None
                    continue
                status = answer["error"]["data"]["status"] if "error" in answer else "OK"
                if status not in BROKEN | {"OK"}:
                    raise AssertionError(f"{self.service}: {answer}")
                self.calls.append((begun, took, asked / 1000, status))
                for _ in range(self.extra):
                    link.call(METHODS[self.service], {}, timeoutMs=asked)
                self.stopping.wait(self.pause_s)
        except Exception as fault:  # noqa: BLE001 - reported by the scenario
            self.fault = fault
        if link:
            link.close()

    def statuses(self, since=0.0, until=float("inf")):
        return [status for begun, _, _, status in list(self.calls) if since <= begun < until]


class Probes:
    """Probes of several services during a block; `late` returns the calls that missed their deadline."""

    def __init__(self, fleet, context, services=tuple(METHODS), each=2, **members):
        self.stalls = Stalls(fleet.pid("gateway"))
        self.all = [Probe(fleet, service, context.random.randrange(1 << 30), **members) for service in services for _ in range(each)]

    def __enter__(self):
        self.stalls.__enter__()
        for probe in self.all:
            probe.start()
        return self

    def __exit__(self, *_):
        for probe in self.all:
            probe.stopping.set()
        for probe in self.all:
            probe.join(70)
        self.stalls.__exit__()
        for probe in self.all:
            if probe.fault:
                raise probe.fault

    def of(self, service):
        return [probe for probe in self.all if probe.service == service]

    def count(self):
        return sum(len(probe.calls) for probe in self.all)

    def late(self):
        """Returns the calls that missed their deadline: service, deadline, duration, stalls, status."""
        return [(probe.service, asked, round(took, 3), round(stalled, 3), status)
                for probe in self.all for begun, took, asked, status in probe.calls
                if took > asked + LATE_S and took > asked + LATE_S + (stalled := self.stalls.during(begun, begun + took))]

    def worst_s(self):
        """Returns the longest time by which a call exceeded its deadline."""
        return max((took - asked for probe in self.all for _, took, asked, _ in probe.calls), default=0)


def received(fleet, service):
    """Returns the number of calls of the probe's method that the server has handled, from its metrics."""
    path = METHODS[service]
    name, _, method = path.rpartition("/")
    return sum(value for key, value in fleet.metrics(service).items()
               if key.startswith("campanile_server_handled_total") and f'"{name}"' in key and f'"{method}"' in key)

"""The load on a cluster. Each call is recorded with its begin, end and outcome: ok, fail (not carried out) or unknown."""

import base64
import collections
import contextlib
import json
import threading
import time

from fleet import eventually
from load import NOTIFICATIONS, SYNC, Client, Committer, Lodge, MixedLoad, Publisher, Recorder, Scribe, Updates, Watcher

Call = collections.namedtuple("Call", "service who begun ended outcome")
# Between two calls of a client, so that the machine has time for the servers' own clocks.
PAUSE_S = 0.02


class History:
    """All calls of all clients."""

    def __init__(self):
        self.calls = []

    def add(self, service, who, begun, outcome):
        self.calls.append(Call(service, who, begun, time.monotonic(), outcome))

    def acknowledged(self, since, until):
        return sum(call.outcome == "ok" and since <= call.ended < until for call in self.calls)

    def gaps(self, since, until):
        """By service: the longest time without an acknowledgement that overlaps an interval."""
        longest = {}
        for service in {call.service for call in self.calls if not call.service.startswith("reads")}:
            ends = sorted(call.ended for call in self.calls if call.service == service and call.outcome == "ok" and call.ended < until)
            before = [end for end in ends if end <= since][-1:] or [since]
            marks = before + [end for end in ends if end > since]
            longest[service] = max((later - earlier for earlier, later in zip(marks, marks[1:])), default=0)
        return longest


class Recorded(Client):
    """A client whose calls are recorded."""

    service, history = "notifications", None

    def step(self):
        super().step()
        self.stopping.wait(PAUSE_S)

    def ask(self, method, params, **members):
        begun, self.outcome = time.monotonic(), "unknown"
        try:
            result = super().ask(method, params, **members)
            self.outcome = "ok" if result is not None else self.refused(self.answer)
            return result
        finally:
            # A pause is one of writes.
            service = f"reads of {self.service}" if "/Get" in method else self.service
            self.history.add(service, self.user, begun, self.outcome)

    @staticmethod
    def refused(answer):
        return "unknown" if answer["error"]["data"].get("processed", True) else "fail"


class ClusterPublisher(Recorded, Publisher):
    """A publisher that knows which calls were not carried out, and when each was acknowledged."""

    def __init__(self, *arguments):
        self.acked = {}
        super().__init__(*arguments)

    def create(self, title):
        before = self.there.get(title, {False})
        super().create(title)
        if self.outcome == "fail":
            self.there[title] = before
        if title in self.ids:
            self.acked.setdefault(title, time.monotonic())


class Twin(ClusterPublisher):
    """Makes each call twice with one `idempotency-key`, through different gateways. Both answers must be the same."""

    def __init__(self, fleet, user, seed):
        super().__init__(fleet, user, seed)
        self.links, self.differing, self.answered_twice = {}, [], 0

    def step(self):
        self.next += 1
        title = self.next
        self.there[title], self.read[title] = {False, True}, {False}
        answers, outcomes = [], []
        for name in self.fleet.named("gateway"):
            try:
                self.link = self.links.get(name) or self.fleet.peer(self.user, port=self.fleet.port(name))
                self.links[name] = self.link
                result = self.ask(
                    NOTIFICATIONS + "CreateNotification",
                    {"notification": {"bucketId": self.bucket, "title": f"{title}", "body": "b" * (title * 37 % 4000)}},
                    metadata={"idempotency-key": f"{self.user}-{title}"})
                answers += [result["notification"]["id"]] if result else []
                outcomes.append(self.outcome)
            except OSError:
                outcomes.append("unknown")
                if link := self.links.pop(name, None):
                    link.close()
        if answers:
            self.there[title], self.ids[title], self.acked[title] = {True}, answers[0], time.monotonic()
            self.answered_twice += len(answers) == 2
        elif set(outcomes) == {"fail"}:
            self.there[title] = {False}
        if len(set(answers)) > 1:
            self.differing.append((title, answers))
        self.stopping.wait(5 * PAUSE_S)

    def disconnect(self):
        for link in self.links.values():
            link.close()
        self.links, self.link = {}, None


class ClusterCommitter(Recorded, Committer):
    service = "sync"

    def __init__(self, fleet, user, seed):
        # The judge looks for names in the database of all users.
        self.NAMES = tuple(f"{user.rpartition('/')[2]}-{name}" for name in Committer.NAMES)
        super().__init__(fleet, user, seed)


class Appender(Recorded):
    """Appends numbers to a list under compare-and-swap, in competition with others. A full list is continued in the next one."""

    service, LENGTH_MAX = "sync", 150

    def __init__(self, fleet, user, seed, device):
        super().__init__(fleet, user, seed)
        self.device, self.next, self.list = device, 0, 0
        # Of each number: its list, and when it was acknowledged; unknown ones, and those not carried out.
        self.acked, self.unknown, self.failed = {}, {}, {}
        # Each read: begin, list and numbers.
        self.reads = []
        with fleet.peer(user) as link:
            answer = link.call(SYNC + "DevicesService/RegisterDevice", {"device": {"id": device, "role": "DEVICE_ROLE_WRITER"}})
            if "error" in answer:
                raise AssertionError(answer)

    def ask(self, method, params, **members):
        try:
            return super().ask(method, params, **members)
        except AssertionError:
            # A list that does not exist yet.
            if self.answer["error"]["data"]["status"] == "NOT_FOUND":
                self.outcome = "missing"
                return None
            raise

    def step(self):
        name, begun = f"list-{self.list}.json", time.monotonic()
        found = self.ask(SYNC + "AssetsService/GetAsset", {"name": name, "includeContent": True})
        if found is None and self.outcome != "missing":
            return
        numbers = json.loads(base64.b64decode(found["content"])) if found else []
        self.reads.append((begun, name, tuple(numbers)))
        if len(numbers) >= self.LENGTH_MAX:
            self.list += 1
            return
        self.next += 1
        own = f"{self.device}-{self.next}"
        content = base64.b64encode(json.dumps([*numbers, own]).encode()).decode()
        condition = {"etag": found["asset"]["etag"]} if found else {"mustNotExist": True}
        request = {"deviceId": self.device, "requestId": own, "changes": [
            {"put": {"name": name, "recordType": "Chaos", "inlineContent": content, **condition}}]}
        outcomes = []
        while not outcomes or outcomes[-1] == "unknown" and self.random.random() < 0.67 and not self.stopping.is_set():
            try:
                self.link = self.link or self.fleet.peer(self.user)
                self.ask(SYNC + "AssetsService/CommitAssets", request)
                outcomes.append(self.outcome)
            except OSError:
                outcomes.append("unknown")
                self.disconnect()
                self.stopping.wait(0.1)
        kept = self.acked if "ok" in outcomes else self.failed if set(outcomes) == {"fail"} else self.unknown
        kept[own] = (name, time.monotonic())
        self.stopping.wait(PAUSE_S)

    @classmethod
    def refused(cls, answer):
        # The condition was not met, so nothing was written.
        reasons = [detail.get("reason") for detail in answer["error"]["data"].get("details", [])]
        return "fail" if "ETAG_MISMATCH" in reasons else super().refused(answer)


class Attending:
    """A client of Attendance whose calls are recorded, and which turns to the other gateway after a lost connection."""

    history = None
    port = property(lambda self: self.fleet.gateway_port(), lambda self, port: None)

    def step(self, link):
        self.begun = time.monotonic()
        super().step(link)
        self.stopping.wait(PAUSE_S)

    def took(self, answer):
        outcome = "unknown"
        try:
            is_taken = super().took(answer)
            outcome = "ok" if is_taken else Recorded.refused(answer)
            return is_taken
        finally:
            self.history.add("attendance", self.name, self.begun, outcome)


class ClusterRecorder(Attending, Recorder):
    pass


class ClusterScribe(Attending, Scribe):
    pass


class ClusterUpdates(Updates):
    history = None

    def update(self, link, token):
        begun, before = time.monotonic(), self.acknowledged[token]
        outcome = "unknown"
        try:
            super().update(link, token)
            outcome = "ok" if self.acknowledged[token] != before else "unknown"
        finally:
            self.history.add("activities", "activities", begun, outcome)
        self.stopped.wait(PAUSE_S)


class ClusterLoad(MixedLoad):
    """All clients of one batch of faults, with users of their own."""

    def __init__(self, fleet, seed, batch):
        self.fleet, self.history = fleet, History()
        first, second, twin, sync, lists, self.activity_user = self.users(batch)
        for kind in (Recorded, Attending, ClusterUpdates):
            kind.history = self.history
        self.publishers = [ClusterPublisher(fleet, user, seed + k) for k, user in enumerate((first, second))]
        self.twin = Twin(fleet, twin, seed + 9)
        self.watchers = [Watcher(fleet, one.user) for one in self.publishers]
        self.committer = ClusterCommitter(fleet, sync, seed + 20)
        self.appenders = [Appender(fleet, lists, seed + 40 + k, f"writer{k}") for k in range(2)]
        self.lodge = ClusterLodge(fleet, seed + 30, f"{batch} ")
        self.activities = ClusterUpdates(
            self, fleet.endpoints["apns"]["topic"], "development", activities=6, threads=1, prefix=f"{batch:02x}")

    @staticmethod
    def users(batch):
        return [f"user/{name}{batch}" for name in ("p0x", "p1x", "twin", "sync", "lists", "ann")]

    def link(self):
        return self.fleet.peer(self.activity_user)

    @property
    def clients(self):
        return [*self.publishers, self.twin, self.committer, *self.appenders, *self.lodge.workers]

    def end(self):
        for watcher in self.watchers:
            watcher.stopping.set()
        for watcher in self.watchers:
            watcher.join(10)

    def unserved_since(self, moment):
        """The clients without an acknowledged call that began after a moment."""
        served = {call.who for call in self.history.calls[-4000:]
                  if call.outcome == "ok" and call.begun >= moment and not call.service.startswith("reads")}
        return ({getattr(one, "user", one.name) for one in self.clients} | {"activities"}) - served

    def wait_served(self, moment, seconds=90):
        def served():
            self.raise_faults()
            return not self.unserved_since(moment)
        try:
            eventually(served, "every client is served again", seconds)
        except AssertionError as fault:
            raise AssertionError(f"{fault}: {sorted(self.unserved_since(moment))}; refused: {self.refusals()}") from None


class ClusterLodge(Lodge):
    RECORDER, SCRIBE = ClusterRecorder, ClusterScribe


class Lanes(threading.Thread):
    """Watches the simulator's requests. Its answers are delayed, so that two requests of one device at once are seen as such."""

    DELAY_MS = 40

    def __init__(self, fleet):
        super().__init__(daemon=True)
        self.fleet, self.stopping, self.last = fleet, threading.Event(), 0
        # By path: id and time of the last request. By id: how often it was accepted.
        self.before, self.accepted, self.overlaps = {}, collections.Counter(), []
        delay = {"action": "delay", "minMs": self.DELAY_MS, "maxMs": self.DELAY_MS}
        fleet.suite.simulator("POST", "/faults", delay)

    def run(self):
        while not self.stopping.wait(0.5):
            # The simulator may have ended already.
            with contextlib.suppress(OSError):
                self.take()

    def take(self):
        while True:
            found = self.fleet.suite.simulator("GET", f"/pushes?after={self.last}&limit=1000")["pushes"]
            for push in found:
                self.last = push["sequence"]
                key = push["path"]
                identifier, at = self.before.get(key, (None, 0))
                # The same request again is allowed once its connection is lost.
                if identifier not in (None, push["id"]) and push["receivedAtMs"] - at < self.DELAY_MS - 5:
                    self.overlaps.append((key, identifier, push["id"]))
                self.before[key] = (push["id"], push["receivedAtMs"])
                self.accepted[push["id"]] += push["status"] == 200
            if not found:
                return

    def end(self):
        self.stopping.set()
        self.join(20)
        self.take()

    def repeated(self):
        return sum(number > 1 for number in self.accepted.values())

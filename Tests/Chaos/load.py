"""Mixed load through the gateway: clients that record the acknowledged changes."""

import base64
import collections
import json
import random
import select
import threading

from fleet import eventually
from activities import Load as ActivityLoad
from attendance import Link
from campanile_wire import reason
from test_attendance_crash import Secretary, Worker, made

# The statuses allowed while a fault is active. Any other is a fault of the suite.
BROKEN = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "ABORTED"}
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"
SYNC = "campanile.sync.v1."


class Client(threading.Thread):
    """A client with its own connection that makes one call at a time, and reconnects when the connection breaks."""

    def __init__(self, fleet, user, seed):
        super().__init__(daemon=True)
        self.fleet, self.user, self.random = fleet, user, random.Random(seed)
        self.stopping, self.fault, self.link, self.answer = threading.Event(), None, None, None
        self.acknowledged, self.statuses = 0, collections.Counter()

    def run(self):
        try:
            while not self.stopping.is_set():
                try:
                    self.link = self.link or self.fleet.peer(self.user)
                    self.step()
                except OSError:
                    self.statuses["connection broken"] += 1
                    self.disconnect()
                    self.stopping.wait(0.05)
        except Exception as fault:  # noqa: BLE001 - reported by the scenario
            self.fault = fault
        self.disconnect()

    def disconnect(self):
        if self.link:
            self.link.close()
        self.link = None

    def ask(self, method, params, **members):
        """Returns the result, or None if the outcome is unknown. Raises on an error that is not a consequence of the fault."""
        self.answer = None
        answer = self.link.call(method, params, timeoutMs=30_000, **members)
        # A response during the power cut does not count: the kernel may let a sync succeed after the file system is
        # shut down.
        if answer is None or self.fleet.is_dying:
            raise ConnectionResetError
        self.answer = answer
        if "error" not in answer:
            self.acknowledged += 1
            return answer["result"]
        status = answer["error"]["data"]["status"]
        self.statuses[f"{status} {reason(answer)}"] += 1
        if status not in BROKEN:
            raise AssertionError(f"{method}: {answer['error']}")
        self.stopping.wait(0.02)
        return None


class Publisher(Client):
    """Publishes, marks and deletes notifications of a separate user. Titles are increasing numbers."""

    def __init__(self, fleet, user, seed):
        super().__init__(fleet, user, seed)
        with fleet.peer(user) as link:
            self.bucket = link.call(NOTIFICATIONS + "CreateBucket", {"bucket": {"name": "chaos"}})["result"]["bucket"]["id"]
        # By title: whether it may exist, whether it may be read, and the acknowledged id.
        self.there, self.read, self.ids = {}, {}, {}
        self.next, self.again, self.repeats = 0, None, 0

    def step(self):
        kind = self.random.random()
        sure = [title for title in list(self.ids)[-40:] if self.there[title] == {True}]
        if self.again is not None:
            self.repeats += 1
            self.create(self.again)
        elif kind < 0.7 or not sure:
            self.next += 1
            self.create(self.next)
        else:
            some = self.random.sample(sure, min(len(sure), self.random.choice([1, 1, 3])))
            if kind < 0.92:
                self.mark(some, kind < 0.85)
            else:
                self.delete(some)

    def create(self, title):
        """Creates a notification. Without a response, repeats the call in two of three cases with the same request id, which must have an effect only once."""
        self.there.setdefault(title, {False}).add(True)
        self.read.setdefault(title, {False})
        self.again = title if self.random.random() < 0.67 else None
        result = self.ask(NOTIFICATIONS + "CreateNotification", {
            "requestId": f"{self.user}-{title}",
            "notification": {"bucketId": self.bucket, "title": f"{title}", "body": "b" * (title * 37 % 4000)}})
        if result is not None:
            self.again = None
            self.there[title] = {True}
            self.ids[title] = result["notification"]["id"]

    def mark(self, titles, is_read):
        for title in titles:
            self.read[title] = self.read[title] | {is_read}
        method = "MarkNotificationsRead" if is_read else "MarkNotificationsUnread"
        if self.ask(NOTIFICATIONS + method, {"notificationIds": [self.ids[title] for title in titles]}) is not None:
            for title in titles:
                self.read[title] = {is_read}

    def delete(self, titles):
        for title in titles:
            self.there[title] = {True, False}
        if self.ask(NOTIFICATIONS + "BatchDeleteNotifications", {"notificationIds": [self.ids[title] for title in titles]}) is not None:
            for title in titles:
                self.there[title] = {False}


class Watcher(Client):
    """Watches a user's notifications, and resumes after the last event when the connection breaks."""

    def __init__(self, fleet, user):
        super().__init__(fleet, user, 0)
        self.token, self.created, self.deleted, self.resumed = "", [], [], -1

    def step(self):
        self.link.send({"jsonrpc": "2.0", "id": "w", "method": NOTIFICATIONS + "WatchNotifications",
                        "params": {"resumeToken": self.token}})
        self.resumed += 1
        taken, taken_bytes, silent_s = 0, 0, 0
        while not self.stopping.is_set():
            if not self.link.buffer and not select.select([self.link.socket], [], [], 1)[0]:
                silent_s += 1
                if silent_s == 4:
                    self.link.send({"jsonrpc": "2.0", "id": "p", "method": "rpc.ping"})
                elif silent_s > 12:
                    raise ConnectionResetError
                continue
            silent_s = 0
            frame = self.link.receive()
            if frame is None or self.fleet.is_dying:
                raise ConnectionResetError
            if frame.get("method") == "rpc.message":
                self.take(frame["params"]["message"])
                taken, taken_bytes = taken + 1, taken_bytes + self.link.received_bytes
                if taken == 16:
                    self.link.grant("w", taken, taken_bytes)
                    taken, taken_bytes = 0, 0
            elif frame.get("id") == "w":
                status = frame["error"]["data"]["status"] if "error" in frame else "OK"
                self.statuses[status] += 1
                # A service that stops, or is killed, ends its streams.
                if status not in BROKEN | {"CANCELLED", "OK"} and not self.fleet.is_dying:
                    raise AssertionError(f"the watch of {self.user} ended: {frame}")
                raise ConnectionResetError

    def take(self, event):
        self.acknowledged += 1
        change = event.get("change", {})
        if "notificationCreated" in change:
            self.created.append(change["notificationCreated"]["id"])
        if "notificationDeleted" in change:
            self.deleted.append(change["notificationDeleted"]["notificationId"])
        self.token = event["resumeToken"]


class Committer(Client):
    """Writes two assets in one commit, with increasing numbers."""

    NAMES = ("left.json", "right.json")

    def __init__(self, fleet, user, seed):
        super().__init__(fleet, user, seed)
        with fleet.peer(user) as link:
            answer = link.call(SYNC + "DevicesService/RegisterDevice", {"device": {"id": "chaos", "role": "DEVICE_ROLE_WRITER"}})
            if "error" in answer:
                raise AssertionError(answer)
        self.number, self.possible, self.took, self.revision, self.again = 0, {None}, 0, 0, None

    def step(self):
        if self.again is None:
            self.number += 1
        number = self.number
        self.possible = self.possible | {number}
        self.again = number if self.random.random() < 0.67 else None
        content = base64.b64encode(json.dumps({"n": number, "fill": "x" * (number * 131 % 20_000)}).encode()).decode()
        result = self.ask(SYNC + "AssetsService/CommitAssets", {
            "deviceId": "chaos", "requestId": f"commit-{number}",
            "changes": [{"put": {"name": name, "recordType": "Chaos", "inlineContent": content,
                                 "onConflict": "CONFLICT_POLICY_LAST_WRITE_WINS"}} for name in self.NAMES]})
        if result is not None:
            self.again, self.possible = None, {number}
            self.took += 1
            revision = int(result["revision"])
            if revision <= self.revision:
                raise AssertionError(f"commit {number} has revision {revision} after {self.revision}")
            self.revision = revision


class Recorder(Worker):
    """A client of Attendance that tolerates every error that a fault may cause."""

    fleet = None

    def took(self, answer):
        if answer is not None and (
                self.fleet.is_dying or "error" in answer and answer["error"]["data"]["status"] in BROKEN):
            self.failed += 1
            self.stopping.wait(0.05)
            return False
        return super().took(answer)


class Scribe(Recorder, Secretary):
    """The secretary of Attendance, with the same tolerance."""


class Lodge:
    """The clients of Attendance."""

    RECORDER, SCRIBE = Recorder, Scribe

    def __init__(self, fleet, seed, label=""):
        key, port = fleet.endpoints["gateway"]["adminKey"], fleet.endpoints["gateway"]["rpc"]
        with Link(port, key) as link:
            def member(name):
                return link.ask("MembersService/CreateMember", {"member": {"name": name}}, {})["member"]["id"]
            members, new = [member(f"Member {label}{k}") for k in range(12)], [member(f"New {label}{k}") for k in range(4)]
            fixed = [made(link, f"2026-02-{k + 1:02}T19:00:00Z") for k in range(4)]
            moving = [made(link, f"2026-01-{k + 1:02}T19:00:00Z") for k in range(4)]
        self.recorders = [self.RECORDER(port, key, seed + k, members[k::2], fixed + moving) for k in range(2)]
        self.workers = [*self.recorders, self.SCRIBE(port, key, seed + 9, new, moving)]
        for worker in self.workers:
            worker.fleet = fleet


class Updates(ActivityLoad):
    """The clients of Activities, which ignore responses during a power cut."""

    def update(self, link, token):
        before = self.acknowledged[token]
        super().update(link, token)
        if self.service.fleet.is_dying:
            self.acknowledged[token] = before


class MixedLoad:
    """All clients at once; `with` runs them. Scenarios with clock jumps exclude activities, which end by themselves after some hours."""

    def __init__(self, fleet, seed, publishers=3, activities=6):
        self.fleet = fleet
        self.publishers = [Publisher(fleet, f"user/p{k}", seed + k) for k in range(publishers)]
        self.watchers = [Watcher(fleet, one.user) for one in self.publishers]
        self.committer = Committer(fleet, "user/sync", seed + 20)
        self.lodge = Lodge(fleet, seed + 30)
        self.activities = Updates(self, fleet.endpoints["apns"]["topic"], "development", activities=activities, threads=1)

    @staticmethod
    def users(publishers=3):
        return [f"user/p{k}" for k in range(publishers)] + ["user/sync", "user/ann"]

    # Interface required by the load of Activities.

    def link(self):
        return self.fleet.peer("user/ann")

    def log(self):
        return self.fleet.text()

    # Running.

    @property
    def clients(self):
        return [*self.publishers, self.committer, *self.lodge.workers]

    def __enter__(self):
        for watcher in self.watchers:
            watcher.start()
        eventually(lambda: all(one.token for one in self.watchers), "the watches have begun")
        for client in self.clients:
            client.start()
        self.activities.__enter__()
        return self

    def faults(self):
        return [one.fault for one in [*self.clients, *self.watchers] if one.fault]

    def raise_faults(self):
        for fault in self.faults():
            raise fault

    def __exit__(self, *_):
        for client in self.clients:
            client.stopping.set()
        for client in self.clients:
            client.join(90)
        self.activities.__exit__()

    def all_served(self, calls=5, seconds=60):
        """Waits until every client has received `calls` more acknowledgements."""
        before = [one.acknowledged for one in self.clients]
        numbers = sum(self.activities.acknowledged.values())

        def waiting():
            self.raise_faults()
            return [f"{type(one).__name__} {getattr(one, 'user', '')}" for one, count in zip(self.clients, before)
                    if one.acknowledged < count + calls] + ["activities"] * (
                        bool(self.activities.ids) and sum(self.activities.acknowledged.values()) < numbers + calls)
        try:
            eventually(lambda: not waiting(), "every client is served", seconds)
        except AssertionError:
            raise AssertionError(f"not served within {seconds} s: {waiting()}; refused: {self.refusals()}") from None

    def acknowledged(self):
        return sum(one.acknowledged for one in self.clients) + sum(self.activities.acknowledged.values())

    def refusals(self):
        """Returns the number of errors by status and reason."""
        total = collections.Counter()
        for client in [*self.publishers, self.committer]:
            total += client.statuses
        total["attendance failed"] += sum(one.failed for one in self.lodge.workers)
        return {key: value for key, value in total.items() if value} | dict(self.activities.refusals)

"""WatchMany on real processes: many watches in one stream, resumption, failures, slow readers, and killed backends."""

import json
import os
import signal
import time
import urllib.request

import pytest
from campanile import PATIENCE_S, Suite, eventually
from console_client import Events

SERVICE = "campanile.gateway.v1.WatchService"
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService"
WATCHES = {
    "inbox": f"{NOTIFICATIONS}/WatchNotifications",
    "activities": "campanile.activities.v1.ActivitiesService/WatchActivities",
    "zones": "campanile.sync.v1.ZonesService/WatchZoneChanges",
}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A separate suite: its services are killed."""
    running = Suite(tmp_path_factory.mktemp("watches") / "data", "--demo")
    yield running.wait_ready()
    running.stop()


@pytest.fixture(scope="module")
def key(own):
    return json.loads((own.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


class Caller:
    def __init__(self, own, key):
        self.port, self.headers = own.endpoints["gateway"]["http"], {"Authorization": f"Bearer {key}"}

    def open(self, *watches):
        stream = Events(self.port, f"{SERVICE}/WatchMany", {"watches": list(watches)}, self.headers)
        return stream, next(stream)["started"]["streamId"]

    def call(self, method, request):
        """The response, or the reason of the error."""
        sent = urllib.request.Request(f"http://127.0.0.1:{self.port}/{method}", data=json.dumps(request).encode(),
                                      headers=self.headers | {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(sent, timeout=PATIENCE_S) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return json.loads(error.read())["details"][0]["debug"]["reason"]

    def update(self, stream_id, add=(), remove=()):
        return self.call(f"{SERVICE}/UpdateWatches", {"streamId": stream_id, "add": list(add), "removeIds": list(remove)})

    def notify(self, title):
        bucket = self.call(f"{NOTIFICATIONS}/ListBuckets", {})["buckets"][0]["id"]
        return self.call(f"{NOTIFICATIONS}/CreateNotification", {"notification": {"bucketId": bucket, "title": title}})["notification"]["id"]


@pytest.fixture
def caller(own, key):
    return Caller(own, key)


def watch(name, **fields):
    return {"id": name, "method": WATCHES.get(name, WATCHES["inbox"])} | fields


def until(stream, condition):
    """The events up to the first that fulfils a condition."""
    seen = []
    for event in stream:
        seen.append(event)
        if condition(event):
            return seen
    raise AssertionError(f"the stream has ended: {seen}")


def created(identifier, name="inbox"):
    def is_it(event):
        return event.get("watchId") == name and identifier in event.get("message", {}).get("messageJson", "")
    return is_it


def started(stream, names):
    """Waits until each watch has reported that it has started."""
    left = set(names)
    while left:
        event = next(stream)
        assert event["watchId"] not in left or "failed" not in event, event
        if "started" in json.loads(event.get("message", {}).get("messageJson", "{}")):
            left.discard(event["watchId"])


def test_one_stream_carries_many_watches(caller):
    stream, _ = caller.open(*map(watch, WATCHES))
    started(stream, WATCHES)
    identifier = caller.notify("seen by one stream")
    until(stream, created(identifier))
    timer = caller.call("campanile.activities.v1.TimersService/StartTimer", {
        "app": "dev.campanile.example", "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL", "methodName": "Pomodoro",
        "sessionType": "TIMER_SESSION_TYPE_SINGLE", "duration": "1500s"})
    until(stream, created(timer["activity"]["id"], "activities"))
    stream.close()


def test_sixty_four_watches_are_independent(caller):
    names = [f"w{number}" for number in range(62)]
    stream, stream_id = caller.open(*[watch(name) for name in names], watch("bad", method="no.Such/Method"),
                                    watch("json", requestJson="[]"))
    failures, left = {}, set(names)
    while left or len(failures) < 2:
        event = next(stream)
        if "failed" in event:
            failures[event["watchId"]] = event["failed"]["reason"]
        else:
            left.discard(event["watchId"])
    assert failures == {"bad": "WATCH_UNSUPPORTED", "json": "BODY_NOT_OBJECT"}
    # The failed ones have made room.
    assert caller.update(stream_id, [watch("x1"), watch("x2")]) == {}
    assert caller.update(stream_id, [watch("x3")]) == "WATCHES_EXHAUSTED"
    identifier = caller.notify("seen by all")
    waiting = {*names, "x1", "x2"}
    while waiting:
        event = next(stream)
        if identifier in event.get("message", {}).get("messageJson", ""):
            waiting.discard(event["watchId"])
    stream.close()


def test_watches_resume_after_a_cut(caller):
    stream, _ = caller.open(watch("inbox"))
    started(stream, ["inbox"])
    token = until(stream, created(caller.notify("before the cut")))[-1]["message"]["resumeToken"]
    assert token
    stream.close()
    missed = [caller.notify(f"during the cut {number}") for number in range(3)]
    stream, _ = caller.open(watch("inbox", resumeToken=token))
    for identifier in missed:
        until(stream, created(identifier))
    stream.close()
    # A token that the service does not know fails that watch alone.
    stream, _ = caller.open(watch("inbox", resumeToken="not-a-token"), watch("zones"))
    seen = {}
    while len(seen) < 2:
        event = next(stream)
        seen[event["watchId"]] = "failed" in event
    assert seen == {"inbox": True, "zones": False}
    stream.close()


def test_watches_change_while_the_stream_is_open(own, caller):
    stream, stream_id = caller.open()
    assert caller.update(stream_id, [watch("inbox"), watch("zones")]) == {}
    started(stream, ["inbox", "zones"])
    assert caller.update(stream_id, [watch("inbox")]) == "WATCH_ID_IN_USE"
    assert caller.update(stream_id, [watch("again", method=WATCHES["inbox"])], ["inbox", "unknown"]) == {}
    started(stream, ["again"])
    identifier = caller.notify("after the change")
    events = until(stream, created(identifier, "again"))
    assert [event for event in events if event["watchId"] == "inbox"] == []
    assert caller.update("no-such-stream") == "WATCH_STREAM_NOT_FOUND"
    other = Caller(own, own.key("user/giulia"))
    assert other.update(stream_id, [watch("foreign")]) == "WATCH_STREAM_NOT_FOUND"
    stream.close()
    eventually(lambda: caller.update(stream_id) == "WATCH_STREAM_NOT_FOUND", "the stream has ended")


def test_a_slow_reader_delays_only_itself(own, caller):
    slow, _ = caller.open(*[watch(f"s{number}") for number in range(32)])
    started(slow, [f"s{number}" for number in range(32)])
    quick, _ = caller.open(watch("inbox"))
    started(quick, ["inbox"])
    body = "x" * 3_000
    for number in range(60):
        bucket = caller.call(f"{NOTIFICATIONS}/ListBuckets", {})["buckets"][0]["id"]
        caller.call(f"{NOTIFICATIONS}/CreateNotification", {
            "notification": {"bucketId": bucket, "title": f"long {number}", "body": body}})
    last = caller.notify("the last")
    # 32 watches of 180 kB each are unread in the slow stream.
    until(quick, created(last))
    quick.close()
    waiting = {f"s{number}" for number in range(32)}
    while waiting:
        event = next(slow)
        if last in event.get("message", {}).get("messageJson", ""):
            waiting.discard(event["watchId"])
    slow.close()


def test_a_killed_service_fails_its_watches_only(own, caller):
    stream, stream_id = caller.open(watch("inbox"), watch("zones"))
    started(stream, ["inbox", "zones"])
    token = until(stream, created(caller.notify("before the end")))[-1]["message"]["resumeToken"]
    pid = own.children()["notifications"]
    os.kill(pid, signal.SIGKILL)
    event = until(stream, lambda event: "failed" in event)[-1]
    assert event["watchId"] == "inbox" and event["failed"]["code"] == 14
    eventually(lambda: own.children().get("notifications") not in (None, pid), "the service is back")
    identifier = eventually(lambda: notified(caller), "the service accepts notifications")

    def added():
        # The watch fails again while the gateway reconnects.
        assert caller.update(stream_id, [watch("inbox", resumeToken=token)]) == {}
        seen = until(stream, lambda event: event["watchId"] == "inbox")[-1]
        return "failed" not in seen and seen
    first = eventually(added, "the watch is open again")
    if not created(identifier)(first):
        until(stream, created(identifier))
    zone = caller.call("campanile.sync.v1.ZonesService/ListZones", {})
    assert "zones" in zone or zone == {}, "the other service was not affected"
    stream.close()


def notified(caller):
    try:
        return caller.notify("after the end")
    except (TypeError, KeyError):
        time.sleep(0.1)
        return None

"""Calls every service through the gateway repeatedly, as apps do, and reports what their users would have seen.

Usage: compose_probe.py HOST PORT CERTIFICATE KEY_FILE: runs until SIGTERM, then prints one JSON object:
{"acknowledged": [...], "services": {"sync": {"calls", "retried", "failed", "longestMs", "errors"}, ...}}.

A client retries with the same request id if its connection broke or the response was UNAVAILABLE. A call without a
successful response within 15 s has failed. `longestMs` is the longest time from a first attempt to its response.
"""

import json
import pathlib
import signal
import ssl
import sys
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

PATIENCE_S = 15
PAUSE_S = 0.02
METHODS = {
    "notifications": "campanile.notifications.v1.NotificationsService/GetUnreadCounts",
    "activities": "campanile.activities.v1.ActivitiesService/ListActivities",
    "sync": "campanile.sync.v1.AssetsService/ListAssets",
    "attendance": "campanile.attendance.v1.MeetingsService/ListMeetings",
}
CREATE = "campanile.notifications.v1.NotificationsService/CreateNotification"
UNAVAILABLE = 14


class Caller(threading.Thread):
    """One app: a connection with one call at a time."""

    def __init__(self, connect, stop, make):
        super().__init__(daemon=True)
        self.connect = connect
        self.stop = stop
        self.make = make
        self.peer = None
        self.calls = self.retried = self.failed = 0
        self.longest_ms = 0
        self.errors = []
        self.acknowledged = []

    def disconnect(self):
        if self.peer is not None:
            self.peer.close()
        self.peer = None

    def attempt(self, method, params):
        """Returns the result. Raises ConnectionError if a retry may succeed, otherwise RuntimeError."""
        try:
            if self.peer is None:
                self.peer = self.connect()
            answer = self.peer.call(method, params)
        except (OSError, ValueError) as error:
            answer = None
            cause = repr(error)
        else:
            cause = "closed"
        if answer is None:
            self.disconnect()
            raise ConnectionError(cause)
        if "error" in answer:
            if answer["error"]["code"] == UNAVAILABLE:
                self.disconnect()
                raise ConnectionError(json.dumps(answer["error"]))
            raise RuntimeError(json.dumps(answer["error"]))
        return answer["result"]

    def run(self):
        while not self.stop.is_set():
            method, params, identity = self.make()
            began = time.monotonic()
            attempts = 0
            while True:
                attempts += 1
                try:
                    result = self.attempt(method, params)
                    self.calls += 1
                    if identity:
                        self.acknowledged.append(result["notification"]["id"])
                    break
                except ConnectionError as error:
                    if time.monotonic() - began > PATIENCE_S:
                        self.failed += 1
                        self.errors.append(str(error)[:300])
                        break
                    time.sleep(0.05)
                except RuntimeError as error:
                    self.failed += 1
                    self.errors.append(str(error)[:300])
                    break
            if attempts > 1:
                self.retried += 1
            self.longest_ms = max(self.longest_ms, round((time.monotonic() - began) * 1000))
            self.stop.wait(PAUSE_S)

    def report(self):
        return {"calls": self.calls, "retried": self.retried, "failed": self.failed, "longestMs": self.longest_ms,
                "errors": sorted(set(self.errors))[:5]}


def main():
    host, port, certificate, key_file = sys.argv[1:5]
    key = pathlib.Path(key_file).read_text().strip()
    tls = ssl.create_default_context(cafile=certificate)

    def connect():
        peer = Peer(int(port), host, timeout_s=PATIENCE_S, tls=tls, server_name="localhost")
        if "error" in (peer.hello(key) or {"error": "closed"}):
            peer.close()
            raise OSError("authentication failed")
        return peer

    setup = connect()
    bucket = setup.call("campanile.notifications.v1.NotificationsService/CreateBucket", {"bucket": {"name": "Probe"}})
    bucket_id = bucket["result"]["bucket"]["id"]
    setup.close()

    def write():
        request = uuid.uuid4().hex
        return CREATE, {"notification": {"bucketId": bucket_id, "title": request}, "requestId": request}, request

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    callers = {name: Caller(connect, stop, lambda method=method: (method, {}, None)) for name, method in METHODS.items()}
    callers["writer"] = Caller(connect, stop, write)
    for caller in callers.values():
        caller.start()
    print("started", file=sys.stderr, flush=True)
    while not stop.wait(0.5):
        pass
    for caller in callers.values():
        caller.join(2 * PATIENCE_S)
    print(json.dumps({"acknowledged": callers["writer"].acknowledged,
                      "services": {name: caller.report() for name, caller in callers.items()}}))


if __name__ == "__main__":
    main()

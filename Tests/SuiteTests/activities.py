"""Runs `campanile-activities` as a real process against a simulated APNs, and checks the outcome of a load on it."""

import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time

from campanile import BIN, PATIENCE_S, ROOT, Threads, environment

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402
from wire_process import fixed_port  # noqa: E402

INTERNAL = "internal-token-of-the-activities-tests"
SERVICE = "campanile.activities.v1."


class Activities:
    """The service with its own data folder. It can be killed and restarted on the same port."""

    def __init__(self, folder, simulator, keys, *arguments, spacing_ms=20):
        self.folder = folder
        (folder / "signing").mkdir(parents=True, exist_ok=True)
        for key, apps in keys:
            self.write_key(key, apps)
        hosts = ",".join(f"{name}=localhost:{simulator.port}" for name in ("development", "sandbox", "production"))
        self.arguments = ["--apns-endpoint", hosts, "--apns-trust", simulator.trust,
                          "--signing-keys-dir", str(folder / "signing"), "--update-spacing-ms", str(spacing_ms), *arguments]
        self.ready = {"rpc": fixed_port(), "http": fixed_port()}
        self.process = None
        self.start()

    def write_key(self, key, apps):
        for suffix, text in (("p8", key.private_pem), ("json", json.dumps(
                {"teamId": key.team_id, "keyId": key.key_id, "apps": apps}))):
            path = self.folder / "signing" / f"AuthKey_{key.key_id}.{suffix}"
            path.write_text(text)
            path.chmod(0o600)

    def start(self):
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [str(BIN / "campanile-activities"), "--port", str(self.ready["rpc"]),
                 "--http-port", str(self.ready["http"]), "--data-dir", str(self.folder), "--ready-file", str(ready),
                 "--drain-timeout-ms", "2000", *self.arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment() | {"CAMPANILE_INTERNAL_TOKEN": INTERNAL})
        end = time.monotonic() + PATIENCE_S
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(self.log()[-3000:])
            time.sleep(0.005)
        self.ready = json.loads(ready.read_text())
        return self

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def kill(self):
        os.kill(self.ready["pid"], signal.SIGKILL)
        self.process.wait(20)

    def stop(self):
        if self.process.poll() is None:
            os.kill(self.ready["pid"], signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def link(self):
        peer = Peer(self.ready["rpc"], timeout_s=60)
        peer.hello(INTERNAL)
        return peer


def ask(link, method, params, user="user/ann"):
    """Calls a method and returns its result; raises AssertionError with the text of an error."""
    answer = link.call(SERVICE + method, params, metadata={"campanile-principal": user}, timeoutMs=30_000)
    assert "error" not in answer, f"{method}: {answer['error']}"
    return answer["result"]


class Load(Threads):
    """Updates a set of activities concurrently, with one connection for each thread.

    `acknowledged` maps the token of each activity to the newest number that the service has acknowledged.
    """

    def __init__(self, service, app, environment_name="sandbox", activities=40, threads=4, prefix=""):
        self.service, self.app = service, app
        self.ids = {}
        self.acknowledged = collections.defaultdict(int)
        self.tried = collections.defaultdict(int)
        self.refusals = collections.Counter()
        self.stopped = threading.Event()
        self.threads = []
        with service.link() as link:
            for index in range(activities):
                token = f"{prefix or 'ac'}{index:062x}"
                started = ask(link, "ActivitiesService/StartActivity", {
                    "app": app, "environment": environment_name, "origin": "ACTIVITY_ORIGIN_LOCAL",
                    "contentStateJson": '{"n":0}', "attributesType": "Test", "attributesJson": "{}"})
                self.ids[token] = started["activity"]["id"]
                ask(link, "PushTokensService/RegisterPushToken", {
                    "kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": token, "app": app, "environment": environment_name,
                    "installationId": "phone", "activityId": self.ids[token]})
        tokens = sorted(self.ids)
        for index in range(threads):
            self.threads.append(threading.Thread(target=self.run, args=(tokens[index::threads],), daemon=True))

    def run(self, tokens):
        link = None
        count = 0
        # Each activity is updated at least once, because a local start is not pushed.
        while not self.stopped.is_set() or count < len(tokens):
            try:
                if link is None:
                    link = self.service.link()
                self.update(link, tokens[count % len(tokens)])
                count += 1
                if count % len(tokens) == 0:
                    time.sleep(0.002)
            except (OSError, TypeError, AssertionError, json.JSONDecodeError):
                # The service is down for a moment, and the outcome of the call is unknown.
                if link is not None:
                    link.close()
                link = None
                time.sleep(0.02)

    def update(self, link, token):
        number = self.tried[token] + 1
        self.tried[token] = number
        answer = link.call(
            SERVICE + "ActivitiesService/UpdateActivity", {"activityId": self.ids[token], "contentStateJson": f'{{"n":{number}}}'},
            metadata={"campanile-principal": "user/ann"}, timeoutMs=30_000)
        if "error" in answer:
            self.refusals[reason(answer)] += 1
        else:
            self.acknowledged[token] = number

    def check(self, simulator, seconds=PATIENCE_S):
        """Asserts that every last state is displayed and no acknowledged update is lost. Returns the screens."""
        with self.service.link() as link:
            found = {token: ask(link, "ActivitiesService/GetActivity", {"activityId": self.ids[token]}) for token in self.ids}
        states = {token: json.loads(got["activity"]["contentStateJson"])["n"] for token, got in found.items()}
        for token, number in states.items():
            assert number >= self.acknowledged[token], f"{token} was acknowledged at {self.acknowledged[token]}, but is at {number}"

        def missing():
            screens = simulator.screens()
            return {token: (number, screens.get(token, {}).get("contentState"))
                    for token, number in states.items() if screens.get(token, {}).get("contentState") != {"n": number}}

        end = time.monotonic() + seconds
        while (left := missing()) and time.monotonic() < end:
            time.sleep(0.1)
        assert not left, f"not displayed after {seconds} s: {left}\n{self.service.log()[-2000:]}"
        self.check_order(simulator)
        return simulator.screens()

    def check_order(self, simulator):
        """Asserts that no state arrived after a newer one, in the order in which the simulator accepted them."""
        newest, stamped = collections.defaultdict(int), collections.defaultdict(int)
        for line in (simulator.folder / "journal").read_text().splitlines():
            entry = json.loads(line)
            if entry.get("key") in self.ids:
                aps, key = json.loads(entry["payload"])["aps"], entry["key"]
                number, timestamp = int(aps["content-state"]["n"]), int(aps["timestamp"])
                assert number >= newest[key], f"{key} went back from {newest[key]} to {number}"
                # A retry is the same push; every other push has a later timestamp.
                assert number == newest[key] or timestamp > stamped[key], f"{key}: {timestamp} for {number}, as for {newest[key]}"
                newest[key], stamped[key] = number, timestamp
        for token, screen in simulator.screens().items():
            if token in self.ids:
                assert "OLD_TIMESTAMP" not in screen["discards"], screen

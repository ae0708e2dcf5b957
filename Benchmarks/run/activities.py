"""Benchmarks Activities: push rate compared with aioapns, durable updates, and a burst. See scripts/bench."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from bench import ONE_CORE, Link, cpu_s, load, median, median_of, output, request, run, service
from apns import BUNDLE, LIVE, Key, control  # noqa: E402, after bench, which sets the path

PATH = "campanile.activities.v1."
AIOAPNS_IN_FLIGHT = 500
KEY = Key()


@contextlib.contextmanager
def simulator():
    """Runs the simulator on the second core. Yields its ports and the file of its CA certificate."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "keys").mkdir()
        (home / "keys" / "key.json").write_text(json.dumps(KEY.public))
        with service("campanile-apns-simulator", "--keys-dir", str(home / "keys"), directory=home, pinned=False, token=None) as \
                (process, ports, _):
            subprocess.run(["taskset", "-a", "-p", "-c", "1", str(process.pid)], check=True, stdout=subprocess.DEVNULL)
            yield ports, home / "apns-simulator" / "trust.pem"


def write_key(home):
    (home / "signing").mkdir(exist_ok=True)
    for suffix, text in (("p8", KEY.private_pem), ("json", json.dumps({"teamId": KEY.team_id, "keyId": KEY.key_id}))):
        path = home / "signing" / f"AuthKey_{KEY.key_id}.{suffix}"
        path.write_text(text)
        path.chmod(0o600)


@contextlib.contextmanager
def activities(apns_port, trust, directory=None, pinned=True):
    """Runs the service, which pushes to a port. Yields the process and its RPC port."""
    with tempfile.TemporaryDirectory() as own:
        home = pathlib.Path(directory or own)
        write_key(home)
        hosts = ",".join(f"{name}=localhost:{apns_port}" for name in ("development", "sandbox", "production"))
        with service("campanile-activities", "--signing-keys-dir", str(home / "signing"), "--apns-endpoint", hosts,
                     "--apns-trust", str(trust), "--activities-per-user-max", "100000", "--tokens-per-user-max", "100000",
                     directory=home, pinned=pinned) as (process, ports, _):
            yield process, ports["rpc"]


def start_activities(port, count):
    """Starts activities with a token each. Returns their ids."""
    with Link(port) as link:
        started = link.ask_all(PATH + "ActivitiesService/StartActivity", [
            {"app": BUNDLE, "environment": "sandbox", "origin": "ACTIVITY_ORIGIN_LOCAL", "contentStateJson": '{"n":0}',
             "attributesType": "T", "attributesJson": "{}"}] * count)
        ids = [result["activity"]["id"] for result in started]
        link.ask_all(PATH + "PushTokensService/RegisterPushToken", [
            {"kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": f"{index:064x}", "app": BUNDLE, "environment": "sandbox",
             "installationId": "phone", "activityId": id} for index, id in enumerate(ids)])
    return ids


def update_all(port, ids, number):
    with Link(port) as link:
        for begin in range(0, len(ids), 1000):
            link.ask_all(PATH + "ActivitiesService/BatchUpdateActivities", [{"requests": [
                {"activityId": id, "contentStateJson": json.dumps({"n": number, "title": "Peer connected", "colorHex": "#34C759"})}
                for id in ids[begin:begin + 1000]]}])


def accepted(ports):
    return control(ports["http"], "GET", "/statistics")["answers"].get("200", 0)


def wait_accepted(ports, count, limit_s=120):
    """Returns the number of accepted pushes once it is at least `count`."""
    end = time.monotonic() + limit_s
    while (found := accepted(ports)) < count:
        if time.monotonic() > end:
            raise RuntimeError(f"{found} of {count} pushes were accepted after {limit_s} s: {control(ports['http'], 'GET', '/statistics')}")
        time.sleep(0.005)
    return found


def send_rate(count, runs=3):
    """Returns the pushes per second from a queue that is full when APNs comes back, and the service's CPU microseconds per push."""
    results = []
    with tempfile.TemporaryDirectory() as own, simulator() as (ports, trust):
        with activities(ports["rpc"], trust, own) as (process, port):
            ids = start_activities(port, count)
            for run in range(runs):
                control(ports["http"], "POST", "/reset")
                # The queue fills while APNs refuses connections; then all pushes are due at once.
                control(ports["http"], "PATCH", "/settings", {"tlsFault": "refuse"})
                control(ports["http"], "POST", "/connections/close")
                update_all(port, ids, run + 1)
                before = accepted(ports)
                control(ports["http"], "PATCH", "/settings", {"tlsFault": "none"})
                first, spent, began = wait_accepted(ports, before + count // 20), cpu_s(process.pid), time.monotonic()
                last = wait_accepted(ports, before + count * 19 // 20)
                spent, took = cpu_s(process.pid) - spent, time.monotonic() - began
                results.append(((last - first) / took, spent / (last - first) * 1e6))
                wait_accepted(ports, before + count)
    return median_of(results)


AIOAPNS = """
import asyncio, json, os, sys, time
import ssl
import aioapns
from aioapns.connection import APNsProductionClientProtocol as protocol
given = json.load(sys.stdin)
protocol.APNS_SERVER, protocol.APNS_PORT = "localhost", given["port"]

async def run():
    client = aioapns.APNs(key=given["key"], key_id=given["keyId"], team_id=given["teamId"], topic=given["topic"],
                          ssl_context=ssl.create_default_context(cafile=given["trust"]))
    def request(index):
        message = {"aps": {"event": "update", "timestamp": int(time.time()),
                           "content-state": {"n": 1, "title": "Peer connected", "colorHex": "#34C759"}}}
        return aioapns.NotificationRequest(device_token=f"{index:064x}", message=message, priority=5,
                                           push_type=aioapns.PushType.LIVEACTIVITY, time_to_live=3600)
    await client.send_notification(request(0))
    began, spent = time.monotonic(), time.process_time()
    results, indexes = [], iter(range(given["count"]))
    async def worker():
        for index in indexes:
            results.append(await client.send_notification(request(index)))
    # As many requests as the connections accept without waiting for a free one.
    await asyncio.gather(*(worker() for _ in range(given["inFlight"])))
    took, spent = time.monotonic() - began, time.process_time() - spent
    assert all(result.is_successful for result in results), next(r for r in results if not r.is_successful).description
    print(json.dumps([given["count"] / took, spent / given["count"] * 1e6]))

asyncio.run(run())
"""


def aioapns_rate(count, runs=3):
    """Returns the same values for aioapns on the same core."""
    with simulator() as (ports, trust):
        def once():
            given = {"port": ports["rpc"], "key": KEY.private_pem, "keyId": KEY.key_id, "teamId": KEY.team_id, "topic": LIVE,
                     "trust": str(trust), "count": count, "inFlight": AIOAPNS_IN_FLIGHT}
            return tuple(json.loads(output(*ONE_CORE, sys.executable, "-c", AIOAPNS, input=json.dumps(given))))
        return median(once, runs)


def update_rate(count):
    """Returns the durable updates per second with 64 in flight, in turn to `count` activities displayed by devices."""
    with simulator() as (ports, trust), activities(ports["rpc"], trust, None, False) as (_, port):
        requests = [request(PATH + "ActivitiesService/UpdateActivity",
                            {"activityId": id, "contentStateJson": '{"n":1,"title":"Peer connected"}'}) for id in start_activities(port, count)]
        return median(lambda: load(port, requests, pinned=False))


def burst():
    """Sends 10,000 updates to 100 activities. Returns the number of pushes, and of activities whose last state is not displayed."""
    with simulator() as (ports, trust), activities(ports["rpc"], trust, None, False) as (_, port):
        ids = start_activities(port, 100)
        before = control(ports["http"], "GET", "/statistics")["requests"]
        for number in range(1, 101):
            update_all(port, ids, number)
        end = time.monotonic() + 20
        while True:
            screens = control(ports["http"], "GET", "/screens?limit=1000")["screens"]
            wrong = 100 - sum(screen["contentState"]["n"] == 100 for screen in screens)
            if not wrong or time.monotonic() > end:
                return control(ports["http"], "GET", "/statistics")["requests"] - before, wrong
            time.sleep(0.1)


def send_rows(rows, options):
    theirs, their_cost = aioapns_rate(options.pushes)
    ours, cost = send_rate(options.pushes)
    rows.add("pushes from the durable queue, service on one core (baseline: aioapns)", ours, "a second", theirs, at_least=12_000,
             ratio_at_least=3)
    rows.add("  CPU of the sending process for one push", cost, "us", their_cost)


def update_rows(rows, _):
    for count, name in ((1, "one activity"), (100, "100 activities"), (10_000, "10,000 activities")):
        rate, p50, p99 = update_rate(count)
        rows.add(f"UpdateActivity accepted durably, 64 in flight, {name}", rate, "calls/s", at_least=15_000)
        rows.add("  p50", p50 / 1000, "ms")
        rows.add("  p99", p99 / 1000, "ms")


def burst_rows(rows, _):
    pushes, wrong = burst()
    rows.add("pushes of 10,000 updates to 100 activities", pushes, "", at_most=300)
    rows.add("  activities that do not show their last state", wrong, "", at_most=0)


if __name__ == "__main__":
    run(__doc__, {"send": send_rows, "update": update_rows, "burst": burst_rows},
        pushes=(20_000, "number of pushes"))

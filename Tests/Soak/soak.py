"""Runs the suite under a mixed load for a long time, and checks memory and latency for growth. See scripts/soak --help for the bounds."""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "SuiteTests"))
from campanile import CLI, Suite, environment  # noqa: E402

MIB = 1 << 20
# Calls in flight per kind. Each kind has a separate principal, which stays below its limit of calls in flight.
IN_FLIGHT = 8
MEASURED_S = 5
WARM_UP_S = 1
# Shares of the closed-loop rate that are tried as an open-loop rate, highest first. Calls that arrive one by one cost
# more than those of a closed loop, which arrive in groups.
SHARES = [share / 100 for share in range(100, 20, -5)]
# If 1 % of the calls wait longer than this, a queue is growing.
KEPT_UP_P99_MS = 100


def kinds(suite):
    """Returns the calls of the mix: name, method, request, key."""
    keys = {name: suite.key(f"user/soak-{name}") for name in ("write", "read", "list", "sync")}
    buckets = {name: suite.call("CreateBucket", {"bucket": {"name": "soak"}}, keys[name])["bucket"]["id"] for name in ("write", "read", "list")}
    for name in ("read", "list"):
        for number in range(50):
            suite.call("CreateNotification", {"notification": {"bucketId": buckets[name], "title": f"n {number}"}}, keys[name])
    notifications = "campanile.notifications.v1.NotificationsService/"
    # Notifications with the same collapse key replace each other, so the amount of stored data stays constant.
    written = {"notification": {"bucketId": buckets["write"], "title": "n {{sequence}}", "collapseKey": "k{{random 0 499}}"}}
    return [
        ("write", notifications + "CreateNotification", json.dumps(written), keys["write"]),
        ("read", notifications + "GetUnreadCounts", "{}", keys["read"]),
        ("list", notifications + "ListNotifications", json.dumps({"pageSize": 20}), keys["list"]),
        ("sync", "campanile.sync.v1.ZonesService/ListZones", "{}", keys["sync"]),
    ]


def started(suite, kind, *arguments):
    _, method, request, key = kind
    return subprocess.Popen(
        [CLI, "load", method, request, "--concurrency", str(IN_FLIGHT), "--output", "json", *arguments, "--data-dir", str(suite.folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment() | {"CAMPANILE_KEY": key})


def reports(processes, seconds):
    """Returns the reports of load testers that were started together, by kind."""
    found = {}
    try:
        for name, process in processes.items():
            out, err = process.communicate(timeout=seconds + 60)
            assert process.returncode == 0, (name, process.returncode, out[-500:], err[-500:])
            found[name] = json.loads(out)
    finally:
        for process in processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
    return found


def sample(suite):
    """Returns the current measurements of each process and each database."""
    processes = {"up": suite.process.pid} | suite.children()
    rss, descriptors = {}, {}
    for name, pid in processes.items():
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        rss[name] = int(status.partition("VmRSS:")[2].split()[0]) * 1024
        descriptors[name] = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
    wal = {str(file.relative_to(suite.folder)): file.stat().st_size for file in suite.folder.rglob("*-wal")}
    return {"rss": rss, "descriptors": descriptors, "wal": wal}


# The bounds of the last third, as functions of the first third.
BOUNDS = {
    "rss": lambda before: before * 1.25 + 32 * MIB,
    "descriptors": lambda before: before + 16,
    "wal": lambda before: before * 2 + 8 * MIB,
    "p99": lambda before: before * 1.5 + 10,
}


def judge(minutes):
    """Returns the measurements that grew beyond their bounds between the first and the last third, as texts."""
    third = max(1, len(minutes) // 3)
    grown = []
    for measure, bound in BOUNDS.items():
        for name in minutes[0][measure].keys() | minutes[-1][measure].keys():
            first = statistics.median(minute[measure].get(name, 0) for minute in minutes[:third])
            last = statistics.median(minute[measure].get(name, 0) for minute in minutes[-third:])
            if last > bound(first):
                grown.append(f"{measure} of {name}: {first:g} grew to {last:g}, above the bound {bound(first):g}")
    grown += [f"minute {number}: {minute['failed']} failed calls" for number, minute in enumerate(minutes, 1) if minute["failed"]]
    return grown


def scaled(rates, share):
    return {name: max(1, int(rate * share)) for name, rate in rates.items()}


def kept_up(found):
    """Returns whether the p99 of every kind of call is within the limit."""
    return all(report["latency"]["percentilesMs"]["99"] <= KEPT_UP_P99_MS for report in found.values())


def capacity(closed, probe):
    """Returns the open-loop rates that the suite sustains: the first share of `closed` at which the reports of `probe` stay within the
    limit. `probe` runs at given rates. Raises if there is none."""
    for share in SHARES:
        rates = scaled(closed, share)
        if kept_up(probe(rates)):
            return rates
    raise RuntimeError(f"the p99 exceeds {KEPT_UP_P99_MS} ms even at {SHARES[-1]:.0%} of {closed} calls per second")


def processor():
    """Returns the ticks of all processors since boot, and the idle ones among them."""
    ticks = [int(text) for text in pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return sum(ticks[:8]), ticks[3] + ticks[4]


def run(suite, minutes_count, load_percent):
    mix = kinds(suite)

    def ran(seconds, rates=None):
        at = {name: ["--rate", str(rate)] for name, rate in (rates or {}).items()}
        times = ["--duration", f"{seconds}s", "--warm-up", f"{WARM_UP_S}s"]
        return reports({kind[0]: started(suite, kind, *at.get(kind[0], []), *times) for kind in mix}, seconds)

    closed = {name: report["callsPerSecond"] for name, report in ran(MEASURED_S).items()}
    most = capacity(closed, lambda rates: ran(MEASURED_S, rates))
    rates = scaled(most, load_percent / 100)
    print(f"calls per second: {sum(closed.values()):.0f} in a closed loop, {sum(most.values())} sustained; {load_percent} % of these: {rates}",
          flush=True)
    minutes = []
    for number in range(1, minutes_count + 1):
        begun, before = time.monotonic(), processor()
        found = ran(58, rates)
        total, idle = (now - then for now, then in zip(processor(), before))
        minute = sample(suite)
        minute["p99"] = {name: report["latency"]["percentilesMs"]["99"] for name, report in found.items()}
        minute["failed"] = sum(status["calls"] for report in found.values() for name, status in report["statuses"].items() if name != "OK")
        minutes.append(minute)
        rss = ", ".join(f"{name} {size // MIB}" for name, size in sorted(minute["rss"].items()))
        p99 = ", ".join(f"{name} {value:.1f}" for name, value in minute["p99"].items())
        print(f"minute {number} ({time.monotonic() - begun:.0f} s): processors {1 - idle / max(1, total):.0%} busy; RSS in MiB {rss}; "
              f"descriptors {sum(minute['descriptors'].values())}; WAL {sum(minute['wal'].values()) / MIB:.1f} MiB; p99 in ms {p99}; {minute['failed']} failed", flush=True)
    return minutes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=int, required=True)
    parser.add_argument("--load", type=int, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="campanile-soak-") as folder:
        suite = Suite(pathlib.Path(folder) / "data")
        try:
            suite.wait_ready()
            minutes = run(suite, arguments.minutes, arguments.load)
        finally:
            suite.stop()
    grown = judge(minutes)
    for text in grown:
        print("GROWN:", text)
    print("held" if not grown else "did not hold", "for", len(minutes), "minutes")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())

"""Compares `campanile load` with other load testers: their measurements must agree. See scripts/bench.

Servers have one core, testers the other. The HTTP peer is wrk, the peer for frames is the C generator in Benchmarks/. A minimal server
in C shows the tester's own limit, because campanile-echo on a single core is slower than the tester.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

from bench import ONE_CORE, OURS, Rows, by_turns, load, peer, service
from rpc import ECHO, LOOP
from suite import Running

OTHER_CORE = ["taskset", "-c", "1"]
METHOD = "campanile.notifications.v1.NotificationsService/GetUnreadCounts"
SECONDS = 3

# wrk's results, as one line of JSON.
SCRIPT = """
wrk.method = "POST"
wrk.body = "{}"
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
done = function(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format('{"requests":%%d,"us":%%d,"p50Us":%%d,"p99Us":%%d,"errors":%%d}\\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
"""


def wrk(url, script, connections):
    """Returns calls per second, p50 and p99 in milliseconds."""
    out = subprocess.run(
        [*OTHER_CORE, "wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{SECONDS}s", "--script", script,
         f"{url}/{METHOD}"], check=True, stdout=subprocess.PIPE, text=True).stdout
    result = json.loads(out.strip().splitlines()[-1])
    if result["errors"] or not result["requests"]:
        raise RuntimeError(f"wrk: {result}")
    return result["requests"] / result["us"] * 1e6, result["p50Us"] / 1_000, result["p99Us"] / 1_000


def ours(method, request, concurrency, *more, key=None):
    """Returns the same values of `campanile load`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CAMPANILE_")}
    if key:
        environment["CAMPANILE_KEY"] = key
    out = subprocess.run(
        [*OTHER_CORE, OURS / "campanile", "load", method, request, "--concurrency", str(concurrency), "--duration", f"{SECONDS}s",
         "--warm-up", "500ms", "--output", "json", *more], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    report = json.loads(out)
    if report["errors"]:
        raise RuntimeError(f"campanile load: {report['statuses']}")
    percentiles = report["latency"]["percentilesMs"]
    return report["callsPerSecond"], percentiles["50"], percentiles["99"]


def http_rows(rows):
    with tempfile.TemporaryDirectory() as folder, Running(folder, prefix=ONE_CORE) as running:
        key = running.key("user/bench")
        ports = json.loads((running.folder / "data" / "endpoints.json").read_text())
        url = f"http://127.0.0.1:{ports['gateway']['http']}"
        address = f"127.0.0.1:{ports['gateway']['rpc']}"
        script = pathlib.Path(folder) / "connect.lua"
        script.write_text(SCRIPT % key)
        for connections in (1, 16, 64):
            found = by_turns(
                lambda: ours(METHOD, "{}", connections, "--address", address, "--http", url, key=key),
                lambda: wrk(url, script, connections), runs=3)
            for label, unit, mine, theirs in zip(("calls/s", "p50", "p99"), ("calls/s", "ms", "ms"), *found):
                bounds = {} if label == "p99" else {"ratio_at_least": 0.9, "ratio_at_most": 1.1}
                rows.add(f"HTTP, {connections} connections, {label} (baseline: wrk)", mine, unit, theirs, **bounds)


def frame_rows(rows):
    request = json.dumps(ECHO["params"])
    with peer("FrameAnswersC") as (_, port):
        address = f"127.0.0.1:{port}"
        mine, theirs = by_turns(
            lambda: ours(ECHO["method"], request, 64, "--address", address, "--connections", "1")[0],
            lambda: load(port, ECHO, pinned=False, duration_ms=1000 * SECONDS)[0], runs=5)
        rows.add("frames, bare answers in C, 1 x 64 (baseline: C generator)", mine, "calls/s", theirs, at_least=300_000)
    with service("campanile-echo", *LOOP) as (_, ports, _):
        port = ports["rpc"]
        address = f"127.0.0.1:{port}"
        generator = lambda: load(port, ECHO, pinned=False, duration_ms=1000 * SECONDS)[0]
        tester = lambda: ours(ECHO["method"], request, 64, "--address", address, "--connections", "1")[0]
        mine, theirs = by_turns(tester, generator, runs=3)
        rows.add("frames, campanile-echo, 1 x 64 (baseline: C generator)", mine, "calls/s", theirs)
        sequential = lambda: ours(ECHO["method"], request, 1, "--address", address)[1] * 1_000
        mine, theirs = by_turns(sequential, lambda: load(port, ECHO, in_flight=1, pinned=False, duration_ms=1000 * SECONDS)[1], runs=3)
        rows.add("frames, sequential p50 (baseline: C generator)", mine, "us", theirs)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--json")
    options = options.parse_args()
    rows = Rows()
    rows.head()
    frame_rows(rows)
    http_rows(rows)
    rows.write(options.json)


if __name__ == "__main__":
    main()

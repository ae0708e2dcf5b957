"""Compares `campanile load` with other load testers: their measurements must agree. See scripts/bench.

Servers have one core, testers the other. The HTTP peer is wrk, the peer for frames is the C generator in Benchmarks/. A bare server
in C shows the tester's own limit, because campanile-echo on a single core is slower than the tester.
"""

import json
import tempfile

from bench import ECHO, LOOP, NOTIFICATIONS, ONE_CORE, OTHER_CORE, PEERS, by_turns, load, peer, run, service, start_tester, tester_report, wrk
from suite import Running

METHOD = NOTIFICATIONS + "GetUnreadCounts"
SECONDS = 3


def ours(method, params, concurrency, *more, key=None):
    """Returns calls per second, p50 and p99 in microseconds of `campanile load`."""
    report = tester_report(start_tester(method, params, "--concurrency", concurrency, "--duration", f"{SECONDS}s", "--warm-up", "500ms", *more,
                                        key=key))
    percentiles = report["latency"]["percentilesMs"]
    return report["callsPerSecond"], percentiles["50"] * 1_000, percentiles["99"] * 1_000


def http(rows, _):
    with tempfile.TemporaryDirectory() as folder, Running(folder, prefix=ONE_CORE) as running:
        key = running.key("user/bench")
        ports = json.loads((running.folder / "data" / "endpoints.json").read_text())["gateway"]
        url = f"http://127.0.0.1:{ports['http']}"
        for connections in (1, 16, 64):
            found = by_turns(
                lambda: ours(METHOD, {}, connections, "--address", f"127.0.0.1:{ports['rpc']}", "--http", url, key=key),
                lambda: wrk(f"{url}/{METHOD}", {}, key, connections, SECONDS, OTHER_CORE), runs=3)
            for label, unit, mine, theirs in zip(("calls/s", "p50", "p99"), ("calls/s", "us", "us"), *found):
                bounds = {} if label == "p99" else {"ratio_at_least": 0.9, "ratio_at_most": 1.1}
                rows.add(f"HTTP, {connections} connections, {label} (baseline: wrk)", mine, unit, theirs, **bounds)


def frames(rows, _):
    with peer(PEERS / "BareServer") as (bare, ), service("campanile-echo", *LOOP, token=None) as (_, ports, _):
        tester = lambda port, *more: ours(ECHO["method"], ECHO["params"], *more, "--address", f"127.0.0.1:{port}", "--connections", 1)
        generator = lambda port, **more: load(port, ECHO, pinned=False, duration_ms=1000 * SECONDS, token=None, **more)
        for name, port, target in (("a bare server in C", bare, {"at_least": 300_000}), ("campanile-echo", ports["rpc"], {})):
            mine, theirs = by_turns(lambda: tester(port, 64)[0], lambda: generator(port)[0], runs=3)
            rows.add(f"frames, {name}, 1 x 64 (baseline: C generator)", mine, "calls/s", theirs, **target)
        mine, theirs = by_turns(lambda: tester(ports["rpc"], 1)[1], lambda: generator(ports["rpc"], in_flight=1)[1], runs=3)
        rows.add("frames, sequential p50 (baseline: C generator)", mine, "us", theirs)


if __name__ == "__main__":
    run(__doc__, {"frames": frames, "http": http})

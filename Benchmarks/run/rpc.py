"""Measures the wire protocol: calls per second, CPU per call, latency, durable writes, start-up and memory. See scripts/bench."""

import contextlib
import re
import socket
import subprocess
import tempfile
import time

from bench import ECHO, LOOP, PEERS, by_turns, cpu_us_per_call, gateway, load, median, notifications, output, peer, rss_mb, run, service, turns


def sequential(port, **more):
    """Returns the p50 of sequential calls, in microseconds."""
    return load(port, ECHO, in_flight=1, duration_ms=1000, **more)[1]


def echo(rows, _):
    with service("campanile-echo", *LOOP, token=None) as (process, ports, _), peer(PEERS / "BareServer") as (bare, ):
        port = ports["rpc"]
        rate, cpu = median(lambda: cpu_us_per_call(process, lambda: load(port, ECHO, token=None)))
        limit = median(lambda: load(bare, ECHO, token=None)[0])
        rows.add("unary echo, 1 x 64, S (baseline: a bare server in C)", rate, "calls/s", limit, at_least=400_000)
        rows.add("  server CPU a call", cpu, "us", at_most=2.0)
        timed = dict(ECHO, timeoutMs=5000)
        with_deadline, without = by_turns(lambda: load(port, timed, token=None)[0], lambda: load(port, ECHO, token=None)[0])
        rows.add("  with a deadline on every call (baseline: without)", with_deadline, "calls/s", without, ratio_at_least=0.9)
        p50, limit = by_turns(lambda: sequential(port, token=None), lambda: sequential(bare, token=None))
        rows.add("  sequential p50 (baseline: a bare server in C)", p50, "us", limit)


def through_gateway(rows, _):
    with gateway() as both:
        rate, cpu = median(lambda: cpu_us_per_call(both.process, lambda: load(both.rpc, ECHO)))
        rows.add("the same echo through the gateway, 1 x 64, S", rate, "calls/s", at_least=150_000)
        rows.add("  gateway CPU a call", cpu, "us", at_most=3.0)
        p50, direct = by_turns(lambda: sequential(both.rpc), lambda: sequential(both.behind["rpc"], token=None))
        rows.add("  sequential p50 (baseline: direct)", p50, "us", direct, ratio_at_most=2.2)


@contextlib.contextmanager
def redis():
    """Runs a Redis server that syncs each write. Yields the rate of writes of the same texts, with 64 in flight on a connection."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes",
                                   "--appendfsync", "always"], stdout=subprocess.DEVNULL)
        benchmark = ["redis-benchmark", "-p", port, "-q", "-n", 1_600 * 64, "-c", 1, "-P", 64]
        entry = ["XADD", "bucket", "*", "title", "A notification", "body", "x" * 200, "priority", "PRIORITY_NORMAL"]
        try:
            while not subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, text=True).stdout.startswith("PONG"):
                if server.poll() is not None:
                    raise RuntimeError("redis-server has ended")
                time.sleep(0.05)
            yield lambda: float(re.search(r"([\d.]+) requests per second", output(*benchmark, *entry))[1])
        finally:
            server.terminate()
            server.wait()


def reads_and_writes(rows, _):
    with notifications() as one:
        rows.add("GetNotification direct, 1 x 64, S", median(lambda: load(one.rpc, one.read)[0]), "calls/s", at_least=60_000)
    with notifications(pinned=False) as one, redis() as rate:
        rows.add_pairs("CreateNotification, durability full, 64 in flight, unpinned (baseline: Redis, appendfsync always)",
                       turns(lambda: load(one.rpc, one.write, pinned=False)[0], rate), "calls/s", at_least=30_000,
                       ratio_at_least=1.1)


def memory(rows, _):
    starts = []
    for _ in range(3):
        with service("campanile-echo", pinned=False) as (process, _, seconds):
            starts.append(seconds * 1000)
            time.sleep(0.5)
            idle = rss_mb(process.pid)
    rows.add("start to ready", sorted(starts)[1], "ms", at_most=300)
    rows.add("idle service RSS", idle, "MB", at_most=40)
    with service("campanile-echo", "--max-connections-per-address", "10000", pinned=False) as (process, ports, _):
        # Several source addresses, so that ports do not run out.
        sockets = [socket.create_connection(("127.0.0.1", ports["rpc"]), source_address=(f"127.0.0.{2 + index % 8}", 0))
                   for index in range(10_000)]
        time.sleep(2)
        rows.add("10,000 idle connections, RSS", rss_mb(process.pid), "MB", at_most=110)
        for one in sockets:
            one.close()


if __name__ == "__main__":
    run(__doc__, {"echo": echo, "gateway": through_gateway, "notifications": reads_and_writes, "memory": memory})

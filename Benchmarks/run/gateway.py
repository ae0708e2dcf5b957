"""Measures the gateway: calls with and without credentials and limits, Connect, the console, event streams, and a noisy neighbour. See scripts/bench."""

import itertools
import json
import resource
import socket
import time

from bench import ECHO, ECHO_PATH, PEERS, TOKEN, by_turns, cpu_us_per_call, frame_load, gateway, load, median, peer, rss_mb, run, turns, wrk

MESSAGE = {"payload": "x" * 100}
# The default rates also keep counters, but a single core cannot reach them. These rates do not refuse calls on a faster
# machine either.
RATES = ["--principal-rate", "10000000:100000000", "--address-rate", "10000000:100000000"]
STREAMS = 5_000


def sequential(port, token):
    return load(port, ECHO, in_flight=1, duration_ms=700, token=token)[1]


def framed(rows, _):
    with gateway(*RATES) as one:
        secret = one.key("user/bench")
        measure = lambda token: cpu_us_per_call(one.process, lambda: load(one.rpc, ECHO, duration_ms=1500, token=token))
        pairs = turns(lambda: measure(secret), lambda: measure(TOKEN), runs=7)
        rows.add_pairs("framed echo with a key, scopes and limits, 1 x 64, S (baseline: without)",
                       [(a[0], b[0]) for a, b in pairs], "calls/s")
        rows.add_pairs("  gateway CPU a call (baseline: without)", [(a[1], b[1]) for a, b in pairs], "us", ratio_at_most=1.1)
        through, direct = by_turns(lambda: sequential(one.rpc, secret), lambda: sequential(one.behind["rpc"], TOKEN))
        rows.add("  sequential p50 (baseline: direct)", through, "us", direct)
        rows.add("  added p50", through - direct, "us", at_most=60)


def connect(rows, _):
    with gateway(*RATES) as one, peer(PEERS / "HummingbirdPeer") as (bare, ):
        key = one.key("user/bench")
        ours = lambda **more: wrk(f"http://127.0.0.1:{one.ports['http']}/{ECHO_PATH}Echo", MESSAGE, key, **more)
        theirs = lambda **more: wrk(f"http://127.0.0.1:{bare}/echo", MESSAGE, **more)
        rows.add_pairs("Connect unary through gateway and service, 64 x 1, S (baseline: Hummingbird)",
                       turns(lambda: ours()[0], lambda: theirs()[0], runs=7), "calls/s", at_least=20_000, ratio_at_least=1.1)
        through, hummingbird, direct = by_turns(lambda: ours(connections=1)[1], lambda: theirs(connections=1)[1],
                                                lambda: sequential(one.behind["rpc"], TOKEN))
        rows.add("  sequential p50 (baseline: Hummingbird)", through, "us", hummingbird)
        rows.add("  added p50 against the service directly", through - direct, "us", at_most=60)


def console(rows, _):
    """Measures what serving the console costs the calls of others, which have none of its headers."""
    with gateway(*RATES, "--console") as on, gateway(*RATES, "--no-console") as off:
        keys = {id(one): one.key("user/bench") for one in (on, off)}
        framed = lambda one: load(one.rpc, ECHO, duration_ms=1500, token=keys[id(one)])[0]
        connect = lambda one: wrk(f"http://127.0.0.1:{one.ports['http']}/{ECHO_PATH}Echo", MESSAGE, keys[id(one)])[0]
        for name, measure in (("framed echo, 1 x 64, S", framed), ("Connect unary, 64 x 1, S", connect)):
            rows.add_pairs(f"{name}, with the console on (baseline: off)",
                           turns(lambda: measure(on), lambda: measure(off), runs=7), "calls/s", ratio_at_least=0.98)


def streams(rows, _):
    """Measures the gateway's memory for open, waiting event streams."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, STREAMS * 2), hard))
    with gateway(*RATES, "--max-connections-per-address", str(STREAMS), pinned=False) as one:
        text = (f"GET /{ECHO_PATH}Expand?encoding=json&message=%7B%22count%22:2,%22intervalMs%22:600000%7D HTTP/1.1\r\nHost: localhost\r\n"
                f"Accept: text/event-stream\r\nAuthorization: Bearer {one.key('user/bench')}\r\n\r\n").encode()
        before = rss_mb(one.process.pid)
        sockets = []
        for index in range(STREAMS):
            # Several source addresses, so that ports do not run out.
            sockets.append(socket.create_connection(("127.0.0.1", one.ports["http"]), 30, (f"127.0.0.{2 + index % 8}", 0)))
            sockets[-1].sendall(text)
        for stream in sockets:
            got = b""
            while b"data:" not in got:
                part = stream.recv(4096)
                assert part, got
                got += part
        rows.add(f"{STREAMS:,} open event streams, RSS (baseline: before)", rss_mb(one.process.pid), "MB", before, at_most=120)
        for stream in sockets:
            stream.close()


def noisy(rows, _):
    """Measures a quiet caller's latency while another caller, with eight connections, calls as fast as it can.

    On two cores, the generators, the gateway and the service compete for CPU time. Some rows have a generator that takes its
    normal share of the cores. The others have one that uses only idle time, as if it ran on a separate machine, except for the cost
    of its packets. The noisy caller's rate is in the row below.
    """
    rates = (("a rate of 40,000/s", ["--principal-rate", "40000:1000"]), ("the default rate", []))
    for (name, flags), (generator, prefix) in itertools.product(rates, (("", []), (", on left-over time", ["chrt", "--idle", "0"]))):
        with gateway(*flags, pinned=False) as one:
            quiet, noisy, taken = one.key("user/quiet"), one.key("user/noisy"), []
            measure = lambda: load(one.rpc, ECHO, in_flight=1, duration_ms=1000, token=quiet, pinned=False)[2]

            def beside():
                with frame_load(one.rpc, ECHO, 8, 64, 2600, noisy, [*prefix, "taskset", "-c", "1"], 100) as noise:
                    time.sleep(0.5)
                    p99 = measure()
                    found = json.loads(noise.communicate(timeout=60)[0])
                taken.append((found["calls"] - found["errors"]) / found["seconds"])
                return p99

            pairs = [(beside(), alone) for alone in (measure() for _ in range(7))]
            rows.add_pairs(f"p99 of a quiet caller beside a noisy one with {name}{generator} (baseline: alone)", pairs, "us", ratio_at_most=2)
            rows.add("  what the noisy one gets", median(taken.pop, 7), "calls/s")


if __name__ == "__main__":
    run(__doc__, {"framed": framed, "connect": connect, "console": console, "streams": streams, "noisy": noisy})

"""Benchmarks the gateway: framed calls with and without credentials and limits, Connect, event streams, and a noisy neighbour.
See scripts/bench."""

import argparse
import contextlib
import itertools
import json
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench import ONE_CORE, PEERS, ROOT, Rows, by_turns, cpu_s, hello, load, peer, rss_mb, service

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

PATH = "campanile.rpc.v1.EchoService/"
ECHO = {"jsonrpc": "2.0", "id": "@ID@", "method": PATH + "Echo", "params": {"payload": "x" * 100}}
MESSAGE = json.dumps({"payload": "x" * 100})
TOKEN = "internal-token-of-the-benchmarks"
LOOP = ["--event-loop-threads", "1"]
# The default rates also keep counters, but a single core cannot reach them. These rates do not refuse calls on a faster
# machine either.
RATES = ["--principal-rate", "10000000:100000000", "--address-rate", "10000000:100000000"]
STREAMS = 5_000


@contextlib.contextmanager
def gateway(*flags, pinned=True):
    """Runs an echo service behind a gateway. Yields the gateway's process, the ports of both, and a function that creates keys."""
    with service("campanile-echo", *LOOP, token=TOKEN, pinned=pinned) as (_, behind, _):
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{behind['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, *flags, token=TOKEN, pinned=pinned) as (process, own, _):
            time.sleep(0.5)

            def key(principal):
                with Peer(own["rpc"]) as link:
                    link.hello(TOKEN)
                    return link.call("campanile.gateway.v1.AccessService/CreateApiKey", {"principal": principal})["result"]["secret"]

            yield process, own, behind, key


def http_load(port, path, headers, connections=64, duration_ms=2000, warmup_ms=300, pinned=True):
    """Runs the HTTP load generator. Returns calls per second, p50 and p99 in microseconds. Raises if a call failed."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", f"Content-Length: {len(MESSAGE)}",
             *(f"{name}: {value}" for name, value in headers.items())]
    with tempfile.NamedTemporaryFile("w", newline="") as request:
        request.write("\r\n".join(lines) + "\r\n\r\n" + MESSAGE)
        request.flush()
        out = subprocess.run([*(ONE_CORE if pinned else []), str(PEERS / "HTTPLoad"), str(port), str(connections), str(warmup_ms),
                              str(duration_ms), request.name], check=True, stdout=subprocess.PIPE, text=True).stdout
    result = json.loads(out)
    if result["errors"]:
        raise RuntimeError(f"{result['errors']} of {result['calls']} calls failed")
    return result["calls"] / result["seconds"], result["p50Us"], result["p99Us"]


def cpu_a_call(process, port, token):
    before, started = cpu_s(process.pid), time.monotonic()
    rate, _, _ = load(port, ECHO, hello=hello(token), duration_ms=1500)
    # Calls of the warm-up are included on both sides: the measured rate times the total time, and the total CPU time.
    return (cpu_s(process.pid) - before) * 1e6 / (rate * (time.monotonic() - started)), rate


def framed_rows(rows):
    with gateway(*RATES) as (process, own, behind, key):
        secret = key("user/bench")
        pairs = [(cpu_a_call(process, own["rpc"], secret), cpu_a_call(process, own["rpc"], TOKEN)) for _ in range(7)]
        middle = lambda values: statistics.median(values)
        rows.add("framed echo with a key, scopes and limits, 1 x 64, S (baseline: without)", middle([a[1] for a, _ in pairs]),
                 "calls/s", middle([b[1] for _, b in pairs]))
        rows.add("  gateway CPU a call (baseline: without)", middle([a[0] for a, _ in pairs]), "us", middle([b[0] for _, b in pairs]),
                 ratio=middle([a[0] / b[0] for a, b in pairs]), ratio_at_most=1.1)
        sequential = lambda port, token: load(port, ECHO, in_flight=1, duration_ms=700, hello=hello(token))[1]
        through, direct = by_turns(lambda: sequential(own["rpc"], secret), lambda: sequential(behind["rpc"], TOKEN))
        rows.add("  sequential p50 (baseline: direct)", through, "us", direct)
        rows.add("  added p50", through - direct, "us", at_most=60)


def connect_rows(rows):
    with gateway(*RATES) as (_, own, behind, key), peer("HummingbirdPeer") as (_, bare):
        headers = {"Authorization": f"Bearer {key('user/bench')}"}
        ours = lambda **more: http_load(own["http"], "/" + PATH + "Echo", headers, **more)
        theirs = lambda **more: http_load(bare, "/echo", {}, **more)
        pairs = [(ours()[0], theirs()[0]) for _ in range(7)]
        rows.add("Connect unary through gateway and service, 64 x 1, S (baseline: Hummingbird)",
                 statistics.median(a for a, _ in pairs), "calls/s", statistics.median(b for _, b in pairs),
                 ratio=statistics.median(a / b for a, b in pairs), at_least=20_000, ratio_at_least=1.1)
        once = {"connections": 1, "duration_ms": 700}
        through, hummingbird, direct = by_turns(
            lambda: ours(**once)[1], lambda: theirs(**once)[1],
            lambda: load(behind["rpc"], ECHO, in_flight=1, duration_ms=700, hello=hello(TOKEN))[1])
        rows.add("  sequential p50 (baseline: Hummingbird)", through, "us", hummingbird)
        rows.add("  added p50 against the service directly", through - direct, "us", at_most=60)


def stream_rows(rows):
    """Measures the gateway's memory for open, waiting event streams."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], STREAMS * 2),
                                                resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with gateway(*RATES, "--max-connections-per-address", str(STREAMS), pinned=False) as (process, own, _, key):
        text = (f"GET /{PATH}Expand?encoding=json&message=%7B%22count%22:2,%22intervalMs%22:600000%7D HTTP/1.1\r\nHost: localhost\r\n"
                f"Accept: text/event-stream\r\nAuthorization: Bearer {key('user/bench')}\r\n\r\n").encode()
        before = rss_mb(process.pid)
        sockets = []
        for index in range(STREAMS):
            # Several source addresses, so that ports do not run out.
            one = socket.socket()
            one.bind((f"127.0.0.{2 + index % 8}", 0))
            one.connect(("127.0.0.1", own["http"]))
            one.sendall(text)
            sockets.append(one)
        for one in sockets:
            one.settimeout(30)
            got = b""
            while b"data:" not in got:
                part = one.recv(4096)
                assert part, got
                got += part
        rows.add(f"{STREAMS:,} open event streams, RSS (baseline: before)", rss_mb(process.pid), "MB", before, at_most=120)
        for one in sockets:
            one.close()


# A generator that only uses idle CPU time, as if it ran on a separate machine, except for the cost of its packets.
LEFT_OVER = ["chrt", "--idle", "0"]


def noisy_rows(rows):
    """Measures a quiet caller's latency while another caller, with eight connections, calls as fast as it can.

    On two cores, the generators, the gateway and the service compete for CPU time. Some rows have a generator that takes its
    normal share of the cores. The others have one that uses only idle time; they show the influence of the gateway itself. The
    noisy caller's rate is in the row below.
    """
    rates = (("a rate of 40,000/s", ["--principal-rate", "40000:1000"]), ("the default rate", []))
    for (name, flags), (generator, prefix, target) in itertools.product(rates, (("", [], 2), (", on left-over time", LEFT_OVER, 2))):
        with gateway(*flags, pinned=False) as (_, own, _, key), tempfile.TemporaryDirectory() as folder:
            quiet, noisy = key("user/quiet"), key("user/noisy")
            folder = pathlib.Path(folder)
            (folder / "request").write_text(json.dumps(ECHO).replace('"@ID@"', "@ID@"))
            (folder / "hello").write_text(json.dumps(hello(noisy)))
            pairs, taken = [], []
            measure = lambda: load(own["rpc"], ECHO, in_flight=1, duration_ms=1000, hello=hello(quiet), pinned=False)[2]
            for _ in range(7):
                alone = measure()
                noise = subprocess.Popen([*prefix, "taskset", "-c", "1", str(PEERS / "FrameLoad"), str(own["rpc"]), "8", "64", "100",
                                          "2600", str(folder / "request"), str(folder / "hello")], stdout=subprocess.PIPE, text=True)
                time.sleep(0.5)
                pairs.append((measure(), alone))
                found = json.loads(noise.communicate(timeout=60)[0])
                taken.append((found["calls"] - found["errors"]) / found["seconds"])
            rows.add(f"p99 of a quiet caller beside a noisy one with {name}{generator} (baseline: alone)",
                     statistics.median(a for a, _ in pairs), "us", statistics.median(b for _, b in pairs),
                     ratio=statistics.median(a / b for a, b in pairs), ratio_at_most=target)
            rows.add("  what the noisy one gets", statistics.median(taken), "calls/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=["framed", "connect", "streams", "noisy"])
    arguments = parser.parse_args()
    rows = Rows()
    rows.head()
    for name, measure in (("framed", framed_rows), ("connect", connect_rows), ("streams", stream_rows), ("noisy", noisy_rows)):
        if arguments.only in (None, name):
            measure(rows)
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

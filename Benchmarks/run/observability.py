"""Benchmarks the cost of metrics, traces and the log of slow calls: the same calls in turns with all of them and without. See scripts/bench.

All measured processes share core 0. The receiver of spans and the reader of metrics use the other cores, because in production they
run elsewhere. Turns alternate in order, because the machine's speed drifts. They have a real-time priority if it is permitted: the
influence of other processes on that core varies by more than the measured cost.
"""

import argparse
import contextlib
import http.server
import os
import pathlib
import statistics
import sys
import threading
import time
import urllib.request

from bench import ROOT, Rows, cpu_s, hello, load, service

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

TOKEN = "internal-token-of-the-benchmarks"
LOOP = ["--event-loop-threads", "1"]
ECHO = {"jsonrpc": "2.0", "id": "@ID@", "method": "campanile.rpc.v1.EchoService/Echo", "params": {"payload": "x" * 100}}
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"
USER = {"campanile-principal": "user/bench"}
OFF = ["--call-metrics=false", "--slow-call-ms", "0"]
WARMUP_MS, TURN_MS = 300, 2000
# Time for the last spans of a turn to be sent; it is part of the turn.
SETTLE_S = 0.6


class Receiver(http.server.BaseHTTPRequestHandler):
    """Receives spans and counts their bytes."""

    protocol_version = "HTTP/1.1"
    taken = 0

    def do_POST(self):
        Receiver.taken += len(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def receiver():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Side:
    """Servers with the same settings, and their load."""

    def __init__(self, processes, run, scraped=()):
        """`run` applies the load, with keyword arguments for `load`. `scraped` are the ports whose metrics are read once per turn,
        which is more often than Prometheus does."""
        self.processes, self.run, self.scraped = processes, run, scraped
        self.calls = self.used_s = 0

    def cpu_s(self):
        return sum(cpu_s(process.pid) for process in self.processes)

    def scrape(self):
        for port in self.scraped:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()

    def turn(self):
        """Returns the calls per second. Adds up the servers' CPU time."""
        before = self.cpu_s()
        scraping = threading.Timer((WARMUP_MS + TURN_MS / 2) / 1000, self.scrape)
        scraping.start()
        rate = self.run(warmup_ms=WARMUP_MS, duration_ms=TURN_MS)[0]
        scraping.join()
        time.sleep(SETTLE_S)
        self.used_s += self.cpu_s() - before
        self.calls += rate * (WARMUP_MS + TURN_MS) / 1000
        return rate


def compare(rows, arguments, name, on, off, at_least=0.95):
    pairs = []
    for turn in range(arguments.turns):
        if turn % 2:
            quiet = off.turn()
            pairs.append((on.turn(), quiet))
        else:
            pairs.append((on.turn(), off.turn()))
    middle = statistics.median
    rows.add(name, middle(a for a, _ in pairs), "calls/s", middle(b for _, b in pairs),
             ratio=middle(a / b for a, b in pairs), ratio_at_least=at_least)
    us_per_call = [1e6 * side.used_s / side.calls for side in (on, off)]
    rows.add("  CPU of the servers a call", us_per_call[0], "us", us_per_call[1])


def parts(rows, url, arguments, servers):
    """Measures the cost of each part alone."""
    traces = [*OFF, "--otlp-endpoint", url]
    for name, flags in (("metrics", ["--slow-call-ms", "0"]), ("the log of slow calls", ["--call-metrics=false"]),
                        ("traces of 1%", traces), ("traces of none", [*traces, "--trace-ratio", "0"])):
        if arguments.parts:
            with servers(*flags) as on, servers(*OFF) as off:
                compare(rows, arguments, f"  only {name}", on, off, None)


@contextlib.contextmanager
def echo(*flags, is_scraped=False):
    with service("campanile-echo", *LOOP, *flags) as (process, ports, _):
        yield Side([process], lambda **time: load(ports["rpc"], ECHO, **time), [ports["http"]] if is_scraped else [])


def echo_rows(rows, url, arguments):
    for ratio, target in (("0.01", 0.95), ("1", None)):
        with echo("--otlp-endpoint", url, "--trace-ratio", ratio, is_scraped=True) as on, echo(*OFF) as off:
            compare(rows, arguments, f"echo, all on, {float(ratio):.0%} of calls traced, 1 x 64, S (baseline: all off)", on, off, target)
    parts(rows, url, arguments, echo)


@contextlib.contextmanager
def gateway(*flags, is_scraped=False):
    with service("campanile-echo", *LOOP, *flags, token=TOKEN) as (echoes, behind, _):
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{behind['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, *flags, token=TOKEN) as (process, own, _):
            time.sleep(0.5)
            yield Side([echoes, process], lambda **time: load(own["rpc"], ECHO, hello=hello(TOKEN), **time),
                       [own["admin"], behind["http"]] if is_scraped else [])


def gateway_rows(rows, url, arguments):
    with gateway("--otlp-endpoint", url, is_scraped=True) as on, gateway(*OFF) as off:
        compare(rows, arguments, "echo through the gateway, all on, 1% traced, 1 x 64, S (baseline: all off)", on, off)
    parts(rows, url, arguments, gateway)


def notification_rows(rows, url, arguments):
    with service("campanile-notifications", "--otlp-endpoint", url, token=TOKEN) as (loud, on, _), \
            service("campanile-notifications", *OFF, token=TOKEN) as (quiet, off, _):
        requests = []
        for ports in (on, off):
            with Peer(ports["rpc"]) as link:
                link.hello(TOKEN)
                ask = lambda method, params: link.call(NOTIFICATIONS + method, params, metadata=USER)["result"]
                bucket = ask("CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
                one = ask("CreateNotification", {"notification": {"bucketId": bucket, "title": "t", "body": "x" * 200}})
            requests.append({"jsonrpc": "2.0", "id": "@ID@", "method": NOTIFICATIONS + "GetNotification",
                             "params": {"notificationId": one["notification"]["id"]}, "metadata": USER})
        side = lambda process, ports, request, scraped: Side(
            [process], lambda **time: load(ports["rpc"], request, hello=hello(TOKEN), **time), scraped)
        compare(rows, arguments, "GetNotification direct, all on, 1% traced, 1 x 64, S (baseline: all off)",
                side(loud, on, requests[0], [on["http"]]), side(quiet, off, requests[1], []))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=["echo", "gateway", "notifications"])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--parts", action="store_true", help="also measure each part alone")
    arguments = parser.parse_args()
    # Child processes pin themselves to core 0.
    if others := os.sched_getaffinity(0) - {0}:
        os.sched_setaffinity(0, others)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("real-time priority is not permitted here: other load on the machine affects the results", flush=True)
    rows = Rows()
    rows.head()
    with receiver() as url:
        for name, measure in (("echo", echo_rows), ("gateway", gateway_rows), ("notifications", notification_rows)):
            if arguments.only in (None, name):
                measure(rows, url, arguments)
    assert Receiver.taken > 0, "no spans were received"
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

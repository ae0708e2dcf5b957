"""Measures the cost of metrics, traces and the log of slow calls: the same calls in turns with all of them and without. See scripts/bench.

All measured processes share core 0. The receiver of spans and the reader of metrics use the other cores, because in production they
run elsewhere. Turns have a real-time priority if it is permitted: the influence of other processes on that core varies by more than
the measured cost.
"""

import contextlib
import http.server
import os
import threading
import time
import urllib.request

from bench import ECHO, cpu_s, gateway, load, run, turns

OFF = ["--call-metrics=false", "--slow-call-ms", "0"]
TURNS = 9
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


class Side:
    """Servers with the same settings, and their load. The metrics of `scraped` ports are read once per turn."""

    def __init__(self, processes, port, scraped):
        self.processes, self.port, self.scraped = processes, port, scraped
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
        rate = load(self.port, ECHO, warmup_ms=WARMUP_MS, duration_ms=TURN_MS)[0]
        scraping.join()
        time.sleep(SETTLE_S)
        self.used_s += self.cpu_s() - before
        self.calls += rate * (WARMUP_MS + TURN_MS) / 1000
        return rate


@contextlib.contextmanager
def through_gateway(*flags):
    with gateway(*flags, echo_flags=flags) as one:
        yield Side([one.echo, one.process], one.rpc, [one.ports["admin"], one.behind["http"]])


def compare(rows, url):
    with through_gateway("--otlp-endpoint", url) as on, through_gateway(*OFF) as off:
        off.scraped = []
        rows.add_pairs("echo through the gateway, all on, 1% of calls traced, 1 x 64, S (baseline: all off)",
                       turns(on.turn, off.turn, runs=TURNS), "calls/s", ratio_at_least=0.95)
        on_us, off_us = (1e6 * side.used_s / side.calls for side in (on, off))
        rows.add("  CPU of the servers a call", on_us, "us", off_us)


def main():
    # Child processes pin themselves to core 0.
    if others := os.sched_getaffinity(0) - {0}:
        os.sched_setaffinity(0, others)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("real-time priority is not permitted here: other load on the machine affects the results", flush=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    run(__doc__, {"gateway": lambda rows, _: compare(rows, url)})
    assert Receiver.taken > 0, "no spans were received"


if __name__ == "__main__":
    main()

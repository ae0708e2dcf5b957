"""What metrics, traces and the log of slow calls cost: the same calls by turns with all of them and with none. See scripts/bench."""

import argparse
import contextlib
import http.server
import pathlib
import statistics
import sys
import threading
import time
import urllib.request

from bench import ROOT, Rows, hello, load, service

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

TOKEN = "bench-internal-token"
LOOP = ["--event-loop-threads", "1"]
ECHO = {"jsonrpc": "2.0", "id": "@ID@", "method": "campanile.rpc.v1.EchoService/Echo", "params": {"payload": "x" * 100}}
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"
USER = {"campanile-principal": "user/bench"}
OFF = ["--call-metrics=false", "--slow-call-ms", "0"]
RUNS = 9


class Receiver(http.server.BaseHTTPRequestHandler):
    """Takes spans and counts their bytes."""

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


@contextlib.contextmanager
def scraped(*ports):
    """Has the metrics of processes read every second, as Prometheus would more seldom."""
    end = threading.Event()

    def scrape():
        while not end.wait(1):
            for port in ports:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).read()

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def compare(rows, name, on, off, at_least=0.95):
    """`on` and `off` answer calls a second. The order changes with each pair, since the machine's speed drifts."""
    pairs = []
    for turn in range(RUNS):
        if turn % 2:
            quiet = off()
            pairs.append((on(), quiet))
        else:
            pairs.append((on(), off()))
    middle = statistics.median
    rows.add(name, middle(a for a, _ in pairs), "calls/s", middle(b for _, b in pairs),
             ratio=middle(a / b for a, b in pairs), ratio_at_least=at_least)


def echo_rows(rows, url):
    for ratio, target in (("0.01", 0.95), ("1", None)):
        flags = ["--otlp-endpoint", url, "--trace-ratio", ratio]
        with service("campanile-echo", *LOOP, *flags) as (_, on, _), service("campanile-echo", *LOOP, *OFF) as (_, off, _):
            with scraped(on["http"]):
                compare(rows, f"echo, all on, {float(ratio):.0%} of calls traced, 1 x 64, S (baseline: all off)",
                        lambda: load(on["rpc"], ECHO)[0], lambda: load(off["rpc"], ECHO)[0], target)
    only = (("only metrics", ["--slow-call-ms", "0"]), ("only the log of slow calls", ["--call-metrics=false"]),
            ("only traces, 1%", [*OFF, "--otlp-endpoint", url]))
    for name, flags in only:
        with service("campanile-echo", *LOOP, *flags) as (_, on, _), service("campanile-echo", *LOOP, *OFF) as (_, off, _):
            compare(rows, f"  {name}", lambda: load(on["rpc"], ECHO)[0], lambda: load(off["rpc"], ECHO)[0], None)


@contextlib.contextmanager
def gateway(*flags):
    with service("campanile-echo", *LOOP, *flags, token=TOKEN) as (_, behind, _):
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{behind['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, *flags, token=TOKEN) as (_, own, _):
            time.sleep(0.5)
            yield own, behind


def gateway_rows(rows, url):
    with gateway("--otlp-endpoint", url) as (on, behind), gateway(*OFF) as (off, _), scraped(on["http"], behind["http"]):
        run = lambda port: load(port, ECHO, hello=hello(TOKEN))[0]
        compare(rows, "echo through the gateway, all on, 1% traced, 1 x 64, S (baseline: all off)", lambda: run(on["rpc"]),
                lambda: run(off["rpc"]))


def notification_rows(rows, url):
    with service("campanile-notifications", "--otlp-endpoint", url, token=TOKEN) as (_, on, _), \
            service("campanile-notifications", *OFF, token=TOKEN) as (_, off, _), scraped(on["http"]):
        requests = []
        for ports in (on, off):
            with Peer(ports["rpc"]) as link:
                link.hello(TOKEN)
                ask = lambda method, params: link.call(NOTIFICATIONS + method, params, metadata=USER)["result"]
                bucket = ask("CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
                one = ask("CreateNotification", {"notification": {"bucketId": bucket, "title": "t", "body": "x" * 200}})
            requests.append({"jsonrpc": "2.0", "id": "@ID@", "method": NOTIFICATIONS + "GetNotification",
                             "params": {"notificationId": one["notification"]["id"]}, "metadata": USER})
        run = lambda ports, request: load(ports["rpc"], request, hello=hello(TOKEN))[0]
        compare(rows, "GetNotification direct, all on, 1% traced, 1 x 64, S (baseline: all off)", lambda: run(on, requests[0]),
                lambda: run(off, requests[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=["echo", "gateway", "notifications"])
    arguments = parser.parse_args()
    rows = Rows()
    rows.head()
    with receiver() as url:
        for name, measure in (("echo", echo_rows), ("gateway", gateway_rows), ("notifications", notification_rows)):
            if arguments.only in (None, name):
                measure(rows, url)
    assert Receiver.taken > 0, "no spans have come"
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

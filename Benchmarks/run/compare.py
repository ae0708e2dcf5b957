"""Compares the suite with grpc-swift-2, Hummingbird, Go's gRPC, NATS, and a bare server in C as the upper limit. See scripts/bench.

Comparisons are measured in turns (A B A B), because the machine's speed drifts; a ratio is the median of the turns' ratios.
S: both ends on one core. Writes the table of docs/performance.md, unless --only selects a part.
"""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from bench import (ECHO, LOOP, NOTIFICATIONS, ONE_CORE, OTHER_CORE, PEERS, ROOT, TOKEN, gateway, load, notifications, output, peer, rss_mb,
                   run, service, start_tester, tester_report, wrk)

DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- scripts/bench compare writes from here -->", "<!-- to here -->"
EXPANDED = 2_000
RUNS = 5


class Comparison:
    """Rows of the report, and the same with the spread of the runs for the document."""

    def __init__(self, rows):
        self.rows = rows

    def turns(self, measures):
        """Returns the values of every measure, one per turn."""
        found = {name: [] for name in measures}
        for _ in range(RUNS):
            for name, measure in measures.items():
                found[name].append(measure())
        return found

    def against(self, what, measures, ours="Campanile", unit="calls/s", targets=None):
        """Compares `ours` with each of the others. `targets` are the minimum ratios."""
        found = self.turns(measures)
        for name, values in found.items():
            if name != ours:
                self.add(what, found[ours], unit, name, values, ratio_at_least=(targets or {}).get(name))

    def add(self, what, values, unit, other, others, ratio=None, **limits):
        ratio = ratio or statistics.median(a / b for a, b in zip(values, others))
        self.rows.add(f"{what} (baseline: {other})", statistics.median(values), unit, statistics.median(others), ratio=ratio, **limits)
        row = self.rows.rows[-1]
        row["spread"] = [round(min(values), 3), round(max(values), 3)]
        TABLE.append((what, unit, other, values, others, row))


TABLE = []


def shown(values):
    """Formats the median, minimum and maximum."""
    number = lambda value: f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
    return f"{number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"


def write_table(path):
    lines = ["| what | Campanile | baseline | its figure | ratio | target |", "| --- | ---: | --- | ---: | ---: | --- |"]
    for what, unit, other, values, others, row in TABLE:
        target = f"{row['target'].replace('>= x ', '≥ ').replace('<= x ', '≤ ').replace('<= ', '≤ ')} "\
                 f"{'met' if row['met'] else '**missed**'}" if row["target"] else ""
        lines.append(f"| {what}, {unit} | {shown(values)} | {other or ''} | {shown(others) if others else ''} | "
                     f"{format(row['ratio'], '.2f') if row['ratio'] else ''} | {target} |")
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


# The competitors.

def h2load(port, name, argument, calls, method, bytes_min):
    """Returns the calls per second of h2load, with 64 streams on one connection. It ignores trailers: a response with data counts as a success."""
    with tempfile.NamedTemporaryFile() as body:
        subprocess.run([PEERS / "GRPCPeer", "body", name, str(argument)], check=True, stdout=body)
        out = output(*ONE_CORE, "h2load", "--clients=1", "--max-concurrent-streams=64", f"--requests={calls}", f"--data={body.name}",
                     "--header=content-type: application/grpc", "--header=te: trailers",
                     f"http://127.0.0.1:{port}/campanile.benchmarks.v1.{method}")
    rate = float(re.search(r"([\d.]+) req/s", out)[1])
    succeeded, data = int(re.search(r"(\d+) succeeded", out)[1]), int(re.search(r"headers.*?, [\d.]+\w* \((\d+)\) data", out)[1])
    if succeeded != calls or data < calls * bytes_min:
        raise RuntimeError(f"h2load: {out}")
    return rate


def own_client(program, port, method, argument, in_flight, calls):
    """Returns the calls per second of the server's native client."""
    return float(output(*ONE_CORE, PEERS / program, *(["load"] if program == "GRPCPeer" else []), port, method, argument, in_flight, calls,
                        env={**os.environ, "CAMPANILE_INTERNAL_TOKEN": TOKEN}))


@contextlib.contextmanager
def go_grpc(folder):
    """Runs Go's gRPC if its Debian packages are installed. Yields its measure, or None."""
    source = ROOT / "Benchmarks" / "Peers" / "go-grpc"
    if not shutil.which("go") or not pathlib.Path("/usr/share/gocode/src/google.golang.org/grpc").exists():
        print("  skipped Go's gRPC: it is not installed (Debian: golang-google-grpc-dev)", flush=True)
        yield None
        return
    cache = ROOT / "Benchmarks" / ".build" / "go"
    subprocess.run(["go", "build", "-o", f"{folder}/go-grpc", "."], cwd=source, check=True,
                   env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(cache)})
    with peer(f"{folder}/go-grpc", "serve") as (port, ):
        yield lambda: float(output(*ONE_CORE, f"{folder}/go-grpc", "load", port, 64, 50_000, 100))


@contextlib.contextmanager
def nats(folder):
    """Runs a NATS server and a responder. Yields the measure of request and reply, or None."""
    source = ROOT / "Benchmarks" / "Peers" / "nats" / "main.c"
    if not shutil.which("nats-server") or not pathlib.Path("/usr/include/nats/nats.h").exists():
        print("  skipped NATS: it is not installed (Debian: nats-server, libnats-dev)", flush=True)
        yield None
        return
    subprocess.run(["gcc", "-O2", "-o", f"{folder}/nats", str(source), "-lnats", "-lpthread"], check=True)
    server = subprocess.Popen([*ONE_CORE, "nats-server", "--addr", "127.0.0.1", "--port", "-1"], stderr=subprocess.PIPE, text=True)
    try:
        port = next(found[1] for found in (re.search(r"client connections on .*:(\d+)", line) for line in server.stderr) if found)
        with peer(f"{folder}/nats", "serve", port):
            yield lambda: float(output(*ONE_CORE, f"{folder}/nats", "load", port, 64, 50_000, 100))
    finally:
        server.kill()
        server.wait()


# The comparisons.

def echo(rows, _):
    comparison = Comparison(rows)
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        folder = enter(tempfile.TemporaryDirectory())
        _, ports, _ = enter(service("campanile-echo", *LOOP))
        rpc = ports["rpc"]
        grpc_port, = enter(peer(PEERS / "GRPCPeer", "serve"))
        theirs = {"grpc-swift-2": lambda: own_client("GRPCPeer", grpc_port, "echo", 100, 64, 12_800)}
        optional = {"Go gRPC": enter(go_grpc(folder)), "NATS": enter(nats(folder))}
        theirs |= {name: measure for name, measure in optional.items() if measure}
        comparison.against("unary echo, each with its own client, S",
                           {"Campanile": lambda: own_client("ClientLoad", rpc, "echo", 100, 64, 300_000)} | theirs)
        streams = lambda program, port, calls: own_client(program, port, "expand", EXPANDED, 8, calls) * EXPANDED
        comparison.against(
            "streaming echo, 8 streams, each with its own client, S",
            {"Campanile": lambda: streams("ClientLoad", rpc, 160), "grpc-swift-2": lambda: streams("GRPCPeer", grpc_port, 16)},
            unit="messages/s")
        bare, = enter(peer(PEERS / "BareServer"))
        hummingbird, = enter(peer(PEERS / "HummingbirdPeer"))
        comparison.against("unary echo, load generators in C, S", {
            "Campanile": lambda: load(rpc, ECHO, token=None)[0],
            "a bare server in C": lambda: load(bare, ECHO, token=None)[0],
            "grpc-swift-2": lambda: h2load(grpc_port, "echo", 100, 15_000, "EchoService/Echo", 100),
            "Hummingbird, HTTP/1.1 and JSON": lambda: wrk(f"http://127.0.0.1:{hummingbird}/echo", ECHO["params"])[0],
        })


def reads_and_writes(rows, _):
    comparison = Comparison(rows)
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        folder = lambda: enter(tempfile.TemporaryDirectory())
        one = enter(notifications(*LOOP))
        g_port, g_bucket, g_one = enter(peer(PEERS / "GRPCPeer", "serve", folder()))
        h_port, h_bucket, h_one = enter(peer(PEERS / "HummingbirdPeer", folder()))
        comparison.against("read of a notification, each with its own client, S", {
            "Campanile": lambda: own_client("ClientLoad", one.rpc, "get", one.one["notificationId"], 64, 100_000),
            "grpc-swift-2": lambda: own_client("GRPCPeer", g_port, "get", g_one, 64, 9_600),
        }, targets={"grpc-swift-2": 12})
        comparison.against("durable write of a notification, each with its own client, S", {
            "Campanile": lambda: own_client("ClientLoad", one.rpc, "create", one.bucket, 64, 19_200),
            "grpc-swift-2": lambda: own_client("GRPCPeer", g_port, "create", g_bucket, 64, 4_800),
        }, targets={"grpc-swift-2": 5})
        url = f"http://127.0.0.1:{h_port}/notifications"
        comparison.against("read of a notification, load generators in C, S", {
            "Campanile": lambda: load(one.rpc, one.read)[0],
            "grpc-swift-2": lambda: h2load(g_port, "get", g_one, 12_000, "NotificationsService/GetNotification", 250),
            "Hummingbird, HTTP/1.1 and JSON": lambda: wrk(f"{url}/{h_one}")[0],
        })
        draft = {"bucketId": h_bucket, "title": "A notification", "body": "x" * 200}
        comparison.against("durable write of a notification, load generators in C, S", {
            "Campanile": lambda: load(one.rpc, one.write)[0],
            "grpc-swift-2": lambda: h2load(g_port, "create", g_bucket, 6_000, "NotificationsService/CreateNotification", 250),
            "Hummingbird, HTTP/1.1 and JSON": lambda: wrk(url, draft)[0],
        })


def forward(rows, _):
    with gateway() as one:
        Comparison(rows).against("unary echo through the gateway, S", {
            "Campanile": lambda: load(one.rpc, ECHO)[0],
            "the same without a gateway": lambda: load(one.behind["rpc"], ECHO)[0],
        }, targets={"the same without a gateway": 0.4})


def half_of_the_maximum(read):
    """Returns the maximum rate of a closed loop; at half of it, the p50 in microseconds, and the p99 as a multiple of the p50."""
    fastest = read("--duration", "2s")["callsPerSecond"]
    half = read("--rate", int(fastest / 2), "--duration", "5s")["latency"]["percentilesMs"]
    return fastest, half["50"] * 1_000, half["99"] / half["50"]


REAL_TIME = ["chrt", "--fifo", "1"]


def open_loop(rows, _):
    """Measures an open loop at half of the maximum rate, with a core for each side.

    Ordinary processes wait for kernel threads and for other load, as every server on this machine would. The rows of a bare server in
    C show for how long. With a real-time priority only the service's own time remains.
    """
    comparison = Comparison(rows)
    arrangements = {"a core for each side": []}
    if shutil.which("chrt") and subprocess.run([*REAL_TIME, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        arrangements["a core for each side, real-time priority"] = REAL_TIME
    else:
        print("  skipped the rows with real-time priority: it is not permitted here", flush=True)
    for name, prefix in arrangements.items():
        with notifications(*LOOP, prefix=prefix) as one, peer(PEERS / "BareServer", prefix=prefix) as (bare, ):
            read = lambda *more: tester_report(start_tester(*more, prefix=[*prefix, *OTHER_CORE]))
            ours, limit = comparison.turns({
                "ours": lambda: half_of_the_maximum(lambda *more: read(NOTIFICATIONS + "GetNotification", one.one, *one.tester, *more)),
                "limit": lambda: half_of_the_maximum(
                    lambda *more: read(ECHO["method"], ECHO["params"], "--address", f"127.0.0.1:{bare}", *more)),
            }).values()
            for what, unit, index, limits in (("highest rate of the read, closed loop", "calls/s", 0, {}),
                                              ("p50 of the read at half of that rate, open loop", "µs", 1, {}),
                                              ("p99 in p50s at half of that rate", "×", 2, {"at_most": 3})):
                comparison.add(f"{what}, {name}", [turn[index] for turn in ours], unit, "a bare server in C",
                               [turn[index] for turn in limit], **limits)


# The wire protocol ends every call after ten minutes, so a watch must end earlier to end by itself.
WATCH_SECONDS_MAX = 580


def memory(rows, options):
    """Measures a service's memory during reads, writes and watches: the median of the last fifth compared with that of the second fifth."""
    with notifications(*LOOP) as one:
        seconds = int(options.minutes * 60)
        parts = [("GetNotification", one.one, seconds, ["--rate", "5000"]),
                 ("CreateNotification", one.draft, seconds, ["--rate", "50"]),
                 ("WatchNotifications", {}, min(seconds, WATCH_SECONDS_MAX), ["--concurrency", "20", "--timeout", "600s"])]
        loads = [start_tester(NOTIFICATIONS + method, params, *one.tester, "--duration", f"{length}s", *more)
                 for method, params, length, more in parts]
        sizes, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(1)
            sizes.append(rss_mb(one.process.pid))
        for one_load in loads:
            tester_report(one_load)
        fifth = max(1, len(sizes) // 5)
        early, late = sizes[fifth:2 * fifth], sizes[-fifth:]
        Comparison(rows).add(f"RSS of the service after {options.minutes:g} minutes of reads, writes and watches", late, "MB",
                             "the same at the beginning", early, statistics.median(late) / statistics.median(early), ratio_at_most=1.1)


if __name__ == "__main__":
    _, arguments = run(
        __doc__, {"echo": echo, "notifications": reads_and_writes, "forward": forward, "open-loop": open_loop, "memory": memory},
        minutes=(2.0, "minutes of the memory measurement; 10 for a release"))
    if not arguments.only:
        write_table(DOCUMENT)

"""Compares the suite with grpc-swift-2, Hummingbird, Go's gRPC, NATS, and bare echoes as the upper limit. See scripts/bench.

Comparisons are measured in turns (A B A B), because the machine's speed drifts; a ratio is the median of the turns' ratios.
S: both ends on one core. Writes the table of docs/performance.md, unless --only selects a part.
"""

import argparse
import contextlib
import datetime
import functools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from bench import ONE_CORE, OURS, PEERS, ROOT, Rows, core_speed, hello, is_disturbed, load, peer, rss_mb, service, whole_speed
from gateway import http_load
from rpc import ECHO, LOOP, TOKEN

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

DOCUMENT = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- scripts/bench compare writes from here -->", "<!-- to here -->"
PATH = "campanile.notifications.v1.NotificationsService/"
USER = {"campanile-principal": "user/bench"}
BODY = "x" * 200
EXPANDED = 2_000
OTHER_CORE = ["taskset", "-c", "1"]


def run(*command, **more):
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


class Comparison:
    """The rows of the report, and rows with the spread of the runs for the document."""

    def __init__(self, runs):
        self.runs, self.rows, self.table = runs, Rows(), []
        self.rows.head()

    def turns(self, measures):
        """Returns the values of every measure, one per turn."""
        found = {name: [] for name in measures}
        for _ in range(self.runs):
            for name, measure in measures.items():
                found[name].append(measure())
        return found

    def against(self, what, measures, ours="Campanile", unit="calls/s", targets=None):
        """Compares `ours` with each of the others. `targets` are the minimum ratios."""
        found = self.turns(measures)
        for name, values in found.items():
            if name != ours:
                ratios = [a / b for a, b in zip(found[ours], values)]
                self.add(what, found[ours], unit, name, values, statistics.median(ratios), (targets or {}).get(name))

    def add(self, what, values, unit, other=None, others=None, ratio=None, ratio_at_least=None, **limits):
        label = f"{what} (baseline: {other})" if other else what
        self.rows.add(label, statistics.median(values), unit, statistics.median(others) if others else None, ratio=ratio,
                      ratio_at_least=ratio_at_least, **limits)
        row = self.rows.rows[-1]
        row["spread"] = [round(min(values), 3), round(max(values), 3)]
        print(f"    {' '.join(f'{value:,.2f}' for value in values)}{' | ' if others else ''}"
              f"{' '.join(f'{value:,.2f}' for value in others or [])}", flush=True)
        self.table.append((what, unit, other, values, others, row))


def shown(values):
    """Formats the median, minimum and maximum."""
    number = lambda value: f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"
    return f"{number(statistics.median(values))} ({number(min(values))}–{number(max(values))})"


def write_table(comparison, path):
    lines = ["| what | Campanile | baseline | its figure | ratio | target |", "| --- | ---: | --- | ---: | ---: | --- |"]
    for what, unit, other, values, others, row in comparison.table:
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
        out = run(*ONE_CORE, "h2load", "--clients=1", "--max-concurrent-streams=64", f"--requests={calls}", f"--data={body.name}",
                  "--header=content-type: application/grpc", "--header=te: trailers",
                  f"http://127.0.0.1:{port}/campanile.benchmarks.v1.{method}")
    rate = float(re.search(r"([\d.]+) req/s", out)[1])
    succeeded, data = int(re.search(r"(\d+) succeeded", out)[1]), int(re.search(r"headers.*?, [\d.]+\w* \((\d+)\) data", out)[1])
    if succeeded != calls or data < calls * bytes_min:
        raise RuntimeError(f"h2load: {out}")
    return rate


def own_client(program, port, method, argument, in_flight, calls):
    """Returns the calls per second of the server's native client."""
    out = run(*ONE_CORE, PEERS / program, *(["load"] if program == "GRPCPeer" else []), port, method, argument, in_flight, calls,
              env={**os.environ, "CAMPANILE_INTERNAL_TOKEN": TOKEN})
    return json.loads(out)["callsPerSecond"]


@contextlib.contextmanager
def started(*command, error=False, environment=None):
    """Runs a process for the duration of the block. Yields its first line, or the lines of its standard error."""
    process = subprocess.Popen([*map(str, command)], stdout=subprocess.DEVNULL if error else subprocess.PIPE,
                               stderr=subprocess.PIPE if error else None, text=True, env=environment)
    try:
        yield process.stderr if error else process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


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
    with started(*ONE_CORE, f"{folder}/go-grpc", "serve") as port:
        yield lambda: json.loads(run(*ONE_CORE, f"{folder}/go-grpc", "load", port, 64, 50_000, 100))["callsPerSecond"]


@contextlib.contextmanager
def nats(folder):
    """Runs a NATS server and a responder. Yields the measure of request and reply, or None."""
    source = ROOT / "Benchmarks" / "Peers" / "nats" / "main.c"
    if not shutil.which("nats-server") or not pathlib.Path("/usr/include/nats/nats.h").exists():
        print("  skipped NATS: it is not installed (Debian: nats-server, libnats-dev)", flush=True)
        yield None
        return
    subprocess.run(["gcc", "-O2", "-o", f"{folder}/nats", str(source), "-lnats", "-lpthread"], check=True)
    with started(*ONE_CORE, "nats-server", "--addr", "127.0.0.1", "--port", "-1", error=True) as lines:
        port = next(found[1] for found in (re.search(r"client connections on .*:(\d+)", line) for line in lines) if found)
        with started(*ONE_CORE, f"{folder}/nats", "serve", port):
            yield lambda: json.loads(run(*ONE_CORE, f"{folder}/nats", "load", port, 64, 50_000, 100))["callsPerSecond"]


# The comparisons.

def echo(comparison):
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        folder = enter(tempfile.TemporaryDirectory())
        _, ports, _ = enter(service("campanile-echo", *LOOP, token=TOKEN))
        rpc = ports["rpc"]
        grpc_port = enter(started(*ONE_CORE, PEERS / "GRPCPeer", "serve"))
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
        _, c_port = enter(peer("FrameEchoC"))
        _, nio_port = enter(peer("FrameEchoNIO"))
        _, hummingbird = enter(peer("HummingbirdPeer"))
        comparison.against("unary echo, load generators in C, S", {
            "Campanile": lambda: load(rpc, ECHO)[0],
            "bare C echo: the limit": lambda: load(c_port, ECHO)[0],
            "bare SwiftNIO echo": lambda: load(nio_port, ECHO)[0],
            "grpc-swift-2": lambda: h2load(grpc_port, "echo", 100, 15_000, "EchoService/Echo", 100),
            "Hummingbird, HTTP/1.1 and JSON": lambda: http_load(hummingbird, "/echo", {})[0],
        })


def raw_http(port, text):
    """Returns the calls per second of the HTTP load generator, with 64 connections and one unchanged request."""
    with tempfile.NamedTemporaryFile("w", newline="") as request:
        request.write(text.replace("\n", "\r\n"))
        request.flush()
        result = json.loads(run(*ONE_CORE, PEERS / "HTTPLoad", port, 64, 300, 2000, request.name))
    if result["errors"]:
        raise RuntimeError(f"{result['errors']} of {result['calls']} calls failed")
    return result["calls"] / result["seconds"]


def ask(port, method, params):
    with Peer(port) as link:
        link.hello(TOKEN)
        return link.call(PATH + method, params, metadata=USER)["result"]


def request(method, params):
    return {"jsonrpc": "2.0", "id": "@ID@", "method": PATH + method, "params": params, "metadata": USER}


def draft(bucket):
    return {"bucketId": bucket, "title": "A notification", "body": BODY, "priority": "PRIORITY_NORMAL"}


def notifications(comparison):
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        folder = lambda: enter(tempfile.TemporaryDirectory())
        _, ports, _ = enter(service("campanile-notifications", *LOOP, token=TOKEN))
        rpc = ports["rpc"]
        bucket = ask(rpc, "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
        one = ask(rpc, "CreateNotification", {"notification": draft(bucket)})["notification"]["id"]
        g_port, g_bucket, g_one = enter(started(*ONE_CORE, PEERS / "GRPCPeer", "serve", folder())).split()
        h_port, h_bucket, h_one = enter(started(*ONE_CORE, PEERS / "HummingbirdPeer", folder())).split()
        comparison.against("read of a notification, each with its own client, S", {
            "Campanile": lambda: own_client("ClientLoad", rpc, "get", one, 64, 100_000),
            "grpc-swift-2": lambda: own_client("GRPCPeer", g_port, "get", g_one, 64, 9_600),
        }, targets={"grpc-swift-2": 12})
        comparison.against("durable write of a notification, each with its own client, S", {
            "Campanile": lambda: own_client("ClientLoad", rpc, "create", bucket, 64, 19_200),
            "grpc-swift-2": lambda: own_client("GRPCPeer", g_port, "create", g_bucket, 64, 4_800),
        }, targets={"grpc-swift-2": 5})
        link = {"hello": hello(TOKEN)}
        comparison.against("read of a notification, load generators in C, S", {
            "Campanile": lambda: load(rpc, request("GetNotification", {"notificationId": one}), **link)[0],
            "grpc-swift-2": lambda: h2load(g_port, "get", g_one, 12_000, "NotificationsService/GetNotification", 250),
            "Hummingbird, HTTP/1.1 and JSON": lambda: raw_http(h_port, f"GET /notifications/{h_one} HTTP/1.1\nHost: h\n\n"),
        })
        text = json.dumps({"bucketId": h_bucket, "title": "A notification", "body": BODY})
        posted = f"POST /notifications HTTP/1.1\nHost: h\nContent-Type: application/json\nContent-Length: {len(text)}\n\n{text}"
        comparison.against("durable write of a notification, load generators in C, S", {
            "Campanile": lambda: load(rpc, request("CreateNotification", {"notification": draft(bucket)}), **link)[0],
            "grpc-swift-2": lambda: h2load(g_port, "create", g_bucket, 6_000, "NotificationsService/CreateNotification", 250),
            "Hummingbird, HTTP/1.1 and JSON": lambda: raw_http(h_port, posted),
        })


def forward(comparison):
    with service("campanile-echo", *LOOP, token=TOKEN) as (_, ports, _):
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{ports['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, token=TOKEN) as (_, own, _):
            time.sleep(0.5)
            comparison.against("unary echo through the gateway, S", {
                "Campanile": lambda: load(own["rpc"], ECHO, hello=hello(TOKEN))[0],
                "the same without a gateway": lambda: load(ports["rpc"], ECHO, hello=hello(TOKEN))[0],
            }, targets={"the same without a gateway": 0.4})


@contextlib.contextmanager
def read_service(prefix=()):
    """Runs a Notifications service with data to read. Yields its process, its port, its token file, a bucket, and a notification."""
    with tempfile.TemporaryDirectory() as folder, service("campanile-notifications", *LOOP, token=TOKEN, prefix=prefix) as (process, ports, _):
        file = pathlib.Path(folder) / "token"
        file.write_text(TOKEN)
        file.chmod(0o600)
        bucket = ask(ports["rpc"], "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
        one = ask(ports["rpc"], "CreateNotification", {"notification": draft(bucket)})["notification"]["id"]
        yield process, ports["rpc"], file, bucket, one


def tester(port, method, params, *more, prefix=(), core=OTHER_CORE):
    """Starts `campanile load`, which writes its report to standard output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CAMPANILE_")}
    command = [*prefix, *core, OURS / "campanile", "load", method, json.dumps(params), "--address", f"127.0.0.1:{port}",
               "--output", "json", *more]
    return subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean, text=True)


def report(process, timeout_s=60):
    """Returns the report of a load tester. Raises if a call failed."""
    text = process.communicate(timeout=timeout_s)[0]
    if process.returncode:
        raise RuntimeError(f"campanile load ended with {process.returncode}: {text}")
    found = json.loads(text)
    if found["errors"]:
        raise RuntimeError(f"campanile load: {found['statuses']}")
    return found


def by_token(file):
    return ["--internal-token-file", file, "--as", "user/bench"]


def half_of_the_maximum(read):
    """Returns the maximum rate of a closed loop; at half of it, the p50 in microseconds, and the p99 as a multiple of the p50."""
    fastest = read("--duration", "2s")["callsPerSecond"]
    half = read("--rate", str(int(fastest / 2)), "--duration", "5s")["latency"]["percentilesMs"]
    return fastest, half["50"] * 1_000, half["99"] / half["50"]


# The minimum number of undisturbed seconds per side, and the maximum number of turns, for a machine that is rarely
# idle.
QUIET_SECONDS_MIN, QUIET_TURNS_MAX = 20, 20


def seconds_of(read, rate):
    """Returns the seconds of an open loop, as (start, end, p99 / p50), and samples of the core's speed."""
    with core_speed(60) as samples:
        run = read("--rate", str(rate), "--warm-up", "1s", "--duration", "10s")
    measured = datetime.datetime.fromisoformat(run["startTime"]).timestamp() + 1
    starts = [measured + second["startMs"] / 1_000 for second in run["seconds"]]
    ends = [*starts[1:], measured + run["durationMs"] / 1_000]
    # Calls that did not end in their second count as late in the next one.
    return [(start, end, second["p99Ms"] / second["p50Ms"]) for start, end, second in zip(starts, ends, run["seconds"])
            if second["p50Ms"]], samples


def quiet_seconds(comparison, reads, rates):
    """Adds p99 / p50 of the seconds in which no other guest slowed the core, as sampled by `CoreSpeed` independently of the server.

    Other guests may use part of a virtual core for some time. A run that spans such a change mixes the p50 of one state with the p99 of the other.
    """
    seconds, samples = {side: [] for side in reads}, []

    def ratios(side, disturbed):
        whole = whole_speed(samples)
        return [ratio for start, end, ratio in seconds[side] if is_disturbed(start, end, samples, whole) == disturbed]

    for turn in range(QUIET_TURNS_MAX):
        if turn >= comparison.runs and all(len(ratios(side, False)) >= QUIET_SECONDS_MIN for side in reads):
            break
        for side, read in reads.items():
            more, told = seconds_of(read, rates[side])
            seconds[side] += more
            samples += told
    for disturbed, limits in ((False, {"at_most": 3}), (True, {})):
        ours, limit = (ratios(side, disturbed) for side in reads)
        which = f"{len(ours)} {'' if disturbed else 'un'}disturbed seconds of {len(seconds['ours'])}"
        if min(len(ours), len(limit)) < QUIET_SECONDS_MIN:
            if disturbed:
                continue
            # In that case the target applies to all seconds.
            which = f"all {len(seconds['ours'])} seconds, as only {len(ours)} were undisturbed"
            ours, limit = ([ratio for *_, ratio in seconds[side]] for side in reads)
        comparison.add(f"the same, {which}, S", ours, "×", "a bare server in C", limit,
                       statistics.median(ours) / statistics.median(limit), **limits)


REAL_TIME = ["chrt", "--fifo", "1"]


def may_be_real_time():
    return shutil.which("chrt") and subprocess.run([*REAL_TIME, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def open_loop(comparison):
    """Measures an open loop at half of the maximum rate, with both ends on one core (S), and with a core for each.

    Ordinary processes wait for each other, for kernel threads and for other load, as every server on this machine would. The rows
    of a minimal server in C show for how long. With a real-time priority and a core for each side, only the service's own time
    remains.
    """
    arrangements = [("S", (), ONE_CORE), ("a core for each side", (), OTHER_CORE)]
    if may_be_real_time():
        arrangements.append(("a core for each side, real-time priority", REAL_TIME, OTHER_CORE))
    else:
        print("  skipped the rows with real-time priority: it is not permitted here", flush=True)
    for name, prefix, core in arrangements:
        with read_service(prefix) as (_, port, file, _, one), peer("FrameAnswersC", prefix=prefix) as (_, bare):
            reads = {"ours": lambda *more: report(tester(port, PATH + "GetNotification", {"notificationId": one}, *by_token(file), *more,
                                                         prefix=prefix, core=core)),
                     "limit": lambda *more: report(tester(bare, ECHO["method"], ECHO["params"], *more, prefix=prefix, core=core))}
            turns = comparison.turns({side: functools.partial(half_of_the_maximum, read) for side, read in reads.items()})
            ours, limit = turns.values()
            for what, unit, index, limits in (("highest rate of the read, closed loop", "calls/s", 0, {}),
                                              ("p50 of the read at half of that rate, open loop", "µs", 1, {}),
                                              ("p99 in p50s at half of that rate", "×", 2, {"at_most": 3})):
                values, others = [turn[index] for turn in ours], [turn[index] for turn in limit]
                comparison.add(f"{what}, {name}", values, unit, "a bare server in C", others,
                               statistics.median(a / b for a, b in zip(values, others)), **limits)
            if core is ONE_CORE:
                # Half of the maximum of all turns: a disturbed turn must not lower the rate.
                quiet_seconds(comparison, reads, {side: int(max(fastest for fastest, *_ in found) / 2) for side, found in turns.items()})


# The wire protocol ends every call after ten minutes, so a watch must end earlier to end by itself.
WATCH_SECONDS_MAX = 580


def memory(comparison, minutes):
    """Measures a service's memory during reads, writes and watches: the median of the last fifth compared with that of the second fifth."""
    with read_service() as (process, port, file, bucket, one):
        seconds = int(minutes * 60)
        parts = [("GetNotification", {"notificationId": one}, seconds, ["--rate", "5000"]),
                 ("CreateNotification", {"notification": draft(bucket)}, seconds, ["--rate", "50"]),
                 ("WatchNotifications", {}, min(seconds, WATCH_SECONDS_MAX), ["--concurrency", "20", "--timeout", "600s"])]
        loads = [tester(port, PATH + method, params, *by_token(file), "--duration", f"{length}s", *more)
                 for method, params, length, more in parts]
        sizes, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(1)
            sizes.append(rss_mb(process.pid))
        for one_load in loads:
            report(one_load, timeout_s=90)
        fifth = max(1, len(sizes) // 5)
        early, late = sizes[fifth:2 * fifth], sizes[-fifth:]
        comparison.add(f"RSS of the service after {minutes:g} minutes of reads, writes and watches", late, "MB", "the same at the beginning",
                       early, statistics.median(late) / statistics.median(early), ratio_at_most=1.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=["echo", "notifications", "forward", "open-loop", "memory"], help="one part; the document is not updated")
    parser.add_argument("--runs", type=int, default=5, help="turns per comparison, at least 5")
    parser.add_argument("--minutes", type=float, default=2, help="minutes of the memory measurement; 10 for a release")
    arguments = parser.parse_args()
    comparison = Comparison(max(5, arguments.runs))
    parts = {"echo": echo, "notifications": notifications, "forward": forward, "open-loop": open_loop,
             "memory": lambda one: memory(one, arguments.minutes)}
    for name, measure in parts.items():
        if arguments.only in (None, name):
            measure(comparison)
    comparison.rows.write(arguments.json)
    if not arguments.only:
        write_table(comparison, DOCUMENT)


if __name__ == "__main__":
    main()

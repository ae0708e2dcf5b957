"""Functions shared by all benchmarks: their parts and options, processes pinned to cores, connections, and load generators."""

import argparse
import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import time
import types

from table import Rows, by_turns, median, median_of, turns  # noqa: F401

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "Tests" / "Wire"), str(ROOT / "Tests" / "SuiteTests")]
from campanile_wire import Peer, reason  # noqa: E402

OURS = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build-release" / "release"))
PEERS = pathlib.Path(os.environ.get("CAMPANILE_PEERS_BIN", ROOT / "Benchmarks" / ".build" / "release"))
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ONE_CORE, OTHER_CORE = (["taskset", "-c", core] for core in "01")
LOOP = ["--event-loop-threads", "1"]
TOKEN = "internal-token-of-the-benchmarks"
USER = {"campanile-principal": "user/bench"}
ECHO_PATH = "campanile.rpc.v1.EchoService/"
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"


def run(doc, parts, **options):
    """Runs the parts of a benchmark, or the one given by `--only`. Returns the rows and the arguments.

    `options` are further arguments: their default and their help.
    """
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", choices=list(parts), help="one part")
    for name, (default, text) in options.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, help=text)
    arguments = parser.parse_args()
    rows = Rows()
    rows.head()
    for name, part in parts.items():
        if arguments.only in (None, name):
            part(rows, arguments)
    rows.write(arguments.json)
    return rows, arguments


# Processes

def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def rss_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


def output(*command, **more):
    """Runs a command and returns its standard output."""
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


@contextlib.contextmanager
def peer(*command, prefix=()):
    """Runs a baseline server on one core. Yields the words of its first line: its port, and what else it prints."""
    process = subprocess.Popen([*prefix, *ONE_CORE, *map(str, command)], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def service(name, *arguments, pinned=True, directory=None, token=TOKEN, prefix=()):
    """Runs one of the suite's executables. Yields the process, its ports and the seconds from start to ready.

    `token` is the internal token. It is passed in the environment, because a command line is not secret.
    """
    with tempfile.TemporaryDirectory() as own:
        home = pathlib.Path(directory or own)
        ready = home / f"{name}.ready"
        ready.unlink(missing_ok=True)
        with open(home / f"{name}.log", "ab") as log:
            started = time.monotonic()
            process = subprocess.Popen(
                [*prefix, *(ONE_CORE if pinned else []), str(OURS / name), "--port", "0", "--http-port", "0", "--ready-file", str(ready),
                 "--log-level", "warning", "--data-dir", str(home), *arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, **({"CAMPANILE_INTERNAL_TOKEN": token} if token else {})})
        try:
            while not ready.exists():
                if process.poll() is not None or time.monotonic() - started > 30:
                    raise RuntimeError((home / f"{name}.log").read_text()[-2000:])
                time.sleep(0.001)
            yield process, json.loads(ready.read_text()), time.monotonic() - started
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def gateway(*flags, echo_flags=(), pinned=True):
    """Runs an echo service behind a gateway. Yields the processes and ports of both, and a function that creates API keys."""
    with service("campanile-echo", *LOOP, *echo_flags, pinned=pinned) as (echo, behind, _):
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{behind['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, *flags, pinned=pinned) as (process, own, _):
            # Until the gateway knows its backend.
            time.sleep(0.5)

            def key(principal):
                with Link(own["rpc"], {}) as link:
                    return link.ask("campanile.gateway.v1.AccessService/CreateApiKey", {"principal": principal})["secret"]

            yield types.SimpleNamespace(process=process, rpc=own["rpc"], ports=own, echo=echo, behind=behind, key=key)


@contextlib.contextmanager
def notifications(*flags, **more):
    """Runs Notifications with a bucket and a notification. Yields its process and ports, requests that read
    and write, and the options of `campanile load` for it."""
    with tempfile.TemporaryDirectory() as folder, service("campanile-notifications", *flags, **more) as (process, ports, _), \
            Link(ports["rpc"]) as link:
        token = pathlib.Path(folder) / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        bucket = link.ask(NOTIFICATIONS + "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
        draft = {"notification": {"bucketId": bucket, "title": "A notification", "body": "x" * 200, "priority": "PRIORITY_NORMAL"}}
        one = {"notificationId": link.ask(NOTIFICATIONS + "CreateNotification", draft)["notification"]["id"]}
        yield types.SimpleNamespace(
            process=process, ports=ports, rpc=ports["rpc"], bucket=bucket, draft=draft, one=one,
            tester=["--address", f"127.0.0.1:{ports['rpc']}", "--internal-token-file", token, "--as", "user/bench"],
            read=request(NOTIFICATIONS + "GetNotification", one), write=request(NOTIFICATIONS + "CreateNotification", draft))


# Connections and load generators

class Link(Peer):
    """A connection with the internal token, whose metadata names the caller, or with an API key of the caller."""

    def __init__(self, port, metadata=USER, token=TOKEN):
        super().__init__(port, timeout_s=300)
        self.metadata = metadata
        self.hello(token)

    def ask(self, method, params, metadata=None):
        """Returns the result of a call. Raises if it failed."""
        return self.result(self.call(method, params, metadata=metadata or self.metadata, timeoutMs=300_000))

    def ask_all(self, method, all_params, in_flight=512):
        """Returns the results of many calls in order, with several in flight."""
        results, sent = [None] * len(all_params), 0
        for received in range(len(all_params)):
            while sent < len(all_params) and sent - received < in_flight:
                self.send(request(method, all_params[sent], self.metadata) | {"id": sent, "timeoutMs": 120_000})
                sent += 1
            answer = self.receive()
            results[answer["id"]] = self.result(answer)
        return results

    def stream(self, method, params):
        """Opens a server stream. Yields its frames without decoding them."""
        self.send(request(method, params, self.metadata) | {"id": "s"})
        self.grant_all("s")
        while (frame := self.receive_raw()).find(b'"rpc.message"', 0, 60) >= 0:
            yield frame
        if b'"error"' in frame[:60]:
            raise RuntimeError(frame[:500])

    @staticmethod
    def result(answer):
        if "error" in answer:
            raise RuntimeError(f"{reason(answer)}: {answer['error']['message']}")
        return answer["result"]


def reach_all_ms(links, marker, count, publish):
    """Returns the milliseconds from `publish` until a frame with the marker has arrived `count` times on each connection."""
    poll, buffers = select.epoll(), {link.socket.fileno(): (link.socket, bytearray()) for link in links}
    for number in buffers:
        poll.register(number, select.EPOLLIN)
    started = time.perf_counter()
    publish()
    waiting = dict.fromkeys(buffers, count)
    while waiting:
        for number, _ in poll.poll(10):
            one, buffer = buffers[number]
            buffer += one.recv(1 << 20, socket.MSG_DONTWAIT)
            while len(buffer) >= 4 and len(buffer) >= (size := 4 + int.from_bytes(buffer[:4], "big")):
                if marker in buffer[4:size]:
                    waiting[number] -= 1
                del buffer[:size]
            if waiting.get(number) == 0:
                del waiting[number]
        if time.perf_counter() - started > 10:
            raise RuntimeError(f"{sum(waiting.values())} watches were not reached")
    poll.close()
    return (time.perf_counter() - started) * 1_000


def request(method, params, metadata=USER):
    """Returns a frame for `load`, which replaces the id."""
    return {"jsonrpc": "2.0", "id": "@ID@", "method": method, "params": params, "metadata": metadata}


def hello(token=TOKEN):
    return {"jsonrpc": "2.0", "id": 0, "method": "rpc.hello", "params": {"versions": ["1"], "agent": "bench", "token": token}}


ECHO = {"jsonrpc": "2.0", "id": "@ID@", "method": ECHO_PATH + "Echo", "params": {"payload": "x" * 100}}


@contextlib.contextmanager
def frame_load(port, requests, connections=1, in_flight=64, duration_ms=2000, token=TOKEN, prefix=ONE_CORE, warmup_ms=300):
    """Starts the load generator for frames. Yields its process. The requests of a list are sent in turn."""
    with tempfile.TemporaryDirectory() as own:
        frames, greeting = pathlib.Path(own) / "requests", pathlib.Path(own) / "hello"
        requests = requests if isinstance(requests, list) else [requests]
        frames.write_text("\n".join(json.dumps(one) for one in requests).replace('"@ID@"', "@ID@"))
        greeting.write_text(json.dumps(hello(token)))
        process = subprocess.Popen(
            [*prefix, str(PEERS / "FrameLoad"), str(port), str(connections), str(in_flight), str(warmup_ms), str(duration_ms), str(frames),
             *([str(greeting)] if token else [])], stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def load(port, requests, pinned=True, **more):
    """Returns calls per second, p50 and p99 in microseconds of the load generator for frames. Raises if a call failed."""
    with frame_load(port, requests, prefix=ONE_CORE if pinned else [], **more) as process:
        out = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"FrameLoad ended with {process.returncode}")
    result = json.loads(out)
    if result["errors"]:
        raise RuntimeError(f"{result['errors']} of {result['calls']} calls failed")
    return result["calls"] / result["seconds"], result["p50Us"], result["p99Us"]


def cpu_us_per_call(process, measure):
    """Runs a load. Returns its rate, and the CPU microseconds of a process per call."""
    before, started = cpu_s(process.pid), time.monotonic()
    rate = measure()[0]
    # Calls of the warm-up are included on both sides: the measured rate times the total time, and the total CPU time.
    return rate, (cpu_s(process.pid) - before) * 1e6 / (rate * (time.monotonic() - started))


# A request and the results as one line of JSON, in wrk's language.
WRK = """
wrk.method, wrk.body = "%s", %s
%s
done = function(summary, latency, requests)
  local failed = summary.errors
  io.write(string.format('{"requests":%%d,"us":%%d,"p50Us":%%d,"p99Us":%%d,"errors":%%d}\\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), failed.connect + failed.read + failed.write + failed.status + failed.timeout))
end
"""


def wrk(url, body=None, key=None, connections=64, seconds=2, core=ONE_CORE):
    """Returns calls per second, p50 and p99 in microseconds of wrk, for a GET, or a POST of a JSON body."""
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK % ("GET" if body is None else "POST", "nil" if body is None else json.dumps(json.dumps(body)),
                            "\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items())))
        script.flush()
        lines = output(*core, "wrk", "--threads", 1, "--connections", connections, "--duration", f"{seconds}s", "--script", script.name, url)
    result = json.loads(lines.strip().splitlines()[-1])
    if result["errors"] or not result["requests"]:
        raise RuntimeError(f"wrk: {result}")
    return result["requests"] / result["us"] * 1e6, result["p50Us"], result["p99Us"]


def start_tester(method, params, *more, key=None, prefix=OTHER_CORE):
    """Starts `campanile load`, which writes its report to standard output."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CAMPANILE_")}
    if key:
        clean["CAMPANILE_KEY"] = key
    command = [*prefix, OURS / "campanile", "load", method, params if isinstance(params, str) else json.dumps(params), "--output", "json", *more]
    return subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean, text=True)


def tester_report(process, timeout_s=120):
    """Returns the report of `campanile load`. Raises if a call failed."""
    text = process.communicate(timeout=timeout_s)[0]
    if process.returncode:
        raise RuntimeError(f"campanile load ended with {process.returncode}: {text}")
    found = json.loads(text)
    if found["errors"]:
        raise RuntimeError(f"campanile load: {found['statuses']}")
    return found

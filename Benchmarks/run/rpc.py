"""Benchmarks the speed and memory of the wire protocol, compared with a C echo, a SwiftNIO echo and grpc-swift-2. See scripts/bench."""

import argparse
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time

from bench import ONE_CORE, PEERS, ROOT, Rows, by_turns, cpu_s, hello, load, median, peer, rss_mb, service

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

ECHO = {"jsonrpc": "2.0", "id": "@ID@", "method": "campanile.rpc.v1.EchoService/Echo", "params": {"payload": "x" * 100}}
TOKEN = "internal-token-of-the-benchmarks"
LOOP = ["--event-loop-threads", "1"]


def cpu_a_call(process, run):
    """Runs a load. Returns its rate and the server's CPU microseconds per call."""
    before, started = cpu_s(process.pid), time.monotonic()
    rate, _, _ = run()
    # Calls of the warm-up are included on both sides: the measured rate times the total time, and the total CPU time.
    seconds = time.monotonic() - started
    return rate, (cpu_s(process.pid) - before) * 1e6 / (rate * seconds)


def baselines():
    with peer("FrameEchoC") as (_, port):
        c_rate = median(lambda: load(port, ECHO)[0])
    with peer("FrameEchoNIO") as (_, port):
        nio_rate = median(lambda: load(port, ECHO)[0])
    return c_rate, nio_rate


def grpc():
    def run(in_flight, calls):
        with peer("GRPCPeer", "serve") as (_, port):
            out = subprocess.run([*ONE_CORE, str(PEERS / "GRPCPeer"), "load", str(port), "echo", "100", str(in_flight), str(calls)],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
        result = json.loads(out)
        return result["callsPerSecond"], result["p50Us"]
    return median(lambda: run(64, 12_800))[0], median(lambda: run(1, 1_000))[1]


def swift_client(port, in_flight, calls):
    out = subprocess.run([*ONE_CORE, str(PEERS / "ClientLoad"), str(port), "echo", "100", str(in_flight), str(calls)], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    result = json.loads(out)
    return result["callsPerSecond"], result["p50Us"]


def sequential(port, **more):
    """Returns the p50 of sequential calls, in microseconds."""
    return load(port, ECHO, in_flight=1, duration_ms=1000, **more)[1]


def echo_rows(rows, nio_rate, grpc_rate, grpc_p50):
    with service("campanile-echo", *LOOP) as (process, ports, _), peer("FrameEchoNIO") as (_, nio_port):
        port = ports["rpc"]
        rate, cpu = median(lambda: cpu_a_call(process, lambda: load(port, ECHO)))
        rows.add("unary echo, C load generator, 1 x 64, S (baseline: NIO echo)", rate, "calls/s", nio_rate, at_least=400_000)
        rows.add("  server CPU a call", cpu, "us", at_most=2.0)
        timed = dict(ECHO, timeoutMs=5000)
        with_deadline, without = by_turns(lambda: load(port, timed)[0], lambda: load(port, ECHO)[0])
        rows.add("  with a deadline on every call (baseline: without)", with_deadline, "calls/s", without, ratio_at_least=0.9)
        p50, nio_p50 = by_turns(lambda: sequential(port), lambda: sequential(nio_port))
        rows.add("  sequential p50 (baseline: NIO echo)", p50, "us", nio_p50, ratio_at_most=1.4)
        swift_rate = median(lambda: swift_client(port, 64, 400_000)[0])
        rows.add("Swift client and server, 1 x 64, S (baseline: grpc-swift-2)", swift_rate, "calls/s", grpc_rate,
                 at_least=250_000, ratio_at_least=30)
        swift_p50 = median(lambda: swift_client(port, 1, 30_000)[1])
        rows.add("  sequential p50 (baseline: grpc-swift-2)", swift_p50, "us", grpc_p50)


def gateway_rows(rows):
    with contextlib.ExitStack() as stack:
        _, ports, _ = stack.enter_context(service("campanile-echo", *LOOP, token=TOKEN))
        relay, relay_nio = (stack.enter_context(peer(name, str(ports["rpc"])))[1] for name in ("FrameRelayC", "FrameRelayNIO"))
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{ports['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, token=TOKEN) as (process, own, _):
            time.sleep(0.5)
            run = lambda **more: load(own["rpc"], ECHO, hello=hello(TOKEN), **more)
            rate, cpu = median(lambda: cpu_a_call(process, run))
            rows.add("the same echo through the gateway, 1 x 64, S", rate, "calls/s", at_least=150_000)
            rows.add("  gateway CPU a call", cpu, "us", at_most=3.0)
            p50, nio_p50, c_p50, direct_p50 = by_turns(
                lambda: sequential(own["rpc"], hello=hello(TOKEN)), lambda: sequential(relay_nio), lambda: sequential(relay),
                lambda: sequential(ports["rpc"]))
            rows.add("  sequential p50 (baseline: direct)", p50, "us", direct_p50, ratio_at_most=2.2)
            rows.add("  bytes through a relay on SwiftNIO: the limit (baseline: direct)", nio_p50, "us", direct_p50)
            rows.add("  bytes through a relay in C (baseline: direct)", c_p50, "us", direct_p50)


def notification_rows(rows):
    user = {"campanile-principal": "user/bench"}
    path = "campanile.notifications.v1.NotificationsService/"

    def request(method, params):
        return {"jsonrpc": "2.0", "id": "@ID@", "method": path + method, "params": params, "metadata": user}

    def ask(port, method, params):
        with Peer(port) as link:
            link.hello(TOKEN)
            return link.call(path + method, params, metadata=user)["result"]

    for pinned in (True, False):
        with service("campanile-notifications", token=TOKEN, pinned=pinned) as (_, ports, _):
            port = ports["rpc"]
            bucket = ask(port, "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
            draft = {"bucketId": bucket, "title": "A notification", "body": "x" * 200, "priority": "PRIORITY_NORMAL"}
            if pinned:
                one = ask(port, "CreateNotification", {"notification": draft})["notification"]["id"]
                get = request("GetNotification", {"notificationId": one})
                rate = median(lambda: load(port, get, hello=hello(TOKEN))[0])
                rows.add("GetNotification direct, 1 x 64, S", rate, "calls/s", at_least=60_000)
                continue
            create = request("CreateNotification", {"notification": draft})
            rate = median(lambda: load(port, create, hello=hello(TOKEN), pinned=False)[0])
            rows.add("CreateNotification, durability full, 64 in flight, unpinned", rate, "calls/s", at_least=30_000)


def memory_rows(rows):
    starts = []
    for _ in range(3):
        with service("campanile-echo", pinned=False) as (process, _, seconds):
            starts.append(seconds * 1000)
            time.sleep(0.5)
            idle = rss_mb(process.pid)
    rows.add("start to ready", sorted(starts)[1], "ms", at_most=300)
    rows.add("idle service RSS", idle, "MB", at_most=40)
    with service("campanile-echo", "--max-connections-per-address", "10000", pinned=False) as (process, ports, _):
        sockets = []
        for index in range(10_000):
            # Several source addresses, so that ports do not run out.
            one = socket.socket()
            one.bind((f"127.0.0.{2 + index % 8}", 0))
            one.connect(("127.0.0.1", ports["rpc"]))
            sockets.append(one)
        time.sleep(2)
        rows.add("10,000 idle connections, RSS", rss_mb(process.pid), "MB", at_most=110)
        for one in sockets:
            one.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = Rows()
    rows.head()
    c_rate, nio_rate = baselines()
    rows.add("C echo: the limit, 1 x 64, S", c_rate, "calls/s")
    rows.add("SwiftNIO echo, 1 x 64, S", nio_rate, "calls/s", c_rate)
    grpc_rate, grpc_p50 = grpc()
    rows.add("grpc-swift-2 echo, 1 x 64, S", grpc_rate, "calls/s")
    echo_rows(rows, nio_rate, grpc_rate, grpc_p50)
    gateway_rows(rows)
    notification_rows(rows)
    memory_rows(rows)
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

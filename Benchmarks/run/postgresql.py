"""Measures the store and two services on a PostgreSQL server of its own, and pgbench with a batch of statements. See scripts/bench.

The server waits for the disk. The baseline is one connection with pipelined transactions of 64 writes with four statements
each, as the store's own benchmark writes them. Parts: `alone`, `standby` with a synchronous standby, `distant` with a round trip of 0.45 ms,
`replicas` with several processes of a service on one database.
"""

import contextlib
import itertools
import json
import multiprocessing
import multiprocessing.pool
import pathlib
import queue
import re
import select
import socket
import struct
import tempfile
import threading
import time

from attendance import ADMIN, PACKAGE
from bench import NOTIFICATIONS, PEERS, Link, load, median, notifications, output, request, run, service, turns
from postgresql_server import Server

CLIENTS, SECONDS, MEMBERS = 64, 3, 1_000
# The delay of the relay, and how much too late a sleeping thread wakes up.
ROUND_TRIP_MS, LATE_S = 0.45, 0.000_06
# The statements of StoreBench. Values are sent, as by the store.
VALUES = {"owner": "user", "title": "A title of a notification", "body": "x" * 400, "all": "all", "unread": "unread", "id": 1_000_000_000_000}
# Ordered ids, as the suite and the store's benchmark have.
NEXT = "\\set id :id + 1"
INSERTS = ("INSERT INTO notifications (id, owner, title, body, created_at_ms) VALUES (:id::text || '-{0}', :owner, :title, :body, {0});",
           "INSERT INTO changes (id, owner, at_ms) VALUES (:id::text || '-{0}', :owner, {0});")
COUNTS = ("UPDATE counters SET value = value + 1 WHERE name = :all;", "UPDATE counters SET value = value + 1 WHERE name = :unread;")
LANE = "UPDATE store_lanes SET head = head + 1 WHERE lane = 0 RETURNING head;"


class Place:
    """A server, and the host and port at which its clients reach it."""

    def __init__(self, server, host, port):
        self.server, self.host, self.port = server, host, port
        self.names = (f"{'' if port == 5432 else 'distant'}bench{number}" for number in itertools.count())

    def new(self):
        """Creates a database. Returns its name and its address."""
        self.server.create(name := next(self.names))
        return name, f"postgresql://postgres@/{name}?host={self.host}&port={self.port}"

    def store(self, clients, seconds=SECONDS):
        """Returns the store's rate of writes in a new database, and its name."""
        name, address = self.new()
        return json.loads(output(PEERS / "StoreBench", address, "ordered", clients, seconds))["rowsPerSecond"], name

    def pgbench(self, script, name, writes=1):
        file = self.server.folder / "script.sql"
        file.write_text("\n".join(script) + "\n")
        values = [part for name, value in VALUES.items() for part in ("-D", f"{name}={value}")]
        told = self.server.run("pgbench", "-h", self.host, "-p", self.port, "-U", "postgres", "-n", "-M", "prepared", "-f", file,
                               "-T", SECONDS, *values, name)
        return writes * float(re.search(r"^tps = ([0-9.]+)", told, re.M)[1])

    def batches(self, writes):
        """Returns pgbench's rate of writes in pipelined transactions, in a new database with the tables of the store."""
        inserts = [insert.format(number) for number in range(writes) for insert in INSERTS]
        return self.pgbench([NEXT, "\\startpipeline", "BEGIN;", LANE, *inserts, *COUNTS * writes,
                             "COMMIT;", "\\endpipeline"], self.store(1, seconds=0.1)[1], writes)

    def bare_ms(self):
        """Returns the milliseconds of a transaction with one statement."""
        return 1_000 / self.pgbench([NEXT, INSERTS[1].format(0)], self.store(1, seconds=0.1)[1])

    def publications(self, in_flight=CLIENTS):
        """Returns the publications per second through the service, and the p50 of one in milliseconds."""
        with notifications("--store", self.new()[1], pinned=False) as running:
            rate, p50, _ = load(running.rpc, running.write, pinned=False, in_flight=in_flight, duration_ms=SECONDS * 1_000)
        return rate, p50 / 1_000

    def records(self):
        """Returns the attendance records per second through the service. Every record is a change."""
        with service("campanile-attendance", "--store", self.new()[1], pinned=False) as (_, ports, _), Link(ports["rpc"], ADMIN) as link:
            link.ask_all(PACKAGE + "MembersService/CreateMember", [
                {"member": {"name": f"Member number {k:05}", "initiationDate": "2010-01-01"}} for k in range(MEMBERS)], in_flight=CLIENTS)
            meeting = link.ask(PACKAGE + "MeetingsService/CreateMeeting", {"meeting": {"startTime": "2025-03-04T18:30:00Z", "discussion": "An evening"}})["meeting"]["id"]
            changes = [request(PACKAGE + "AttendanceService/RecordAttendance", {
                "meetingId": meeting, "memberId": f"m_{k % MEMBERS + 1}",
                "status": f"ATTENDANCE_STATUS_{'PRESENT' if k // MEMBERS % 2 else 'ABSENT'}"}, ADMIN) for k in range(2 * MEMBERS)]
            return load(ports["rpc"], changes, pinned=False, in_flight=CLIENTS, duration_ms=SECONDS * 1_000)[0]

    def measure(self, rows, title, publications, records):
        """Adds the rows of both services, with the least ratios."""
        found = turns(lambda: self.batches(CLIENTS), lambda: self.publications()[0], self.records, runs=3)
        rows.add_pairs(f"{title}: publications, {CLIENTS} in flight (baseline: pgbench)", [(ours, base) for base, ours, _ in found],
                       "calls/s", ratio_at_least=publications)
        rows.add_pairs(f"{title}: attendance records, {CLIENTS} in flight (baseline: pgbench)", [(ours, base) for base, _, ours in found],
                       "calls/s", ratio_at_least=records)


@contextlib.contextmanager
def place():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(pathlib.Path(folder), fsync=True)
        try:
            yield Place(server, folder, 5432)
        finally:
            server.stop()


@contextlib.contextmanager
def standby(server):
    """Runs a standby for which every commit of the server waits."""
    data, port = server.folder / "standby", 5433
    server.run("pg_basebackup", "-h", server.folder, "-U", "postgres", "-D", data, "-R", "-c", "fast")
    server.run("pg_ctl", "-D", data, "-w", "-l", server.folder / "standby.log", "-o",
               f"-k {server.folder} -p {port} -c listen_addresses='' -c max_connections=600", "start")
    try:
        server.script("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf();")
        limit = time.monotonic() + 20
        while "sync" not in server.script("postgres", "SELECT sync_state FROM pg_stat_replication;"):
            if time.monotonic() > limit:
                raise RuntimeError("the standby does not follow")
            time.sleep(0.1)
        yield
    finally:
        server.script("postgres", "ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf();")
        server.run("pg_ctl", "-D", data, "-m", "immediate", "stop")


def forward(source, sink):
    """Forwards bytes, each half a round trip after its arrival."""
    waiting = queue.SimpleQueue()

    def send():
        while (item := waiting.get())[1]:
            time.sleep(max(0, item[0] + ROUND_TRIP_MS / 2_000 - LATE_S - time.perf_counter()))
            sink.sendall(item[1])
        sink.close()

    threading.Thread(target=send, daemon=True).start()
    data = b"-"
    while data:
        try:
            data = source.recv(1 << 16)
        except OSError:
            data = b""
        waiting.put((time.perf_counter(), data))


def relay(listener, target):
    while True:
        caller, _ = listener.accept()
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = socket.socket(socket.AF_UNIX)
        server.connect(target)
        for ends in ((caller, server), (server, caller)):
            threading.Thread(target=forward, args=ends, daemon=True).start()


# So many callers that each process has full commits.
REPLICAS, REPLICA_CLIENTS = 4, 1_024
# Events one by one, because those of a busy process wait for one another.
EVENTS, EVENT_PAUSE_S = 100, 0.02


def replica_rate(place, count):
    """Returns the publications per second through several processes of one service."""
    _, address = place.new()
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(notifications("--store", address, pinned=False)) for _ in range(count)]
        with multiprocessing.pool.ThreadPool(count) as threads:
            return sum(rate for rate, _, _ in threads.map(lambda one: load(
                one.rpc, one.write, pinned=False, in_flight=REPLICA_CLIENTS // count, duration_ms=SECONDS * 1_000), running))


def event_ms(place):
    """Returns the p50 in ms from the answer to a publication until a watch at another process has its event."""
    _, address = place.new()
    with notifications("--store", address, pinned=False) as here, notifications("--store", address, pinned=False) as there, \
            Link(here.rpc) as caller, Link(there.rpc) as watcher:
        events = watcher.stream(NOTIFICATIONS + "WatchNotifications", {})
        next(events)

        def once():
            time.sleep(EVENT_PAUSE_S)
            caller.send(here.write | {"id": 1})
            times, waiting = {}, {caller.socket: "answer", watcher.socket: "event"}
            while waiting:
                for one in select.select(list(waiting), [], [], 10)[0]:
                    times[waiting.pop(one)] = time.perf_counter()
            caller.result(caller.receive())
            next(events)
            return (times["event"] - times["answer"]) * 1_000

        return median(once, EVENTS)


class Session(socket.socket):
    """A session with the server in its own protocol, because Debian's Python has no driver."""

    def __init__(self, place):
        super().__init__(socket.AF_UNIX)
        self.connect(f"{place.host}/.s.PGSQL.5432")
        self.put(b"", struct.pack(">I", 3 << 16) + b"user\0postgres\0\0")
        self.get(b"Z")

    def put(self, kind, content):
        self.sendall(kind + struct.pack(">I", 4 + len(content)) + content)

    def get(self, kind):
        """Waits for a message of a kind."""
        found = b""
        while found != kind:
            found, size = struct.unpack(">cI", self.recv(5, socket.MSG_WAITALL))
            self.recv(size - 4, socket.MSG_WAITALL)

    def ask(self, text):
        self.put(b"Q", text.encode() + b"\0")


def notify_ms(place):
    """Returns the p50 in ms from a NOTIFY until another session has it."""
    with Session(place) as sender, Session(place) as listener:
        listener.ask("LISTEN bench")
        listener.get(b"Z")

        def once():
            time.sleep(EVENT_PAUSE_S)
            begun = time.perf_counter()
            sender.ask("NOTIFY bench")
            listener.get(b"A")
            taken = time.perf_counter() - begun
            sender.get(b"Z")
            return taken * 1_000

        return median(once, EVENTS)


def replicas(rows, _):
    with place() as here:
        rows.add_pairs(f"replicas: publications through {REPLICAS} processes, {REPLICA_CLIENTS} in flight (baseline: one process)",
                       turns(lambda: replica_rate(here, REPLICAS), lambda: replica_rate(here, 1), runs=3), "calls/s", ratio_at_least=0.9)
        rows.add_pairs("replicas: event at another process, p50 (baseline: a NOTIFY)",
                       turns(lambda: event_ms(here), lambda: notify_ms(here), runs=3), "ms", ratio_at_most=3)


def alone(rows, _):
    with place() as here:
        rows.add_pairs(f"store: write, {CLIENTS} in flight (baseline: pgbench, {CLIENTS} a transaction)",
                       turns(lambda: here.store(CLIENTS)[0], lambda: here.batches(CLIENTS)), "writes/s", ratio_at_least=0.9)
        rows.add_pairs("store: write, one in flight (baseline: pgbench, one)",
                       turns(lambda: here.store(1)[0], lambda: here.batches(1)), "writes/s", ratio_at_least=0.33)
        rows.add_pairs("store: one write (baseline: a bare commit)", turns(lambda: 1_000 / here.store(1)[0], here.bare_ms, runs=3), "ms",
                       ratio_at_most=3)
        here.measure(rows, "alone", 0.8, 0.65)
        rows.add_pairs("alone: one publication, p50 (baseline: a bare commit)",
                       turns(lambda: here.publications(1)[1], here.bare_ms, runs=3), "ms", ratio_at_most=3)


def with_standby(rows, _):
    with place() as here, standby(here.server):
        here.measure(rows, "synchronous standby", 0.8, 0.65)


def distant(rows, _):
    with place() as here, socket.create_server(("127.0.0.1", 0)) as listener:
        process = multiprocessing.Process(target=relay, args=(listener, f"{here.host}/.s.PGSQL.5432"), daemon=True)
        process.start()
        try:
            there = Place(here.server, "127.0.0.1", listener.getsockname()[1])
            name, _ = there.new()
            round_trip = 1_000 / there.pgbench(["SELECT 1;"], name)
            rows.add("distant: a query of nothing", round_trip, "ms")
            there.measure(rows, "distant", 0.5, 0.5)
        finally:
            process.kill()
            process.join()


if __name__ == "__main__":
    run(__doc__, {"alone": alone, "standby": with_standby, "distant": distant, "replicas": replicas})

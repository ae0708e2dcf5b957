"""Measures durable inserts and hot reads of the store, on SQLite and on a PostgreSQL server of its own. See scripts/bench."""

import itertools
import json
import pathlib
import re
import tempfile

from bench import PEERS, by_turns, output, run, turns
from postgresql_server import Server

CLIENTS, SECONDS = 64, 4
# The statements of StoreBench. Values are sent, as by the store.
VALUES = {"owner": "user", "title": "A title of a notification", "body": "x" * 400, "all": "all", "unread": "unread"}
INSERTS = ("INSERT INTO notifications (id, owner, title, body, created_at_ms) VALUES (:id::text || '-{0}', :owner, :title, :body, {0});",
           "INSERT INTO changes (id, owner, at_ms) VALUES (:id::text || '-{0}', :owner, {0});")
COUNTS = ("UPDATE counters SET value = value + 1 WHERE name = :all;", "UPDATE counters SET value = value + 1 WHERE name = :unread;")
LANE = "UPDATE store_lanes SET head = head + 1 WHERE lane = 0 RETURNING head;"


def once(place, order, clients, *names, seconds=SECONDS):
    """Returns the values of a run on a database: a new one in a folder, or that of an address."""
    found = json.loads(output(PEERS / "StoreBench", place, order, clients, seconds))
    return tuple(found[name] for name in names)


def in_folder(order, clients, *names):
    with tempfile.TemporaryDirectory() as folder:
        return once(folder, order, clients, *names)


def measure(order):
    def part(rows, _):
        names = ["rowsPerSecond", "writesPerCommit", "commitUs", "singleUs", "snapshotUs"]
        (rate, writes, commit, single, snapshot), (each, *_) = by_turns(
            lambda: in_folder(order, CLIENTS, *names), lambda: in_folder(order, 1, *names), runs=3)
        rows.add(f"insert, {order} ids, {CLIENTS} in flight (baseline: one in flight)", rate, "rows/s", each, at_least=30_000,
                 ratio_at_least=4)
        rows.add("  writes of a commit", writes, "writes")
        rows.add("  time of a commit", commit, "us")
        rows.add("read one row by key (baseline: with a snapshot)", single, "us", snapshot, at_most=6)
    return part


def postgresql(rows, _):
    """Writes of four statements on a server that waits for the disk, and the same transactions by pgbench."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(pathlib.Path(folder), fsync=True)
        try:
            def script(writes):
                """A pipelined transaction of writes with four statements each."""
                inserts = [insert.format(number) for number in range(writes) for insert in INSERTS]
                return ["\\set id random(1, 9000000000000000000)", "\\startpipeline", "BEGIN;", LANE, *inserts, *COUNTS * writes, "COMMIT;", "\\endpipeline"]

            names = (f"bench{number}" for number in itertools.count())

            def ours(clients, seconds=SECONDS):
                """The rate in a new database."""
                server.create(name := next(names))
                rate = once(f"postgresql://postgres@/{name}?host={folder}", "random", clients, "rowsPerSecond", seconds=seconds)[0]
                return rate, name

            def pgbench(writes):
                """The rate in a new database with the tables of the store."""
                _, name = ours(1, seconds=0.1)
                file = pathlib.Path(folder) / "script.sql"
                file.write_text("\n".join(script(writes)) + "\n")
                values = [part for name, value in VALUES.items() for part in ("-D", f"{name}={value}")]
                told = server.run("pgbench", "-h", folder, "-U", "postgres", "-n", "-M", "prepared", "-f", file, "-T", SECONDS, *values, name)
                return writes * float(re.search(r"^tps = ([0-9.]+)", told, re.M)[1])

            rows.add_pairs(f"PostgreSQL: write, {CLIENTS} in flight (baseline: pgbench, {CLIENTS} a transaction)",
                           turns(lambda: ours(CLIENTS)[0], lambda: pgbench(CLIENTS)), "writes/s", ratio_at_least=0.9)
            rows.add_pairs("PostgreSQL: write, one in flight (baseline: pgbench, one)",
                           turns(lambda: ours(1)[0], lambda: pgbench(1)), "writes/s", ratio_at_least=0.33)
        finally:
            server.stop()


if __name__ == "__main__":
    run(__doc__, {order: measure(order) for order in ("ordered", "random")} | {"postgresql": postgresql})

"""Measures durable inserts and hot reads of the store, on SQLite and on a PostgreSQL server of its own. See scripts/bench."""

import json
import pathlib
import re
import tempfile

from bench import PEERS, by_turns, output, run, turns
from postgresql_server import Server

CLIENTS, SECONDS = 64, 4
INSERT = ("INSERT INTO notifications (id, owner, title, body, created_at_ms) VALUES (:id::text || '-{}', 'user', "
          f"'A title of a notification', '{'x' * 400}', {{}});")
LANE = "UPDATE store_lanes SET head = head + 1 WHERE lane = 0 RETURNING head;"


def once(place, order, clients, *names):
    """Returns the values of a run on a database: a new one in a folder, or that of an address."""
    found = json.loads(output(PEERS / "StoreBench", place, order, clients, SECONDS))
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
    """The same inserts on a server that waits for the disk, beside pgbench with as many in one pipelined transaction."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(pathlib.Path(folder), fsync=True)
        try:
            server.create("bench")
            address = f"postgresql://postgres@/bench?host={folder}"
            once(address, "random", 1, "rowsPerSecond")
            draw = "\\set id random(1, 9000000000000000000)"
            inserts = [INSERT.format(number, number) for number in range(CLIENTS)]
            batch = [draw, "\\startpipeline", "BEGIN;", LANE, *inserts, "COMMIT;", "\\endpipeline"]

            def pgbench(name, lines, rows_each):
                script = pathlib.Path(folder) / name
                script.write_text("\n".join(lines) + "\n")
                told = server.run("pgbench", "-h", folder, "-U", "postgres", "-n", "-M", "prepared", "-f", script, "-T", SECONDS, "bench")
                return rows_each * float(re.search(r"^tps = ([0-9.]+)", told, re.M)[1])

            def ours(clients):
                return once(address, "random", clients, "rowsPerSecond")[0]

            rows.add_pairs(f"PostgreSQL: insert, {CLIENTS} in flight (baseline: pgbench, {CLIENTS} in one transaction)",
                           turns(lambda: ours(CLIENTS), lambda: pgbench("batch.sql", batch, CLIENTS)), "rows/s", ratio_at_least=0.9)
            rows.add_pairs("PostgreSQL: insert, one in flight (baseline: pgbench, one insert)",
                           turns(lambda: ours(1), lambda: pgbench("one.sql", [draw, inserts[0]], 1)), "rows/s", ratio_at_least=0.33)
        finally:
            server.stop()


if __name__ == "__main__":
    run(__doc__, {order: measure(order) for order in ("ordered", "random")} | {"postgresql": postgresql})

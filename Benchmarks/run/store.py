"""Measures durable inserts and hot reads of the store on SQLite. See scripts/bench."""

import json
import tempfile

from bench import PEERS, by_turns, output, run

CLIENTS, SECONDS = 64, 4


def once(order, clients, *names):
    with tempfile.TemporaryDirectory() as folder:
        found = json.loads(output(PEERS / "StoreBench", folder, order, clients, SECONDS))
        return tuple(found[name] for name in names)


def measure(order):
    def part(rows, _):
        names = ["rowsPerSecond", "writesPerCommit", "commitUs", "singleUs", "snapshotUs"]
        (rate, writes, commit, single, snapshot), (each, *_) = by_turns(
            lambda: once(order, CLIENTS, *names), lambda: once(order, 1, *names), runs=3)
        rows.add(f"insert, {order} ids, {CLIENTS} in flight (baseline: one in flight)", rate, "rows/s", each, at_least=30_000,
                 ratio_at_least=4)
        rows.add("  writes of a commit", writes, "writes")
        rows.add("  time of a commit", commit, "us")
        rows.add("read one row by key (baseline: with a snapshot)", single, "us", snapshot, at_most=6)
    return part


if __name__ == "__main__":
    run(__doc__, {order: measure(order) for order in ("ordered", "random")})

"""Counts the instructions of fixed work with callgrind against Benchmarks/guard.json. See scripts/bench.

Instruction counts are repeatable on a noisy machine, times are not. Each kind of work runs N and 2 N times: the difference excludes
the start of the program. A count that differs from the committed one by more than TOLERANCE fails, in either direction. An
improvement must be committed as well (`--update`), or the next regression would not be detected.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bench import OURS, ROOT, Rows

FILE = ROOT / "Benchmarks" / "guard.json"
TOLERANCE = 0.05
# Large enough that start and end of the program are negligible, and small enough to take only seconds.
COUNTS = {"scan": 10, "decode": 1_000, "encode": 2_000, "dispatch": 1_600, "forward": 800, "write": 60, "read": 1_000}
# Without this, hashes have a different seed in every process, and tables are traversed in a different order.
ENVIRONMENT = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
# For servers, only the handling of received bytes counts: the number of wake-ups, and the timers, depend on the clock.
SERVERS = {"dispatch", "forward"}


def reading(program):
    """Returns the symbol of the function in which an event loop reads from a connection and handles the bytes."""
    symbols = subprocess.run(["nm", str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    for ending in ("AA0C0C_Tg5Tm", "AA0C0C_Tg5"):
        found = [name for name in symbols if re.fullmatch(rf"\$s8NIOPosix17BaseSocketChannelC9readable0\w*{ending}", name)]
        if len(found) == 1:
            return found[0]
    raise RuntimeError("the symbol of the function that reads a connection has changed: look for readable0 in the output of nm")


def instructions(program, kind, count):
    """Returns the user-space instructions of one run, in all threads."""
    part = [f"--toggle-collect={reading(program)}"] if kind in SERVERS else []
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *part, str(program), kind, str(count)],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode or not found:
        raise RuntimeError(f"{kind} {count}: exit {result.returncode}: {result.stderr[-1500:]}")
    return int(found[1])


def stripped(folder):
    """Returns a copy of the program without debug information, which valgrind 3.19 cannot read."""
    program = pathlib.Path(folder) / "guarded-work"
    shutil.copy(OURS / "guarded-work", program)
    subprocess.run(["strip", "--strip-debug", str(program)], check=True)
    return program


def measure():
    """Returns the instructions per unit of work, by kind."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        program = stripped(folder)
        runs = {(kind, times): pool.submit(instructions, program, kind, times * count)
                for kind, count in COUNTS.items() for times in (1, 2)}
        return {kind: (runs[kind, 2].result() - runs[kind, 1].result()) / count for kind, count in COUNTS.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write the counts to Benchmarks/guard.json before comparing them")
    arguments = parser.parse_args()
    found = measure()
    if arguments.update:
        FILE.write_text(json.dumps({kind: round(count) for kind, count in found.items()}, indent=2) + "\n")
    known = json.loads(FILE.read_text())
    rows = Rows()
    rows.head()
    for kind, count in found.items():
        if kind not in known:
            raise RuntimeError(f"{FILE.relative_to(ROOT)} has no {kind}: run scripts/bench guard --update")
        rows.add(f"{kind} (baseline: committed)", count, "instr.", known[kind], ratio_at_least=1 - TOLERANCE,
                 ratio_at_most=1 + TOLERANCE)
    rows.write(arguments.json)
    missed = [row["name"] for row in rows.rows if not row["met"]]
    if missed:
        sys.exit(f"counts differ from the committed ones: {', '.join(missed)}. Find out why; if the change is intended, run scripts/bench guard --update")


if __name__ == "__main__":
    main()

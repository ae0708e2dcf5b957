"""Counts the instructions of fixed work with callgrind against Benchmarks/guard.json. See scripts/bench.

Instructions repeat on a noisy machine, times do not. Each kind of work is done N and 2 N times: the difference is without the
start of the program. What is more than TOLERANCE away from its committed count fails, in either direction: what became cheaper is
to be committed, too (`--update`), or its next regression would not show.
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
# Such that the work is many times the noise of start and end, and the whole takes seconds.
COUNTS = {"scan": 10, "decode": 1_000, "encode": 2_000, "dispatch": 1_600, "forward": 800, "write": 60}
# Hashes are salted anew in every process otherwise, and tables are walked through differently.
ENVIRONMENT = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
# Of servers what counts is what a loop does with bytes that came: how often it wakes, and for which timers, depends on the clock.
SERVERS = {"dispatch", "forward"}


def reading(program):
    """The symbol of the function in which a loop reads a connection and handles what it has read."""
    symbols = subprocess.run(["nm", str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    for ending in ("AA0C0C_Tg5Tm", "AA0C0C_Tg5"):
        found = [name for name in symbols if re.fullmatch(rf"\$s8NIOPosix17BaseSocketChannelC9readable0\w*{ending}", name)]
        if len(found) == 1:
            return found[0]
    raise RuntimeError("the function that reads a connection has another name: look for readable0 in nm's list")


def instructions(program, kind, count):
    """Of one run, all threads, without those of the kernel."""
    part = [f"--toggle-collect={reading(program)}"] if kind in SERVERS else []
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *part, str(program), kind, str(count)],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode or not found:
        raise RuntimeError(f"{kind} {count}: exit {result.returncode}: {result.stderr[-1500:]}")
    return int(found[1])


def stripped(folder):
    """The program without its debug information, which valgrind 3.19 cannot read."""
    program = pathlib.Path(folder) / "guarded-work"
    shutil.copy(OURS / "guarded-work", program)
    subprocess.run(["strip", "--strip-debug", str(program)], check=True)
    return program


def measure():
    """Instructions of one piece of work, by kind."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        program = stripped(folder)
        runs = {(kind, times): pool.submit(instructions, program, kind, times * count)
                for kind, count in COUNTS.items() for times in (1, 2)}
        return {kind: (runs[kind, 2].result() - runs[kind, 1].result()) / count for kind, count in COUNTS.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="writes the counts to Benchmarks/guard.json instead of judging them")
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
        sys.exit(f"not what is committed: {', '.join(missed)}. Find out why; where it is meant: scripts/bench guard --update")


if __name__ == "__main__":
    main()

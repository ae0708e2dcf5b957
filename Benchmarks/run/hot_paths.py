"""Profiles the four hottest paths: the unary read, the durable write, the gateway's forwarding and the fan-out to watches.
See scripts/bench.

Samples the server under load with perf's software clock. Prints the share of time per category, and the functions with the highest
inclusive time. --folded DIR stores the stacks in the folded format of flame graph tools.
"""

import collections
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

from bench import ECHO, LOOP, NOTIFICATIONS, gateway, load, notifications, output, run, start_tester, tester_report

HERTZ, SECONDS = 997, 5
RUNTIME = re.compile(r"^(_?swift_|_?swift::|malloc|free|cfree|calloc|realloc|_int_|__libc_m|posix_memalign|tc_|je_|mi_|unlink_chunk)")
# Only the suite's own functions are listed. A stack with SQLite on top ends there, because SQLite has no frame
# pointers.
OWN = re.compile(r"\$s\d+(Campanile|Gateway|Notifications)")


def module(symbol, place):
    """Returns the category of a stack's innermost function."""
    if "kernel" in place or place == "[vdso]":
        return "kernel: sockets, files, scheduling" if place != "[vdso]" else "reading the clock"
    if "libsqlite" in place or symbol.startswith("sqlite3") or "[.] sqlite" in symbol:
        return "SQLite"
    if RUNTIME.match(symbol):
        return "reference counts and memory"
    found = re.match(r"\$s(\d+)", symbol)
    if found:
        name = symbol[found.end():found.end() + int(found[1])]
        return {"NIOCore": "SwiftNIO", "NIOPosix": "SwiftNIO", "CNIOLinux": "SwiftNIO"}.get(name, name)
    if symbol.startswith("$s"):
        return "Swift's library"
    if re.match(r"_?_?mem(cpy|move|set|cmp)", symbol):
        return "copying and comparing bytes"
    return "rest"


def stacks(data):
    """Yields the stacks of a recording, from the outermost to the innermost function, each with its binary."""
    text = output("perf", "script", "--no-inline", "-F", "ip,sym,dso", "-i", data, stderr=subprocess.DEVNULL, errors="replace")
    for block in text.split("\n\n"):
        frames = []
        for line in block.strip().splitlines():
            found = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
            if found:
                frames.append((re.sub(r"\+0x[0-9a-f]+$", "", found[1]), os.path.basename(found[2]) if "[" not in found[2] else found[2]))
        if frames:
            yield frames[::-1]


def plain(symbols):
    """Returns the demangled names of Swift symbols."""
    text = output("swift", "demangle", "--simplified", "--compact", input="\n".join(symbols))
    return dict(zip(symbols, (line.strip() for line in text.splitlines())))


def measure(rows, title, process, busy, options):
    """Records a process while `busy` runs."""
    with tempfile.TemporaryDirectory() as own:
        data = pathlib.Path(own) / "perf.data"
        worker = threading.Thread(target=busy)
        worker.start()
        time.sleep(1)
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HERTZ), "-g", "-o", str(data), "-p", str(process.pid), "--",
                        "sleep", str(SECONDS)], check=True, stderr=subprocess.DEVNULL)
        worker.join()
        leaves, within, folded = collections.Counter(), collections.Counter(), collections.Counter()
        for stack in stacks(data):
            leaves[module(*stack[-1])] += 1
            for symbol in {symbol for symbol, _ in stack}:
                within[symbol] += 1
            folded[tuple(symbol for symbol, _ in stack)] += 1
    total = sum(leaves.values())
    if total < 200:
        raise RuntimeError(f"{title}: {total} samples only")
    for name, count in leaves.most_common(9):
        rows.add(f"{title}: {name}", 100 * count / total, "%")
    for symbol, name in plain([symbol for symbol, _ in within.most_common(400) if OWN.match(symbol)][:24]).items():
        print(f"    {100 * within[symbol] / total:5.1f} %  in or below {name[:120]}", flush=True)
    if options.folded:
        folder = pathlib.Path(options.folded)
        folder.mkdir(parents=True, exist_ok=True)
        known = plain(sorted({symbol for stack in folded for symbol in stack}))
        text = "".join(f"{';'.join(known[symbol].replace(';', ',') for symbol in stack)} {count}\n" for stack, count in folded.items())
        (folder / f"{title.replace(' ', '-')}.folded").write_text(text)


LONG = {"pinned": False, "duration_ms": (SECONDS + 2) * 1000}


def reads_and_writes(rows, options):
    with notifications(*LOOP) as one:
        measure(rows, "unary read", one.process, lambda: load(one.rpc, one.read, **LONG), options)
        measure(rows, "durable write", one.process, lambda: load(one.rpc, one.write, **LONG), options)


def forward(rows, options):
    with gateway() as one:
        measure(rows, "gateway forward", one.process, lambda: load(one.rpc, ECHO, **LONG), options)


def fan_out(rows, options):
    """Profiles a thousand watches of one user, with 40 publications per second."""
    with notifications("--watches-per-user-max", "10000", *LOOP) as one:
        start = lambda method, params, *more: start_tester(NOTIFICATIONS + method, params, *one.tester, *more, prefix=[])

        def busy():
            watching = start("WatchNotifications", {}, "--concurrency", 1000, "--duration", f"{SECONDS + 3}s")
            time.sleep(0.7)
            tester_report(start("CreateNotification", one.draft, "--rate", 40, "--duration", f"{SECONDS + 1}s"))
            received = tester_report(watching)["messagesReceived"]
            print(f"    {received / (SECONDS + 3):,.0f} events a second", flush=True)

        measure(rows, "watch fan-out", one.process, busy, options)


if __name__ == "__main__":
    run(__doc__, {"notifications": reads_and_writes, "forward": forward, "fan-out": fan_out},
        folded=("", "folder for the folded stacks"))

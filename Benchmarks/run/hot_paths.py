"""Profiles the four hottest paths: the unary read, the durable write, the gateway's forwarding and the fan-out to watches.
See scripts/bench.

Samples the server under load with perf's software clock. Prints the share of time per category, and the functions with the highest
inclusive time. --folded DIR stores the stacks in the folded format of flame graph tools.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

from bench import OURS, Rows, hello, load, service
from compare import ask, draft, request
from rpc import ECHO, LOOP, TOKEN

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
    text = subprocess.run(["perf", "script", "--no-inline", "-F", "ip,sym,dso", "-i", str(data)], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, errors="replace").stdout
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
    text = subprocess.run(["swift", "demangle", "--simplified", "--compact"], input="\n".join(symbols), check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return dict(zip(symbols, (line.strip() for line in text.splitlines())))


def measure(rows, title, process, busy, folder):
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
    if folder:
        known = plain(sorted({symbol for stack in folded for symbol in stack}))
        text = "".join(f"{';'.join(known[symbol].replace(';', ',') for symbol in stack)} {count}\n" for stack, count in folded.items())
        (folder / f"{title.replace(' ', '-')}.folded").write_text(text)


def notifications(rows, folder):
    with service("campanile-notifications", *LOOP, token=TOKEN) as (process, ports, _):
        rpc = ports["rpc"]
        bucket = ask(rpc, "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
        one = ask(rpc, "CreateNotification", {"notification": draft(bucket)})["notification"]["id"]
        long = {"hello": hello(TOKEN), "pinned": False, "duration_ms": (SECONDS + 2) * 1000}
        measure(rows, "unary read", process, lambda: load(rpc, request("GetNotification", {"notificationId": one}), **long), folder)
        create = request("CreateNotification", {"notification": draft(bucket)})
        measure(rows, "durable write", process, lambda: load(rpc, create, **long), folder)


def forward(rows, folder):
    with service("campanile-echo", *LOOP, token=TOKEN) as (_, ports, _):
        backends = f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{ports['rpc']}"
        with service("campanile-gateway", "--backends", backends, *LOOP, token=TOKEN) as (process, own, _):
            time.sleep(0.5)
            measure(rows, "gateway forward", process,
                    lambda: load(own["rpc"], ECHO, hello=hello(TOKEN), pinned=False, duration_ms=(SECONDS + 2) * 1000), folder)


def fan_out(rows, folder):
    """Profiles a thousand watches of one user, with 40 publications per second."""
    with tempfile.TemporaryDirectory() as own, contextlib.ExitStack() as stack:
        process, ports, _ = stack.enter_context(service("campanile-notifications", "--watches-per-user-max", "10000", *LOOP, token=TOKEN))
        token = pathlib.Path(own) / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        bucket = ask(ports["rpc"], "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("CAMPANILE_")}
        start = lambda method, params, *more: subprocess.Popen(
            [str(OURS / "campanile"), "load", f"campanile.notifications.v1.NotificationsService/{method}", json.dumps(params), "--address",
             f"127.0.0.1:{ports['rpc']}", "--internal-token-file", str(token), "--as", "user/bench", "--output", "json", *more],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean, text=True)

        def busy():
            watching = start("WatchNotifications", {}, "--concurrency", "1000", "--duration", f"{SECONDS + 3}s")
            time.sleep(0.7)
            publishing = start("CreateNotification", {"notification": draft(bucket)}, "--rate", "40", "--duration", f"{SECONDS + 1}s")
            publishing.communicate(timeout=60)
            report = json.loads(watching.communicate(timeout=60)[0])
            print(f"    {report['messagesReceived'] / (SECONDS + 3):,.0f} events a second", flush=True)

        measure(rows, "watch fan-out", process, busy, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--folded", type=pathlib.Path, help="folder for the folded stacks")
    arguments = parser.parse_args()
    if arguments.folded:
        arguments.folded.mkdir(parents=True, exist_ok=True)
    rows = Rows()
    rows.head()
    for path in (notifications, forward, fan_out):
        path(rows, arguments.folded)
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

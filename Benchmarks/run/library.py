"""Compares the service of Examples/service on CampanileRPC, grpc-swift-2 and Hummingbird, and counts the cost of interceptors. See scripts/bench.

The services are built alone, with the release flags of the suite. S: both ends on one core.
"""

import functools
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from bench import ONE_CORE, ROOT, Peer, load, output, peer, rss_mb, run, turns, wrk
from guard import ENVIRONMENT, reading

FOLDER = ROOT / "Benchmarks" / "Library"
SCRATCH = ROOT / "Benchmarks" / ".build" / "library"
# By folder; a folder must not have the name of a package.
SERVICES = {"Campanile": "Campanile", "GRPC": "grpc-swift-2", "HTTP": "Hummingbird"}
GREET = {"jsonrpc": "2.0", "id": "@ID@", "method": "hello.v1.HelloService/Greet", "params": {"name": "Ada"}}
# A stream that ends at once.
COUNT_DOWN = {**GREET, "method": "hello.v1.HelloService/CountDown", "params": {"from": 0}}
CALLS = 20_000
# Has a program write its port at once.
LINES = ["stdbuf", "-oL"]


def build(name, *flags, product="Hello"):
    subprocess.run(["swift", "build", "--package-path", FOLDER / name, "--scratch-path", SCRATCH / name, "--product", product, *flags], check=True,
                   stdout=sys.stderr)
    return SCRATCH / name / ("release" if flags else "debug") / product


def released(name, product="Hello"):
    return build(name, *os.environ["CAMPANILE_RELEASE_FLAGS"].split(), product=product)


def lines_of_code(name):
    """Returns the lines that a user writes: the contract and the code, without blank lines and comments."""
    files = [path for path in (FOLDER / name / "Sources").iterdir() if path.suffix in (".swift", ".proto")]
    return sum(bool(line.strip()) and not line.strip().startswith("//") for path in files for line in path.read_text().splitlines())


def h2load(port):
    with tempfile.NamedTemporaryFile() as body:
        # A message of gRPC: no compression, five bytes, field 1 with "Ada".
        pathlib.Path(body.name).write_bytes(b"\0\0\0\0\5\x0a\3Ada")
        out = output(*ONE_CORE, "h2load", "--clients=1", "--max-concurrent-streams=64", f"--requests={CALLS}", f"--data={body.name}",
                     "--header=content-type: application/grpc", "--header=te: trailers",
                     f"http://127.0.0.1:{port}/hello.v1.HelloService/Greet")
    # h2load ignores trailers: only a response with data is a success.
    if f"{CALLS} succeeded" not in out or int(re.search(r"\((\d+)\) data", out)[1]) < CALLS * len("Hello, Ada!"):
        raise RuntimeError(f"h2load: {out}")
    return float(re.search(r"([\d.]+) req/s", out)[1])


LOADS = {"Campanile": lambda port: load(port, GREET, token=None)[0], "GRPC": h2load,
         "HTTP": lambda port: wrk(f"http://127.0.0.1:{port}/greet", {"name": "Ada"})[0]}


def services(rows, options):
    ours, *others = SERVICES
    programs = {name: released(name) for name in SERVICES}
    values = {"lines of code": ("lines", {name: lines_of_code(name) for name in SERVICES})}
    if options.debug:
        values["clean debug build"] = ("s", {name: clean_build_s(name) for name in SERVICES})
    sizes = {}
    for name, program in programs.items():
        with tempfile.NamedTemporaryFile() as copy:
            subprocess.run(["strip", "-o", copy.name, program], check=True)
            sizes[name] = os.path.getsize(copy.name) / 1e6
    values["stripped program, Swift linked statically"] = ("MB", sizes)
    for what, (unit, found) in values.items():
        for name in others:
            rows.add(f"{what} (baseline: {SERVICES[name]})", found[ours], unit, found[name])
    for name in others:
        with peer(*LINES, programs[ours]) as (our_port, ), peer(*LINES, programs[name]) as (port, ):
            rows.add_pairs(f"Greet, 64 in flight, load generators in C, S (baseline: {SERVICES[name]})",
                           turns(lambda: LOADS[ours](our_port), lambda: LOADS[name](port)), "calls/s")
    memory = {name: rss_after(name, program) for name, program in programs.items()}
    for name in others:
        rows.add(f"resident memory after {CALLS:,} calls or more (baseline: {SERVICES[name]})", memory[ours], "MB", memory[name])


def clean_build_s(name):
    subprocess.run(["swift", "package", "--package-path", FOLDER / name, "--scratch-path", SCRATCH / name, "resolve"], check=True,
                   stdout=sys.stderr)
    shutil.rmtree((SCRATCH / name / "debug").resolve(), ignore_errors=True)
    began = time.monotonic()
    build(name)
    return time.monotonic() - began


def rss_after(name, program):
    process = subprocess.Popen([*LINES, program], stdout=subprocess.PIPE, text=True)
    try:
        LOADS[name](int(process.stdout.readline()))
        return rss_mb(process.pid)
    finally:
        process.kill()
        process.wait()


def interceptors(rows, _):
    program = released("Campanile")
    with peer(*LINES, program, 0) as (bare, ), peer(*LINES, program, 1) as (one, ), peer(*LINES, program, 5) as (five, ):
        pairs = turns(*(lambda port=port: load(port, GREET, token=None)[0] for port in (bare, one, five)))
    for index, count in ((1, "one"), (2, "five")):
        rows.add_pairs(f"Greet with {count} no-op interceptor{'s' if index > 1 else ''}, S (baseline: none)",
                       [(turn[index], turn[0]) for turn in pairs], "calls/s")
    caller, both = (released("Campanile", product) for product in ("HelloCalls", "Streams"))
    with (tempfile.TemporaryDirectory() as folder, peer(*LINES, program, 0) as (port, ),
          peer(*LINES, both, 0) as (stream_port, )):
        server, client, streams = (pathlib.Path(folder) / path.name for path in (program, caller, both))
        for copy, original in ((server, program), (client, caller), (streams, both)):
            subprocess.run(["strip", "--strip-debug", "-o", copy, original], check=True)
        instructions = ["callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={reading(server)}"], r"Collected : ([\d,]+)"
        allocations = ["memcheck", "--leak-check=no"], r"total heap usage: ([\d,]+) allocs"
        counts = {
            "instructions of the server, Greet, a call": ("instr.", lambda count: serving(server, count, frames(GREET), *instructions)),
            "allocations of the server, Greet, a call": ("alloc.", lambda count: serving(server, count, frames(GREET), *allocations)),
            "allocations of the server, CountDown, a call": ("alloc.", lambda count: serving(server, count, frames(COUNT_DOWN), *allocations))}
        for method in ("Greet", "CountDown"):
            counts[f"allocations of the client, {method}, a call"] = (
                "alloc.", lambda count, method=method: calling(client, port, count, lambda calls: (calls, method), *allocations))
        for method, what in itertools.product(("Collect", "Chat"), STREAMED):
            arguments = functools.partial(STREAMED[what], method)
            counts[f"allocations of the server, {method}, {what}"] = (
                "alloc.", lambda count, arguments=arguments: serving(streams, count, stream_calls(both, arguments), *allocations))
            counts[f"allocations of the client, {method}, {what}"] = (
                "alloc.", lambda count, arguments=arguments: calling(streams, stream_port, count, arguments, *allocations))
        for what, (unit, measured) in counts.items():
            none, *more = map(measured, (0, 1, 2, 5))
            for count, found in zip(("one", "two", "five"), more):
                rows.add(f"  {what} with {count} (baseline: none)", found, unit, none)


# The arguments of the client in Streams: a number of calls without a message, or a call with a number of messages.
STREAMED = {"a call": lambda method, count: (count, 0, method), "a message": lambda method, count: (1, count, method)}


def frames(call):
    """Returns a function that makes a number of calls to the server at a port, sixteen at once."""
    def make(port, count):
        with Peer(port, timeout_s=60) as link:
            for _ in range(count // 16):
                link.send_bytes(b"".join(Peer.frame(call | {"id": number}) for number in range(16)))
                for _ in range(16):
                    assert "result" in link.receive()
    return make


def stream_calls(program, arguments):
    """Returns a function that has a client without interceptors make a number of calls, or send a number of messages."""
    return lambda port, count: subprocess.run([program, str(port), "0", *map(str, arguments(count))], check=True, timeout=300)


def serving(program, interceptor_count, make, tool, pattern):
    """Returns what one of Valgrind's tools counts while the server handles a call, or a message: the difference of two runs, without the
    start. `make` makes a number of them."""
    totals = []
    for count in (800, 1_600):
        process = valgrind(tool, program, interceptor_count)
        make(int(process.stdout.readline()), count)
        process.terminate()
        totals.append(counted(process, pattern))
    return (totals[1] - totals[0]) / 800


def calling(program, port, interceptor_count, arguments, tool, pattern):
    """Returns what one of Valgrind's tools counts while the client makes a call, or sends a message: the difference of two runs, without
    the start. `arguments` has the program's for a number of them."""
    totals = []
    for count in (500, 1_000):
        process = valgrind(tool, program, port, interceptor_count, *arguments(count))
        totals.append(counted(process, pattern))
        if process.returncode:
            raise RuntimeError(f"the client failed with {process.returncode}")
    return (totals[1] - totals[0]) / 500


def valgrind(tool, program, *arguments):
    return subprocess.Popen([*LINES, "valgrind", f"--tool={tool[0]}", *tool[1:], program, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)


def counted(process, pattern):
    return int(re.search(pattern, process.communicate(timeout=300)[1])[1].replace(",", ""))


if __name__ == "__main__":
    run(__doc__, {"services": services, "interceptors": interceptors}, debug=(0, "1 measures clean debug builds as well"))

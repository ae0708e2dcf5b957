"""Functions shared by all benchmarks: processes pinned to cores, rows with baselines and targets, a table and a JSON file."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build-release" / "release"))
PEERS = pathlib.Path(os.environ.get("CAMPANILE_PEERS_BIN", ROOT / "Benchmarks" / ".build" / "release"))
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
ONE_CORE = ["taskset", "-c", "0"]


class Rows:
    """Rows of a report. `at_least` and `at_most` are targets for the value, `ratio_*` for value / baseline."""

    def __init__(self):
        self.rows = []

    def add(self, name, value, unit, baseline=None, at_least=None, at_most=None, ratio_at_least=None, ratio_at_most=None,
            ratio=None):
        """Adds and prints a row. Pass `ratio` if it was measured in pairs, which is more stable than the ratio of two medians."""
        ratio = ratio or (value / baseline if baseline else None)
        targets, met = [], []
        for sign, limit, actual in ((">=", at_least, value), ("<=", at_most, value),
                                    (">= x", ratio_at_least, ratio), ("<= x", ratio_at_most, ratio)):
            if limit is not None:
                targets.append(f"{sign} {limit:,}")
                met.append(actual is not None and (actual >= limit if ">" in sign else actual <= limit))
        row = {"name": name, "value": round(value, 3), "unit": unit, "baseline": round(baseline, 3) if baseline else None,
               "ratio": round(ratio, 3) if ratio else None, "target": ", ".join(targets) or None, "met": all(met) if met else None}
        self.rows.append(row)
        show = lambda x: "-" if x is None else (f"{x:,.2f}" if isinstance(x, float) else str(x))
        verdict = {True: "met", False: "MISSED", None: ""}[row["met"]]
        print(f"{name:<62} {show(row['value']):>14} {unit:<8} {show(row['baseline']):>14} {show(row['ratio']):>9}  "
              f"{row['target'] or '':<24} {verdict}", flush=True)

    @staticmethod
    def head():
        print(f"{'name':<62} {'value':>14} {'unit':<8} {'baseline':>14} {'ratio':>9}  {'target':<24} met", flush=True)

    def write(self, path):
        if path:
            pathlib.Path(path).write_text(json.dumps(self.rows, indent=1) + "\n")


def median(measure, runs=3):
    """Returns the median of at least three runs, each of which returns a number or a tuple of numbers."""
    return median_of([measure() for _ in range(max(3, runs))])


def median_of(results):
    if isinstance(results[0], tuple):
        return tuple(statistics.median(column) for column in zip(*results))
    return statistics.median(results)


def by_turns(*measures, runs=5):
    """Returns the medians of several measures, numbers or tuples of numbers. They run in turns, because the machine's speed
    drifts from minute to minute."""
    results = [[] for _ in measures]
    for _ in range(max(3, runs)):
        for measure, column in zip(measures, results):
            column.append(measure())
    return [median_of(column) for column in results]


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def rss_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS")


@contextlib.contextmanager
def peer(name, *arguments, pinned=True, prefix=()):
    """Runs a baseline server, which prints its port. Yields the process and the port."""
    process = subprocess.Popen([*prefix, *(ONE_CORE if pinned else []), str(PEERS / name), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


# A second is disturbed if more than this number of its samples are below this share of the core's full speed. One of
# fifty may be an accident.
SLOW_SAMPLES_MAX, WHOLE_SPEED_SHARE = 1, 0.9


@contextlib.contextmanager
def core_speed(seconds):
    """Samples the speed of the pinned core while the block runs. Yields a list that contains (Unix time, speed) per sample after the block."""
    samples = []
    process = subprocess.Popen([*ONE_CORE, str(PEERS / "CoreSpeed"), str(seconds)], stdout=subprocess.PIPE, text=True)
    try:
        yield samples
    finally:
        process.terminate()
        lines = process.communicate()[0].splitlines()
        samples += [(float(at), float(speed)) for at, _, speed in (line.partition(" ") for line in lines) if speed]


def whole_speed(samples):
    """Returns the speed of the core while no other guest uses it. The few faster samples are clock errors."""
    speeds = sorted(speed for _, speed in samples)
    return speeds[len(speeds) * 95 // 100] if speeds else 0


def is_disturbed(start, end, samples, whole):
    """Returns whether another guest slowed the core in this interval. Missing samples do not count: the measured process may have delayed them."""
    slow = sum(start <= at < end and speed < WHOLE_SPEED_SHARE * whole for at, speed in samples)
    return slow > SLOW_SAMPLES_MAX


@contextlib.contextmanager
def service(name, *arguments, pinned=True, directory=None, token=None, prefix=()):
    """Runs one of the suite's executables. Yields the process, its ports and the seconds from start to ready.

    `token` is the internal token. It is passed in the environment, because a command line is not secret.
    """
    with tempfile.TemporaryDirectory() as own:
        home = pathlib.Path(directory or own)
        ready = home / f"{name}.ready"
        ready.unlink(missing_ok=True)
        with open(home / f"{name}.log", "ab") as log:
            started = time.monotonic()
            process = subprocess.Popen(
                [*prefix, *(ONE_CORE if pinned else []), str(OURS / name), "--port", "0", "--http-port", "0", "--ready-file", str(ready),
                 "--log-level", "warning", "--data-dir", str(home), *arguments],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                env={**os.environ, **({"CAMPANILE_INTERNAL_TOKEN": token} if token else {})})
        try:
            while not ready.exists():
                if process.poll() is not None or time.monotonic() - started > 30:
                    raise RuntimeError((home / f"{name}.log").read_text()[-2000:])
                time.sleep(0.001)
            yield process, json.loads(ready.read_text()), time.monotonic() - started
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def load(port, request, connections=1, in_flight=64, duration_ms=2000, hello=None, pinned=True, warmup_ms=300):
    """Runs the frame load generator. Returns calls per second, p50 and p99 in microseconds. Raises if a call failed.

    The requests of a list are sent in turn.
    """
    with tempfile.TemporaryDirectory() as own:
        text = pathlib.Path(own) / "request.json"
        if isinstance(request, dict):
            request = [request]
        if isinstance(request, list):
            request = "\n".join(json.dumps(one) for one in request).replace('"@ID@"', "@ID@")
        text.write_text(request)
        command = [*(ONE_CORE if pinned else []), str(PEERS / "FrameLoad"), str(port), str(connections), str(in_flight),
                   str(warmup_ms), str(duration_ms), str(text)]
        if hello:
            (pathlib.Path(own) / "hello.json").write_text(json.dumps(hello))
            command.append(str(pathlib.Path(own) / "hello.json"))
        result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    if result["errors"]:
        raise RuntimeError(f"{result['errors']} of {result['calls']} calls failed")
    return result["calls"] / result["seconds"], result["p50Us"], result["p99Us"]


def hello(token):
    return {"jsonrpc": "2.0", "id": 0, "method": "rpc.hello", "params": {"protocol": "1", "agent": "bench", "token": token}}

"""Benchmarks each service under a mix of reads, writes and watches, alone and then all at once through the gateway. See scripts/bench.

The mixes are defined in Benchmarks/scenarios/*.json: the setup, and the parts that `campanile load` runs concurrently.
"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

from bench import OURS, ROOT, run, start_tester, tester_report

SCENARIOS = ROOT / "Benchmarks" / "scenarios"


class Running:
    """A dedicated `campanile up`."""

    def __init__(self, folder, prefix=()):
        self.folder = pathlib.Path(folder)
        self.log = open(self.folder / "up.log", "wb")
        self.process = subprocess.Popen(
            [*prefix, OURS / "campanile", "up", "--data-dir", self.folder / "data", "--port-base", "0"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True)

    def __enter__(self):
        limit = time.monotonic() + 60
        while not (self.folder / "data" / "endpoints.json").exists():
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError((self.folder / "up.log").read_text(errors="replace")[-2000:])
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def run(self, *arguments, key=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CAMPANILE_")}
        if key:
            environment["CAMPANILE_KEY"] = key
        return subprocess.run([OURS / "campanile", *arguments, "--data-dir", self.folder / "data"], env=environment, check=True,
                              stdout=subprocess.PIPE, text=True).stdout

    def key(self, principal):
        """Creates a key for the principal. Returns None for the administrator, whose key is the default."""
        return None if principal == "admin" else self.run("keys", "create", principal, "--secret-only").strip()


def filled(value, saved, n):
    """Returns a request as text. Replaces `${n}` by the turn's number, and `${name}` by the values saved in the setup, in turn."""
    text = json.dumps(value).replace("${n}", str(n))
    for name, values in saved.items():
        text = text.replace("${" + name + "}", values[n % len(values)])
    return text


def set_up(running, scenario, key):
    saved = {}
    for step in scenario["setup"]:
        for n in range(step.get("times", 1)):
            reply = json.loads(running.run("call", step["method"], filled(step["request"], saved, n), key=key))
            for name, path in step.get("save", {}).items():
                value = reply
                for member in path.split("."):
                    value = value[member]
                saved.setdefault(name, []).append(value)
    return saved


def directly(scenario):
    """Returns the options for calling a service as a principal without the gateway."""
    if scenario["principal"] == "admin":
        return ["--target", scenario["service"], "--as", "service/bench", "--header", "campanile-scopes:admin"]
    return ["--target", scenario["service"], "--as", scenario["principal"]]


def start(running, part, saved, caller, key, folder, duration_s):
    """Starts one part. Its requests are in a file, one for each saved value."""
    turns = max((len(values) for name, values in saved.items() if "${" + name + "}" in json.dumps(part["request"])), default=1)
    requests = pathlib.Path(folder) / f"{abs(hash(part['name']))}-{time.monotonic_ns()}.jsonl"
    requests.write_text("\n".join(filled(part["request"], saved, n) for n in range(turns)))
    pace = ["--rate", part["rate"]] if "rate" in part else ["--concurrency", str(part["concurrency"])]
    # A watch has no warm-up, because it is opened only once.
    pace += [] if part["method"].startswith("Watch") else ["--warm-up", "1s"]
    return start_tester(part["method"], f"@{requests}", *caller, *pace, "--duration", f"{duration_s}s", "--data-dir",
                        running.folder / "data", key=key, prefix=[])


def measure(rows, title, running, parts, folder, duration_s):
    """Runs parts concurrently and adds their rows."""
    processes = [(label, part, start(running, part, saved, caller, key, folder, duration_s))
                 for label, part, saved, caller, key in parts]
    for label, part, process in processes:
        report = tester_report(process, duration_s + 90)
        if part["method"].startswith("Watch"):
            rows.add(f"{title}{label}: messages received", report["messagesReceived"] / duration_s, "1/s")
        else:
            rows.add(f"{title}{label}", report["callsPerSecond"], "calls/s")
            rows.add(f"{title}  p99", report["latency"]["percentilesMs"]["99"], "ms")


def mixes(rows, options):
    everything = []
    with tempfile.TemporaryDirectory() as folder, Running(folder) as running:
        for file in sorted(SCENARIOS.glob("*.json")):
            scenario = json.loads(file.read_text())
            key = running.key(scenario["principal"])
            saved = set_up(running, scenario, key)
            named = [(f"{scenario['service']}: {part['name']}", part, saved) for part in scenario["parts"]]
            everything += [(*part, [], key) for part in named]
            alone = [(*part, directly(scenario), None) for part in named]
            measure(rows, "alone, ", running, alone, folder, options.duration)
        measure(rows, "all at once, ", running, everything, folder, options.duration)


if __name__ == "__main__":
    run(__doc__, {"mixes": mixes}, duration=(5, "seconds per measurement"))

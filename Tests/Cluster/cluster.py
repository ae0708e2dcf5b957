"""Runs the suite on a PostgreSQL cluster under load, causes faults, and checks every call's outcome; see scripts/chaos --help."""

import argparse
import faulthandler
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Chaos"))
from chaos import isolated, may_isolate  # noqa: E402
from cluster_faults import FAULTS, QUICK, Scene  # noqa: E402
from cluster_fleet import ClusterFleet, memory_folder  # noqa: E402
from cluster_hosts import Loopback, Namespaces  # noqa: E402
from cluster_judge import judge, undetected  # noqa: E402
from cluster_load import ClusterLoad, Lanes  # noqa: E402
from cluster_nodes import Cluster  # noqa: E402
from fleet import eventually  # noqa: E402

# Time within which all processes must serve again; faults judged together; time that each fault may take.
SERVING_S, BATCH, FAULT_MAX_S = 30, 8, 100
# The first process of the namespace, which takes over the children of killed ones.
INIT = ["bash", "-c", '"$@" & wait $!', "init"]
HEAD = f"{'fault':14} {'pause ms':>9} {'bar ms':>7} {'serving ms':>10} {'acknowledged':>12} {'lost':>5} {'doubled':>7} {'reordered':>9} {'stale':>5}"


class Row:
    """One fault and its consequences."""

    def __init__(self, name, bar_s):
        self.name, self.bar_s, self.begun = name, bar_s, time.monotonic()
        self.served = self.ended = self.pause_s = self.acknowledged = None
        self.findings = []

    def close(self, history, served):
        self.served, self.ended = served - self.begun, time.monotonic()
        self.gaps = history.gaps(self.begun, self.ended)
        self.pause_s = max(self.gaps.values())
        self.acknowledged = history.acknowledged(self.begun, self.ended)

    def count(self, kind):
        return sum(one.kind == kind for one in self.findings)

    @property
    def is_late(self):
        return self.pause_s > self.bar_s or self.served > SERVING_S

    @property
    def is_good(self):
        # A machine that does other work as well shows nothing by its times.
        return not self.findings and ("CI" in os.environ or not self.is_late)

    def text(self):
        counts = "".join(f" {self.count(kind):>{width}}" for kind, width in (("lost", 5), ("doubled", 7), ("reordered", 9), ("stale", 5)))
        return (f"{self.name:14} {1000 * self.pause_s:9.0f} {1000 * self.bar_s:7.0f} {1000 * self.served:10.0f} {self.acknowledged:12}"
                f"{counts} {'WRONG' if self.findings else 'LATE' if self.is_late else ''}".rstrip())


def tell(text):
    print(f"   {time.strftime('%X')}  {text}", file=sys.stderr, flush=True)


def strike(scene, load, name):
    """Causes a fault and waits until everything is as before."""
    fault, bar_s, _ = FAULTS[name]
    row = Row(name, bar_s)
    undo = fault(scene)
    load.wait_served(time.monotonic())
    eventually(lambda: set(scene.fleet.unready()) <= stopped(scene.fleet), "all other processes serve", 60)
    served = time.monotonic()
    if undo:
        undo()
    scene.cluster.wait_whole()
    scene.fleet.wait_serving()
    load.wait_served(time.monotonic())
    time.sleep(1)
    row.close(load.history, served)
    tell(f"{name}: served after {row.served:.1f} s, pause {row.pause_s:.2f} s {[f'{key} {gap:.2f}' for key, gap in row.gaps.items()]}")
    return row


def stopped(fleet):
    return {name for name, process in fleet.processes.items() if process.poll() is not None}


def batch(scene, lanes, number, names, seed):
    """Runs some faults under one load, and judges it."""
    load, rows = ClusterLoad(scene.fleet, seed, number), []
    with load:
        load.wait_served(time.monotonic())
        for name in names:
            rows.append(strike(scene, load, name))
    scene.fleet.wait_serving()
    begun = time.monotonic()
    findings = judge(load, lanes)
    load.end()
    missed = undetected(load) if not findings else []
    assert not missed, f"planted faults are not detected: {missed}"
    for finding in findings:
        tell(f"{finding.kind}: {finding.text}")
        # Findings without a time belong to the last fault.
        row = next((row for row in rows if finding.at and finding.at < row.ended), rows[-1])
        row.findings.append(finding)
    tell(f"judged in {time.monotonic() - begun:.1f} s: {len(load.history.calls)} calls, {load.twin.answered_twice} keys answered twice, "
         f"{sum(one.resumed for one in load.watchers)} watches resumed, {sum(len(one.unknown) for one in load.appenders)} appends unknown, "
         f"{len(lanes.accepted)} pushes, {lanes.repeated()} of them repeated; refused: {load.refusals()}")
    return rows


def inside(options):
    if os.getpid() < 10:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    faulthandler.dump_traceback_later(options.seconds - 10, file=sys.stderr)
    folder, network = pathlib.Path(options.folder), (Namespaces if options.namespaces else Loopback)(3)
    if options.namespaces:
        # Disks of a limited size, and the names of libfaketime's shared memory, which are process ids.
        for number in range(3):
            memory_folder(folder / "nodes" / f"node{number}", "2g")
        memory_folder("/dev/shm", "1g")
    (folder / "nodes").mkdir(exist_ok=True)
    cluster, fleet, rows = Cluster(folder / "nodes", network, "clock" in options.names), None, []
    batches = [options.names[at:at + BATCH] for at in range(0, len(options.names), BATCH)]
    try:
        cluster.start()
        tell("the cluster is up")
        users = [user for number in range(len(batches)) for user in ClusterLoad.users(number)]
        fleet = ClusterFleet(folder / "data", cluster, users=users).start()
        tell("the suite serves")
        lanes = Lanes(fleet)
        lanes.start()
        print(HEAD, flush=True)
        for number, names in enumerate(batches):
            rows += batch(Scene(cluster, fleet, random.Random(options.seed + number)), lanes, number, names, options.seed)
            for row in rows[-len(names):]:
                print(row.text(), flush=True)
        lanes.end()
    except BaseException:  # noqa: BLE001 - reported by the parent process
        print(traceback.format_exc())
        return 1
    finally:
        if fleet:
            fleet.stop()
        cluster.stop()
        network.end()
    return 0 if all(row.is_good for row in rows) else 1


def main():
    parser = argparse.ArgumentParser(description="Run the suite on a PostgreSQL cluster and cause faults; see scripts/chaos --help.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    for name, kind in (("folder", str), ("namespaces", int), ("seconds", int)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options)
    for name in options.names:
        if name not in FAULTS:
            parser.error(f"unknown fault {name}; known are: {', '.join(FAULTS)}")
    namespaces = may_isolate()
    possible = [name for name, (_, _, needs) in FAULTS.items() if namespaces or not needs]
    names = options.names or (QUICK if not options.faults else possible)
    if skipped := set(names) - set(possible):
        print(f"SKIPPED, because they need root and namespaces: {', '.join(sorted(skipped))}")
        names = [name for name in names if name in possible]
    if options.faults:
        names = list(itertools.islice(itertools.cycle(random.Random(options.seed).sample(names, len(names))), options.faults))
    return outside(options, names, namespaces)


def outside(options, names, namespaces):
    """Runs everything in a process of its own, and kills it after its maximum duration."""
    folder, seconds = tempfile.mkdtemp(prefix="campanile-cluster-"), 120 + FAULT_MAX_S * len(names)
    again = f"scripts/chaos --cluster --seed {options.seed} " + " ".join(options.names) + f" --faults {options.faults}" * bool(options.faults)
    command = [sys.executable, __file__, "--inside", "--seed", str(options.seed), "--folder", folder, "--seconds", str(seconds),
               "--namespaces", str(int(namespaces)), *names]
    try:
        # Everything ends with this process, however it ends.
        prefix = ["setpriv", "--pdeathsig", "KILL", *isolated(), *INIT] if namespaces else []
        code = subprocess.run([*prefix, *command], timeout=seconds).returncode
    except subprocess.TimeoutExpired:
        print(f"timed out after {seconds} s")
        code = 1
    if code == 0 and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"cluster ok: {len(names)} faults, seed={options.seed}")
    else:
        print(f"cluster {'FAILED' if code else 'ok'}; to repeat: {again}\n  files: {folder}")
    return code


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Threads that still wait on a broken connection must not keep the process alive.
    os._exit(code)

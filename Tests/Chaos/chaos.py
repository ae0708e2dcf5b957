"""Runs the scenarios of scripts/chaos, each in separate namespaces if that is permitted."""

import argparse
import faulthandler
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import disk
import kill
import network
import process
import up
from scenario import Context

# Name: function, whether it needs namespaces (and root), and its maximum duration in seconds: quick and full.
SCENARIOS = {
    "plants": (kill.plants, False, 120, 300),
    "kill": (kill.kills, False, 120, 1800),
    "up": (up.kills, True, 120, 600),
    "disk-full": (disk.full, True, 120, 600),
    "disk-failing": (disk.failing, True, 120, 600),
    "disk-read-only": (disk.read_only, True, 120, 600),
    "disk-slow": (disk.slow, True, 120, 600),
    "power": (disk.power, True, 120, 900),
    "late": (network.deadlines_control, True, 60, 60),
    "loss": (network.losses, True, 120, 600),
    "delay": (network.delays, True, 120, 600),
    "partition": (network.partitions, True, 120, 600),
    "storm": (network.storm, True, 120, 300),
    "freeze": (process.freezes, False, 120, 300),
    "clock": (process.clocks, True, 120, 300),
    "descriptors": (process.descriptors, False, 120, 300),
    "memory": (process.memory, False, 60, 300),
    "connections": (process.connections, False, 120, 300),
    "slow": (process.slow, False, 120, 300),
}


def isolated():
    """Returns the command that gives a scenario its own network, mounts and processes, which all end with it."""
    return ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


def may_isolate():
    result = subprocess.run([*isolated(), "ip", "link", "set", "lo", "up"], capture_output=True)
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description="Break the running suite and check the outcome; see scripts/chaos --help.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options)
    names = options.names or list(SCENARIOS)
    for name in names:
        if name not in SCENARIOS:
            parser.error(f"unknown scenario {name}; known are: {', '.join(SCENARIOS)}")
    namespaces = may_isolate()
    outcomes = [outside(options, name, namespaces) for name in names]
    failed = [name for name, outcome in zip(names, outcomes) if outcome == "FAILED"]
    skipped = [name for name, outcome in zip(names, outcomes) if outcome == "SKIPPED"]
    print(f"{len(names)} scenarios, {len(failed)} FAILED {' '.join(failed)}, {len(skipped)} SKIPPED {' '.join(skipped)}")
    return 1 if failed else 0


def outside(options, name, namespaces):
    """Runs a scenario in a separate process, and kills it after its maximum duration."""
    _, needs_namespaces, quick_s, full_s = SCENARIOS[name]
    if needs_namespaces and not namespaces:
        print(f"{name:12} SKIPPED: needs root and namespaces")
        return "SKIPPED"
    effort = ["--full"] if options.full else []
    again = f"scripts/chaos {'--full' if options.full else '--quick'} --seed {options.seed} {name}"
    folder = tempfile.mkdtemp(prefix=f"campanile-chaos-{name}-")
    command = [sys.executable, __file__, "--inside", name, "--seed", str(options.seed), "--folder", folder, *effort]
    begun = time.monotonic()
    process = subprocess.Popen([*(isolated() if namespaces else []), *command], stdout=subprocess.PIPE, text=True)
    try:
        output, _ = process.communicate(timeout=full_s if options.full else quick_s)
        good = process.returncode == 0
    except subprocess.TimeoutExpired:
        process.kill()
        output, good = process.communicate()[0] + f"timed out after {full_s if options.full else quick_s} s", False
    took = time.monotonic() - begun
    lines = output.strip().splitlines()
    if good:
        figures = " ".join(f"{key}={value}" for key, value in json.loads(lines[-1]).items())
        print(f"{name:12} ok      {took:5.0f} s  seed={options.seed} {figures}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        return "ok"
    print(f"{name:12} FAILED  {took:5.0f} s  to repeat: {again}\n" + "\n".join(lines[-150:]) + f"\n  files: {folder}", flush=True)
    return "FAILED"


def inside(options):
    if os.getpid() < 10:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    context = Context(options.inside, options.seed, options.full, options.folder)
    # Shows where each thread waits, shortly before the process is killed.
    faulthandler.dump_traceback_later(SCENARIOS[options.inside][3 if options.full else 2] - 10, file=sys.stdout)
    try:
        SCENARIOS[options.inside][0](context)
    except BaseException:  # noqa: BLE001 - reported by the parent process
        print(traceback.format_exc())
        return 1
    print(context.result())
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    # Threads that still wait on a broken connection must not keep the process alive.
    os._exit(code)

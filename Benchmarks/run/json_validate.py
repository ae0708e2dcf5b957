"""Benchmarks the JSON validator on one core, compared with JSONSerialization and simdjson, on an array of notifications. See scripts/bench.

Skips simdjson with a note if its header (Debian: libsimdjson-dev) is missing.
"""

import argparse
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import uuid

from bench import ONE_CORE, PEERS, ROOT, Rows

WORDS = ("la riunione è stata spostata alle otto di sera perché il maestro arriva più tardi server down disk usage above ninety "
         "percent build failed on main branch 🚀 café naïve Привет мир 通知 deploy finished").split()


def record(generator):
    """Returns a notification in the apps' format, of about 700 bytes."""
    text = lambda count: " ".join(generator.choice(WORDS) for _ in range(count))
    name = lambda: str(uuid.UUID(int=generator.getrandbits(128))).upper()
    time = lambda: f"2025-11-{generator.randint(1, 28):02}T{generator.randint(0, 23):02}:{generator.randint(0, 59):02}:00.{generator.randint(0, 999):03}Z"
    result = {"id": name(), "title": text(generator.randint(2, 6)), "createdAt": time(), "updatedAt": time(), "bucketId": name()}
    if generator.random() < 0.6:
        result["subtitle"] = text(3)
    if generator.random() < 0.9:
        result["body"] = text(generator.randint(5, 40)) + generator.choice(["", "", "", "\n", ' "quoted"'])
    if generator.random() < 0.5:
        result["readAt"] = time()
    result["attachments"] = [{"mediaType": "IMAGE", "url": f"https://cdn.example.com/{generator.getrandbits(40)}.png"}
                             for _ in range(generator.randint(0, 2))]
    result["actions"] = [{"type": generator.choice(["MARK_AS_READ", "DELETE", "SNOOZE"]), "destructive": generator.random() < 0.3,
                          "value": str(generator.randint(1, 60)), "title": text(1)} for _ in range(generator.randint(0, 4))]
    return result


def write_notifications(path, size_bytes, seed=5):
    """Writes a container of about this size. All ids differ; the other members are chosen from 5,000 records."""
    generator = random.Random(seed)
    pool = [record(generator) for _ in range(5000)]
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    rests = [encode({key: value for key, value in one.items() if key != "id"})[1:] for one in pool]
    written = 0
    with open(path, "wb") as file:
        file.write(b'{"notifications":[')
        while written < size_bytes:
            line = (b"," if written else b"") + f'{{"id":"{uuid.UUID(int=generator.getrandbits(128))}",{generator.choice(rests)}'.encode()
            file.write(line)
            written += len(line)
        file.write(b'],"syncTimestamp":"2025-11-08T10:00:00Z"}')


def gigabytes_a_second(command):
    lines = subprocess.run([*ONE_CORE, *map(str, command)], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return statistics.median(map(float, lines))


def simdjson(folder):
    """Compiles the peer. Returns its path, or None if that is not possible."""
    compiler = shutil.which("c++") or shutil.which("g++")
    source = ROOT / "Benchmarks" / "Peers" / "simdjson-validate" / "main.cpp"
    if not compiler:
        return None
    program = pathlib.Path(folder) / "simdjson-validate"
    built = subprocess.run([compiler, "-O3", "-std=c++17", str(source), "-o", str(program), "-lsimdjson"], stderr=subprocess.PIPE)
    return program if built.returncode == 0 else None


def rows(report, size_mb=100, runs=5):
    """Adds the rows of the validator to `report`."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "notifications.json"
        write_notifications(file, size_mb * 1_000_000)
        ours = lambda way, count=runs: gigabytes_a_second([PEERS / "ValidateBench", way, file, "--runs", count])
        foundation = ours("jsonSerialization", 3)
        report.add(f"validate {size_mb} MB (baseline JSONSerialization)", ours("validator"), "GB/s", foundation, at_least=1)
        report.add("  and tell duplicate names", ours("duplicates"), "GB/s", foundation)
        report.add("  and check the container of notifications", ours("container"), "GB/s", foundation)
        peer = simdjson(folder)
        if peer is None:
            print("skipped simdjson: it needs a C++ compiler and Debian's libsimdjson-dev", file=sys.stderr)
            return
        for way in ("dom", "ondemand"):
            baseline = gigabytes_a_second([peer, way, file, runs])
            report.add(f"validate {size_mb} MB (baseline simdjson {way})", ours("validator"), "GB/s", baseline)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--size-mb", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    table = Rows()
    table.head()
    rows(table, options.size_mb, options.runs)
    table.write(options.json)

"""Measures the client for apps: the size that it adds to an app with two services, and its decoder. See scripts/bench."""

import json
import pathlib
import shutil
import subprocess
import tempfile

from bench import ONE_CORE, ROOT, output, run

PACKAGE = ROOT / "Benchmarks" / "Client"
SERVER = ["-Xswiftc", "-enforce-exclusivity=unchecked"]
SMALL = ["-Xswiftc", "-Osize"]


def build(name, product, *flags, package=PACKAGE):
    """Builds a product with the flags in a folder of its own. Returns the program."""
    place = ["--package-path", package, "--scratch-path", PACKAGE / ".build" / name, "-c", "release"]
    subprocess.run(["swift", "build", *map(str, place), "-j", "1", "--product", product, *flags], check=True, stdout=subprocess.DEVNULL)
    return pathlib.Path(output("swift", "build", *place, *flags, "--show-bin-path").strip()) / product


def stripped_mb(program):
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(program, folder)
        output("strip", copy)
        return pathlib.Path(copy).stat().st_size / 1e6


def size(rows, _):
    alone, with_client = (stripped_mb(build("small", name, *SMALL)) for name in ("AppAlone", "AppWithClient"))
    rows.add("an app without the client, -Osize, stripped", alone, "MB")
    rows.add("added by the client with two services", with_client - alone, "MB", at_most=1.5)


def decoder(rows, _):
    app = build("app", "DecodeBench")
    server = build("server", "DecodeBench", *SERVER, package=PACKAGE / "Server")
    found = [[json.loads(output(*ONE_CORE, program)) for program in (app, server)] for _ in range(5)]
    rows.add_pairs(f"decode {found[0][0]['bytes']} bytes (baseline: the server's codec)",
                   [(ours["decode"], servers["decode"]) for ours, servers in found], "us", at_most=3, ratio_at_most=1.5)
    rows.add_pairs("  (baseline: Foundation's JSONDecoder)",
                   [(ours["decode"], ours["foundation"]) for ours, _ in found], "us", ratio_at_most=0.25)


if __name__ == "__main__":
    run(__doc__, {"size": size, "decoder": decoder})

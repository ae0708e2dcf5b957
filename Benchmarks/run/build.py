"""Measures the time to compile each module of a clean build, dependencies included. See scripts/bench.

The build runs this file in place of the compilers, to record the CPU time of each call. CPU time does not depend on how many modules
are compiled concurrently. The last row of a configuration is the duration of its build.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

LOG = "CAMPANILE_COMPILER_LOG"


def product(arguments):
    """Returns the module that a call compiles, or the program that it links."""
    if "-module-name" in arguments:
        name = arguments[arguments.index("-module-name") + 1]
    else:
        found = re.search(r"/([^/]+)\.build/", " ".join(arguments))
        name = found[1] if found else "manifests"
    return f"link {name}" if "-emit-executable" in arguments else name


def compile_and_record(compiler, arguments):
    code = subprocess.run([compiler, *arguments]).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.environ[LOG], "a") as log:
        log.write(json.dumps([product(arguments), usage.ru_utime + usage.ru_stime]) + "\n")
    return code


def measure(rows, name, flags):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, LOG: f"{folder}/log"}
        for variable, compiler in (("SWIFT_EXEC", "swiftc"), ("CC", "clang")):
            wrapper = pathlib.Path(folder, compiler)
            wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" --as "{shutil.which(compiler)}" "$@"\n')
            wrapper.chmod(0o755)
            environment[variable] = str(wrapper)
        build = ["swift", "build", "--scratch-path", ".build-bench", *flags]
        # Fetches the dependencies in advance, because only the build is measured.
        subprocess.run(["swift", "package", "--scratch-path", ".build-bench", "resolve"], check=True, stdout=sys.stderr)
        shutil.rmtree(subprocess.check_output([*build, "--show-bin-path"], text=True).strip(), ignore_errors=True)
        begin = time.monotonic()
        subprocess.run(build, env=environment, check=True, stdout=sys.stderr)
        duration, total = time.monotonic() - begin, collections.Counter()
        for line in pathlib.Path(folder, "log").read_text().splitlines():
            made, seconds = json.loads(line)
            total[made] += seconds
    own = {"manifests", *(path.name.replace("-", "_") for path in pathlib.Path("Sources").iterdir())}
    for made, seconds in total.most_common():
        rows.add(f"{name}, {made}" + ("" if made.split()[-1] in own else " (dependency)"), seconds, "CPU s")
    rows.add(f"{name}, all", sum(total.values()), "CPU s")
    rows.add(f"{name}, duration", duration, "s")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench build", description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--configuration", choices=["debug", "release"], help="only this one (default: both)")
    parser.add_argument("--product", default="campanile-suite", help="the product to build (default: campanile-suite)")
    parser.add_argument("--package", default=".", help="the folder of its package (default: this one)")
    options = parser.parse_args()
    from bench import Rows
    rows = Rows()
    file = options.json and os.path.abspath(options.json)
    os.chdir(options.package)
    rows.head()
    for name, flags in (("debug", []), ("release", os.environ["CAMPANILE_RELEASE_FLAGS"].split())):
        if options.configuration in (None, name):
            measure(rows, name, [*flags, "--product", options.product])
    rows.write(file)


if __name__ == "__main__":
    sys.exit(compile_and_record(sys.argv[2], sys.argv[3:]) if sys.argv[1:2] == ["--as"] else main())

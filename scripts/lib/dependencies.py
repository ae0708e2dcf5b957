"""The lock of the dependencies' versions. Run by scripts/dependencies from the root of the repository, and used by sbom.py."""

import json
import pathlib
import re
import sys

LOCK = pathlib.Path("scripts") / "dependencies.lock"
MANIFESTS = ["Package.swift", "Benchmarks/Package.swift", *(f"Benchmarks/Library/{name}/Package.swift" for name in ("Campanile", "GRPC", "HTTP")), "Examples/Package.swift"]
HEAD = """\
# The exact versions of all packages that the suite is built from, including transitive dependencies. Packages marked
# `benchmarks` are needed only by the package in Benchmarks. See scripts/dependencies --help.
"""


def identity(url):
    return url.rpartition("/")[2].removesuffix(".git").lower()


def locked(root):
    """Returns the lock as {identity: (version, url, whether only the benchmarks need it)}. Exits on a malformed line."""
    found = {}
    for number, line in enumerate((root / LOCK).read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\S+) (\d+\.\d+\.\d+\S*) (https://\S+)( benchmarks)?", line)
        if not match or match[1] in found or match[1] != identity(match[3]):
            sys.exit(f"{LOCK}:{number}: not IDENTITY VERSION URL, or there twice: {line}")
        found[match[1]] = (match[2], match[3], bool(match[4]))
    return found


def resolved(root, folder=""):
    """Returns the versions resolved by SwiftPM for a package as {identity: (version, url)}, or `None`."""
    file = root / folder / "Package.resolved"
    if not file.exists():
        return None
    return {pin["identity"]: (pin["state"].get("version"), pin["location"]) for pin in json.loads(file.read_text())["pins"]}


def resolution_faults(root, lock, folder=""):
    """Yields the differences between the resolved versions of a package and the lock."""
    pins = resolved(root, folder)
    if pins is None:
        return
    for name, (version, url) in sorted(pins.items()):
        if name not in lock:
            yield f"{name} {version} is resolved, and not in the lock"
        elif (version, url.removesuffix(".git")) != (lock[name][0], lock[name][1].removesuffix(".git")):
            yield f"{name}: {version} of {url} is resolved, the lock has {lock[name][0]} of {lock[name][1]}"
        elif lock[name][2] and not folder:
            yield f"{name} is marked as needed by the benchmarks alone, and the suite needs it"
    for name, (version, _, is_marked) in sorted(lock.items()):
        if name not in pins and is_marked == bool(folder):
            yield f"{name} {version} is in the lock, and not resolved"


def manifest_faults(root, lock):
    """Yields the requirements of the manifests with another version than the lock. Only the package itself, on which
    applications depend, may allow newer versions."""
    for name in MANIFESTS:
        manifest = root / name
        if not manifest.exists():
            continue
        for asked in re.finditer(r'\burl:\s*"(https?:[^"]+)"\s*,\s*([^\n)]*)', manifest.read_text()):
            form = "from" if name == "Package.swift" else "exact"
            package, version = identity(asked[1]), re.match(rf'(?:\.upToNextMinor\()?{form}:\s*"([^"]+)"', asked[2])
            if not version:
                yield f"{name}: {package} has no version in the form {form}: {asked[2].strip()}"
            elif package not in lock or lock[package][0] != version[1]:
                yield f"{name}: {package} {version[1]}, the lock has {lock.get(package, ('none',))[0]}"


def faults(root):
    lock = locked(root)
    return [*manifest_faults(root, lock), *resolution_faults(root, lock), *resolution_faults(root, lock, "Benchmarks")]


def update(root):
    """Writes the lock. Keeps the marked packages if those of the benchmarks are not resolved here."""
    suite, benchmarks = resolved(root), resolved(root, "Benchmarks")
    if benchmarks is None:
        benchmarks = {name: entry[:2] for name, entry in locked(root).items() if entry[2]} if (root / LOCK).exists() else {}
    lines = [f"{name} {version} {url}" for name, (version, url) in sorted(suite.items())]
    lines += [f"{name} {version} {url} benchmarks" for name, (version, url) in sorted(benchmarks.items()) if name not in suite]
    (root / LOCK).write_text(HEAD + "\n".join(lines) + "\n")


def main():
    root = pathlib.Path.cwd()
    if sys.argv[1:] == ["--update"]:
        update(root)
    wrong = faults(root)
    if wrong:
        sys.exit("\n".join([*wrong, f"see scripts/dependencies --help; the lock is {LOCK}"]))
    print(f"{len(locked(root))} packages, each of its exact version", file=sys.stderr)


if __name__ == "__main__":
    main()

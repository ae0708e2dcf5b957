"""The lock of dependency versions: it matches the resolved versions, and every difference is found."""

import json
import shutil
import subprocess
import sys

import pytest
from campanile import ROOT

PROGRAM = ROOT / "scripts" / "lib" / "dependencies.py"
LOCK = "scripts/dependencies.lock"


def check(folder, *arguments):
    return subprocess.run([sys.executable, str(PROGRAM), *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def copy(tmp_path):
    """A copy of the files that the check reads."""
    for name in ("Package.swift", "Package.resolved", "Benchmarks/Package.swift", LOCK):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_resolved_versions_match_the_lock(copy):
    for folder in (ROOT, copy):
        done = check(folder)
        assert done.returncode == 0, done.stderr
    assert len(json.loads((ROOT / "Package.resolved").read_text())["pins"]) > 20


def edit(file, before, after):
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after, 1))


def resolve(folder, change):
    file = folder / "Package.resolved"
    content = json.loads(file.read_text())
    change({pin["identity"]: pin for pin in content["pins"]}, content["pins"])
    file.write_text(json.dumps(content))


NIO = "https://github.com/apple/swift-nio"
PLANTED = {
    "a newer version of a transitive dependency": (
        lambda f: resolve(f, lambda pins, _: pins["swift-atomics"]["state"].update(version="1.3.9")), "swift-atomics: 1.3.9 of"),
    "a package of another owner": (
        lambda f: resolve(f, lambda pins, _: pins["swift-atomics"].update(location="https://github.com/evil/swift-atomics")),
        "swift-atomics: "),
    "a branch": (
        lambda f: resolve(f, lambda pins, _: pins["swift-atomics"].update(state={"branch": "main", "revision": "a"})),
        "swift-atomics: None of"),
    "an additional package": (
        lambda f: resolve(f, lambda _, all: all.append(
            {"identity": "new", "location": "https://github.com/a/new", "state": {"version": "1.0.0", "revision": "a"}})),
        "new 1.0.0 is resolved, and not in the lock"),
    "a missing package": (
        lambda f: resolve(f, lambda pins, all: all.remove(pins["swift-atomics"])), "swift-atomics 1.3.0 is in the lock, and not resolved"),
    "a package marked for the benchmarks only": (
        lambda f: edit(f / LOCK, "https://github.com/apple/swift-atomics.git", "https://github.com/apple/swift-atomics.git benchmarks"),
        "swift-atomics is marked"),
    "a range of versions": (
        lambda f: edit(f / "Benchmarks/Package.swift", f'{NIO}", exact:', f'{NIO}", from:'),
        "Benchmarks/Package.swift: swift-nio has no version in the form exact"),
    "a version that applications cannot change": (
        lambda f: edit(f / "Package.swift", f'{NIO}", from:', f'{NIO}", exact:'), "Package.swift: swift-nio has no version in the form from"),
    "a branch in a manifest": (
        lambda f: edit(f / "Benchmarks/Package.swift", f'{NIO}", exact: "2.101.2"', f'{NIO}", branch: "main"'),
        "Benchmarks/Package.swift: swift-nio has no version in the form exact"),
    "another version in a manifest": (
        lambda f: edit(f / "Package.swift", f'{NIO}", from: "2.101.2"', f'{NIO}", from: "2.101.1"'),
        "Package.swift: swift-nio 2.101.1, the lock has 2.101.2"),
    "a malformed line": (lambda f: edit(f / LOCK, "swift-atomics 1.3.0", "swift-atomics  1.3.0"), "not IDENTITY VERSION URL"),
    "a duplicate package": (lambda f: edit(f / LOCK, "swift-asn1 1.7.4", "swift-atomics 1.3.0"), "not IDENTITY VERSION URL, or there twice"),
}


@pytest.mark.parametrize("what", PLANTED)
def test_every_difference_is_found(copy, what):
    plant, words = PLANTED[what]
    plant(copy)
    done = check(copy)
    assert done.returncode == 1 and words in done.stderr, done.stderr


def test_lock_is_updated_from_resolved_versions(copy):
    before = (copy / LOCK).read_text()
    resolve(copy, lambda pins, _: pins["swift-atomics"]["state"].update(version="1.3.9"))
    assert check(copy, "--update").returncode == 0
    assert (copy / LOCK).read_text() == before.replace("swift-atomics 1.3.0", "swift-atomics 1.3.9")


def test_resolution_is_pinned_from_the_lock(copy):
    """Uses a local repository in place of the public one."""
    made = copy / "made"
    tag = ["git", "-C", str(made), "-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", "init", "-q", str(made)], check=True)
    subprocess.run([*tag, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*tag, "tag", "-a", "v1.2.3", "-m", "an annotated tag"], check=True)
    subprocess.run([*tag, "tag", "1.2.30"], check=True)
    commit = subprocess.run([*tag, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (copy / LOCK).write_text(f"# a comment\nmade 1.2.3 file://{made}\nmade 1.2.30 file://{made} benchmarks\n")
    (copy / "scripts" / "lib").mkdir()
    for name in ("dependencies", "lib/common.sh"):
        shutil.copy(ROOT / "scripts" / name, copy / "scripts" / name)
    subprocess.run([str(copy / "scripts" / "dependencies"), "--pin"], check=True, timeout=60)
    for folder, versions in (("", ["1.2.3"]), ("Benchmarks", ["1.2.3", "1.2.30"])):
        content = json.loads((copy / folder / "Package.resolved").read_text())
        assert [pin["state"] for pin in content["pins"]] == [{"revision": commit, "version": version} for version in versions]
    (copy / LOCK).write_text(f"made 9.9.9 file://{made}\n")
    done = subprocess.run([str(copy / "scripts" / "dependencies"), "--pin"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "has no version 9.9.9" in done.stderr

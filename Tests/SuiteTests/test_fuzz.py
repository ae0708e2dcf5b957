"""The arguments of scripts/fuzz, scripts/sanitize and scripts/soak, which are checked before anything is built."""

import re
import subprocess

import pytest
from campanile import ROOT


def run(*arguments):
    return subprocess.run([ROOT / "scripts" / arguments[0], *arguments[1:]], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("script", ["fuzz", "sanitize", "soak"])
def test_help_lists_every_option(script):
    told = run(script, "--help")
    assert told.returncode == 0 and told.stdout.startswith(f"scripts/{script}")
    options = re.findall(r"^ +(--[a-z]+)(?:\)| \|)", (ROOT / "scripts" / script).read_text(), re.M)
    assert options and all(option in told.stdout for option in options)


@pytest.mark.parametrize("arguments", [
    ("fuzz", "nothing"), ("fuzz", "--seconds", "0"), ("fuzz", "--replay", "csv"), ("sanitize", "memory"), ("sanitize",),
    ("sanitize", "thread", "NothingTests"), ("soak", "--minutes", "0"), ("soak", "--load"), ("soak", "nothing"),
])
def test_invalid_arguments_are_refused_before_building(arguments):
    told = run(*arguments)
    assert told.returncode == 64, told
    assert told.stderr


def test_every_target_has_a_corpus():
    targets = run("fuzz", "--list").stdout.split()
    assert len(targets) >= 10
    corpora = ROOT / "Tests" / "Fuzz" / "corpora"
    assert {folder.name for folder in corpora.iterdir()} == set(targets)
    files = [file for file in corpora.glob("*/*")]
    assert sum(file.stat().st_size for file in files) < 300_000
    assert all(any(file.parent.name == target for file in files) for target in targets)

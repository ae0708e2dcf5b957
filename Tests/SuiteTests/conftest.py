import pathlib
import subprocess

import pytest
from campanile import Suite

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def includes():
    """The folders that scripts/generate gives to protoc."""
    script = 'set -euo pipefail; source scripts/lib/common.sh; need_protos >&2; printf "%s\\n" "${imported[@]}"'
    found = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / "protos", pathlib.Path("/usr/include"), *map(pathlib.Path, found.stdout.split())]


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    """A suite with sample data, shared by the tests that do not stop or reconfigure it."""
    running = Suite(tmp_path_factory.mktemp("shared") / "data", "--demo")
    try:
        yield running.wait_ready()
    finally:
        running.stop()


@pytest.fixture
def start(tmp_path):
    """Starts suites for one test and stops them at its end."""
    started = []

    def make(name="data", *arguments, settings=None):
        started.append(Suite(tmp_path / name, *arguments, settings=settings))
        return started[-1]

    yield make
    for running in started:
        running.stop()

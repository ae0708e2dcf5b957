import pathlib
import subprocess
import sys

import declared_reasons
import pytest
from campanile import Suite

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from campanile_wire import Peer  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def includes():
    """The folders that scripts/generate gives to protoc."""
    script = 'set -euo pipefail; source scripts/lib/common.sh; need_protos >&2; printf "%s\\n" "${imported[@]}"'
    found = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / "protos", pathlib.Path("/usr/include"), *map(pathlib.Path, found.stdout.split())]


@pytest.fixture(autouse=True)
def every_reason_is_declared(monkeypatch):
    """Fails a test in which a method of a service ended with a reason that docs/reference does not list for it."""
    send, receive = Peer.send, Peer.receive
    methods, missing = {}, set()

    def noting_send(self, value):
        if isinstance(value, dict) and isinstance(value.get("method"), str) and isinstance(value.get("id"), int | str):
            methods[id(self), value["id"]] = value["method"]
        return send(self, value)

    def noting_receive(self):
        answer = receive(self)
        if isinstance(answer, dict) and isinstance(answer.get("error"), dict):
            method = methods.get((id(self), answer.get("id")), "")
            for detail in answer["error"].get("data", {}).get("details", []):
                if declared_reasons.is_missing(method, detail.get("reason", "")):
                    missing.add((method, detail["reason"]))
        return answer

    monkeypatch.setattr(Peer, "send", noting_send)
    monkeypatch.setattr(Peer, "receive", noting_receive)
    yield
    assert not missing, f"declare these in the protos (campanile.rpc.v1.errors): {sorted(missing)}"


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

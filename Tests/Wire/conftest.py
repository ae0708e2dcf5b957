"""Fixtures of the wire tests."""

import os
import types

import pytest

from wire_pki import Authority
from wire_process import Process, PythonPeer


@pytest.fixture(scope="session")
def echo(tmp_path_factory):
    process = Process("campanile-echo", tmp_path_factory.mktemp("echo"))
    yield process
    assert process.is_running(), process.log_path.read_text()[-4000:]
    assert process.stop() == 0


def python_server(directory, kind):
    process = PythonPeer(directory, kind)
    yield process
    assert process.is_running(), process.log_path.read_text()[-4000:]
    assert process.stop() == 0
    # A failure of the server itself is logged with its traceback.
    assert "Traceback" not in process.log_path.read_text()


@pytest.fixture(scope="session")
def python_peer(tmp_path_factory):
    """The strict server of Examples/python-peer, which has the same service as `echo`."""
    yield from python_server(tmp_path_factory.mktemp("python-peer"), "strict")


@pytest.fixture(scope="session")
def plain_peer(tmp_path_factory):
    """The server of Examples/python-peer/peer.py, for clients that follow the protocol."""
    yield from python_server(tmp_path_factory.mktemp("plain-peer"), "plain")


@pytest.fixture
def own_server():
    """A server of the reader's own, which listens on the port in CAMPANILE_WIRE_PORT (docs/wire-protocol.md)."""
    return types.SimpleNamespace(port=int(os.environ["CAMPANILE_WIRE_PORT"]))


OWN = ["own_server"] if "CAMPANILE_WIRE_PORT" in os.environ else []


@pytest.fixture(params=OWN or ["echo", "python_peer"])
def either(request):
    """The Swift server, then the strict server of Examples/python-peer; or only the reader's own."""
    return request.getfixturevalue(request.param)


@pytest.fixture(params=OWN or ["echo", "python_peer", "plain_peer"])
def any_server(request):
    """The servers of `either`, and the server of peer.py."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pki")

    class PKI:
        authority = Authority(folder, "authority")
        stranger = Authority(folder, "stranger")
        server = authority.issue("server", "IP:127.0.0.1,DNS:echo.test")
        named_server = authority.issue("named", "DNS:echo.test")
        client = authority.issue("client", "DNS:client.test")
        ada = authority.issue("ada", "URI:campanile:user/ada,DNS:ada.test")
        two_names = authority.issue("two", "URI:campanile:user/ada,URI:campanile:user/root")
        strange_client = stranger.issue("client", "DNS:client.test")

    return PKI


@pytest.fixture
def start(tmp_path):
    """Starts executables, which must still run at the end and exit with 0."""
    started = []

    def make(name, *arguments, **settings):
        folder = tmp_path / str(len(started))
        folder.mkdir()
        started.append(Process(name, folder, *arguments, **settings))
        return started[-1]

    yield make
    for process in started:
        assert process.is_running(), process.log_path.read_text()[-4000:]
    assert [process.stop() for process in reversed(started)] == [0] * len(started)

"""TLS and mutual TLS of real processes: at the service's port, and from the gateway to a service."""

import http.client
import pathlib
import socket
import ssl
import subprocess
import tempfile
import urllib.request

import pytest

from campanile_wire import Peer, reason
from wire_process import BINARIES, Process

ECHO = "campanile.rpc.v1.EchoService/Echo"
EXPAND = "campanile.rpc.v1.EchoService/Expand"
TOKEN = "internal-token-of-the-tls-test"


class Authority:
    """A certificate authority of the test's own, made by `openssl`."""

    def __init__(self, folder, name):
        self.folder = folder
        self.name = name
        self.certificate = str(folder / f"{name}.pem")
        self.key = str(folder / f"{name}.key")
        self._openssl(self.certificate, self.key, f"/CN={name}", "basicConstraints=critical,CA:TRUE")

    def issue(self, name, alternative_names):
        """A certificate and its key, as paths."""
        certificate, key = str(self.folder / f"{self.name}-{name}.pem"), str(self.folder / f"{self.name}-{name}.key")
        self._openssl(
            certificate, key, f"/CN={name}", f"subjectAltName={alternative_names}", "-CA", self.certificate, "-CAkey",
            self.key)
        return certificate, key

    @staticmethod
    def _openssl(certificate, key, subject, extension, *arguments):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", subject, "-addext", extension, "-keyout", key, "-out", certificate, *arguments],
            check=True, capture_output=True)
        pathlib.Path(key).chmod(0o600)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pki")

    class PKI:
        authority = Authority(folder, "authority")
        stranger = Authority(folder, "stranger")
        server = authority.issue("server", "IP:127.0.0.1,DNS:echo.test")
        named_server = authority.issue("named", "DNS:echo.test")
        client = authority.issue("client", "DNS:client.test")
        strange_client = stranger.issue("client", "DNS:client.test")

    return PKI


def context(authority, client=None):
    """A client's TLS context that believes `authority`."""
    made = ssl.create_default_context(cafile=authority.certificate)
    if client:
        made.load_cert_chain(*client)
    return made


@pytest.fixture
def start(tmp_path):
    """Starts executables that must end well."""
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


def tls_flags(pki, mutual=False, server=None):
    certificate, key = server or pki.server
    client_ca = ["--tls-client-ca-file", pki.authority.certificate] if mutual else []
    return ["--tls-cert-file", certificate, "--tls-key-file", key, *client_ca]


def refused(connect):
    """Whether the server ends the connection before it has answered anything. With TLS 1.3 a client learns that its
    certificate was refused only by its first read."""
    try:
        with connect() as peer:
            return peer.call(ECHO, {"payload": "x"}) is None
    except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
        return True


def test_calls_and_streams_over_tls(start, pki):
    echo = start("campanile-echo", *tls_flags(pki))
    with Peer(echo.port, tls=context(pki.authority)) as peer:
        assert peer.socket.version() in ("TLSv1.2", "TLSv1.3")
        payload = "ciao " * 200_000
        assert peer.call(ECHO, {"payload": payload})["result"] == {"payload": payload}
        peer.send({"jsonrpc": "2.0", "id": "s", "method": EXPAND, "params": {"payload": "x" * 50_000, "count": 30}})
        for index in range(30):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.receive()["result"] == {}
    with Peer(echo.port, tls=context(pki.authority), server_name="echo.test") as peer:
        assert peer.call(ECHO)["result"] == {}


def test_a_client_believes_only_its_authority_and_the_right_name(start, pki):
    echo = start("campanile-echo", *tls_flags(pki))
    with pytest.raises(ssl.SSLCertVerificationError):
        Peer(echo.port, tls=context(pki.stranger))
    with pytest.raises(ssl.SSLCertVerificationError):
        Peer(echo.port, tls=context(pki.authority), server_name="other.test")


def test_plain_connections_and_old_versions_are_refused(start, pki):
    echo = start("campanile-echo", *tls_flags(pki))
    assert refused(lambda: Peer(echo.port))
    old = context(pki.authority)
    old.set_ciphers("DEFAULT:@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        Peer(echo.port, tls=old)
    with socket.create_connection(("127.0.0.1", echo.port)) as silent:
        silent.sendall(b"\x16\x03\x01")
        with Peer(echo.port, tls=context(pki.authority)) as peer:
            assert peer.call(ECHO)["result"] == {}


def test_mutual_tls_takes_the_right_client_only(start, pki):
    echo = start("campanile-echo", *tls_flags(pki, mutual=True))
    with Peer(echo.port, tls=context(pki.authority, pki.client)) as peer:
        assert peer.call(ECHO, {"payload": "known"})["result"] == {"payload": "known"}
    assert refused(lambda: Peer(echo.port, tls=context(pki.authority)))
    assert refused(lambda: Peer(echo.port, tls=context(pki.authority, pki.strange_client)))
    assert refused(lambda: Peer(echo.port))
    with Peer(echo.port, tls=context(pki.authority, pki.client)) as peer:
        assert peer.call(ECHO)["result"] == {}


def start_gateway(start, backend, *flags):
    return start(
        "campanile-gateway", "--data-dir", tempfile.mkdtemp(dir=backend.log_path.parent), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{backend.port}", *flags, internal_token=TOKEN)


def call_through(gateway):
    with Peer(gateway.port) as peer:
        assert "result" in peer.hello(TOKEN)
        return peer.call(ECHO, {"payload": "through"}, timeoutMs=15_000)


@pytest.mark.parametrize("mutual", [False, True])
def test_the_gateway_reaches_a_service_over_tls(start, pki, mutual):
    backend = start("campanile-echo", *tls_flags(pki, mutual), internal_token=TOKEN)
    flags = ["--backend-tls-ca-file", pki.authority.certificate]
    if mutual:
        flags += ["--backend-tls-cert-file", pki.client[0], "--backend-tls-key-file", pki.client[1]]
    for name in ([], ["--backend-tls-server-name", "echo.test"]):
        assert call_through(start_gateway(start, backend, *flags, *name))["result"] == {"payload": "through"}


@pytest.mark.parametrize("case", [
    "no TLS", "an authority that is not the service's", "another name", "no name", "no certificate", "a stranger's certificate"])
def test_the_gateway_does_not_reach_a_service_otherwise(start, pki, case):
    server = pki.named_server if "name" in case else pki.server
    backend = start("campanile-echo", *tls_flags(pki, mutual=True, server=server), internal_token=TOKEN)
    ca = ["--backend-tls-ca-file", pki.authority.certificate]
    own = ["--backend-tls-cert-file", pki.client[0], "--backend-tls-key-file", pki.client[1]]
    flags = {
        "no TLS": [],
        "an authority that is not the service's": ["--backend-tls-ca-file", pki.stranger.certificate, *own],
        "another name": [*ca, *own, "--backend-tls-server-name", "other.test"],
        "no name": [*ca, *own],
        "no certificate": ca,
        "a stranger's certificate": [
            *ca, "--backend-tls-cert-file", pki.strange_client[0], "--backend-tls-key-file", pki.strange_client[1]],
    }[case]
    answer = call_through(start_gateway(start, backend, *flags))
    assert answer["error"]["data"]["status"] == "UNAVAILABLE" and answer["error"]["data"]["processed"] is False
    assert reason(answer) == "BACKEND_UNAVAILABLE"


def get(port, path, tls=None):
    scheme = "https" if tls else "http"
    with urllib.request.urlopen(f"{scheme}://127.0.0.1:{port}{path}", timeout=30, context=tls) as answer:
        return answer.status, answer.read()


@pytest.mark.parametrize("mutual", [False, True])
def test_the_gateways_http_is_encrypted_as_its_rpc_is(start, pki, mutual):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start_gateway(start, backend, *tls_flags(pki, mutual))
    port = gateway.ready["http"]
    right = context(pki.authority, pki.client if mutual else None)
    assert get(port, "/healthz", right) == (200, b"ok\n")
    assert b"3.1.0" in get(port, "/openapi.json", right)[1]
    wrong = [None, context(pki.stranger)] + ([context(pki.authority), context(pki.authority, pki.strange_client)] if mutual else [])
    for other in wrong:
        with pytest.raises((OSError, http.client.HTTPException)):
            get(port, "/healthz", other)
    # A service's HTTP is for the operator's own machines.
    assert get(backend.ready["http"], "/healthz") == (200, b"ok\n")


@pytest.mark.parametrize("name, flags, words", [
    ("campanile-echo", ["--tls-cert-file", "CERT"], "needs both"),
    ("campanile-echo", ["--tls-client-ca-file", "CA"], "needs both"),
    ("campanile-gateway", ["--backend-tls-ca-file", "CA", "--backend-tls-cert-file", "CERT"], "needs both"),
    ("campanile-gateway", ["--backend-tls-cert-file", "CERT", "--backend-tls-key-file", "KEY"], "--backend-tls-ca-file"),
    ("campanile-gateway", ["--backend-tls-server-name", "echo.test"], "--backend-tls-ca-file"),
])
def test_half_a_configuration_is_refused(pki, tmp_path, name, flags, words):
    files = {"CA": pki.authority.certificate, "CERT": pki.server[0], "KEY": pki.server[1]}
    result = subprocess.run(
        [str(BINARIES / name), "--port", "0", "--data-dir", str(tmp_path), *[files.get(flag, flag) for flag in flags]],
        capture_output=True, text=True, timeout=60)
    assert result.returncode == 78 and words in result.stderr and len(result.stderr.splitlines()) == 1

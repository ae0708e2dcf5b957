"""TLS and mutual TLS of real processes: on a service's port, and between the gateway and a service."""

import http.client
import socket
import ssl
import subprocess
import time
import urllib.request

import pytest

from campanile_wire import Peer, reason
from wire_pki import ECHO, TOKEN, context, start_gateway, tls_flags
from wire_process import BINARIES, Process

EXPAND = "campanile.rpc.v1.EchoService/Expand"


def refused(connect):
    """Returns whether the server closes the connection before its first response. With TLS 1.3, a client learns that its
    certificate was refused only with its first read."""
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
        peer.grant_all("s")
        for index in range(30):
            assert peer.receive()["params"]["message"].get("index", 0) == index
        assert peer.receive()["result"] == {}
    with Peer(echo.port, tls=context(pki.authority), server_name="echo.test") as peer:
        assert peer.call(ECHO)["result"] == {}


@pytest.mark.parametrize("offered, chosen", [
    (["campanile/1"], "campanile/1"), (["h2", "campanile/1"], "campanile/1"), (["h2"], None), (None, None)])
def test_the_protocols_name_is_negotiated_but_not_required(start, pki, offered, chosen):
    echo = start("campanile-echo", *tls_flags(pki))
    tls = context(pki.authority)
    if offered:
        tls.set_alpn_protocols(offered)
    with Peer(echo.port, tls=tls) as peer:
        assert peer.socket.selected_alpn_protocol() == chosen
        assert peer.call(ECHO, {"payload": "x"})["result"] == {"payload": "x"}


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


def test_a_certificate_names_its_principal(start, pki):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start_gateway(start, backend, *tls_flags(pki, mutual=True))
    with Peer(gateway.port, tls=context(pki.authority, pki.ada)) as peer:
        assert peer.call(ECHO, {"payload": "ada"})["result"] == {"payload": "ada"}
        # The principal is not an administrator, and an invalid credential is an error despite the certificate.
        assert reason(peer.call("campanile.gateway.v1.AccessService/ListApiKeys", {})) == "SCOPE_MISSING"
        wrong = {"authorization": "Bearer nonsense"}
        assert reason(peer.call(ECHO, {"payload": "x"}, metadata=wrong)) == "CREDENTIAL_INVALID"
    for nameless in [pki.client, pki.two_names]:
        with Peer(gateway.port, tls=context(pki.authority, nameless)) as peer:
            assert reason(peer.call(ECHO, {"payload": "x"})) == "CREDENTIAL_MISSING"
    # The internal token takes precedence over the certificate.
    with Peer(gateway.port, tls=context(pki.authority, pki.ada)) as peer:
        assert "result" in peer.hello(TOKEN)
        assert "result" in peer.call("campanile.gateway.v1.AccessService/ListApiKeys", {})


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
    # A service's HTTP port is only for the operator's own machines.
    assert get(backend.ready["http"], "/healthz") == (200, b"ok\n")


def test_peers_that_never_say_goodbye_do_not_hold_up_a_drain(start, pki, tmp_path):
    backend = start("campanile-echo", internal_token=TOKEN)
    gateway = start_gateway(lambda name, *flags, **settings: Process(name, tmp_path, *flags, **settings), backend, *tls_flags(pki))
    trusting = context(pki.authority)
    with Peer(gateway.port, tls=trusting) as peer, socket.create_connection(("127.0.0.1", gateway.ready["http"])) as plain:
        peer.hello(TOKEN)
        assert peer.call(ECHO)["result"] == {}
        with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as web:
            web.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert web.recv(12) == b"HTTP/1.1 200"
            began = time.monotonic()
            assert gateway.stop() == 0
            # Without this, TLS shutdown waits 5 s on each of the two ports.
            assert time.monotonic() - began < 8


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

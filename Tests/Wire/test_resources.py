"""Limits on the resources that unauthenticated and slow callers can use, and the authentication between the suite's processes."""

import base64
import hmac
import json
import os
import socket
import ssl
import struct
import subprocess
import time

import pytest

from campanile_wire import Peer, reason
from wire_pki import ECHO, context, start_gateway, tls_flags
from wire_process import BINARIES, Process

TOKEN = "internal-token-of-the-resource-tests"
MIB = 1024 * 1024
ACCESS = "campanile.gateway.v1.AccessService/"


@pytest.fixture
def gateway(tmp_path):
    """Starts gateways with an echo server as their backend."""
    started = [Process("campanile-echo", tmp_path, internal_token=TOKEN)]

    def make(*flags):
        started.append(Process(
            "campanile-gateway", tmp_path, "--data-dir", str(tmp_path / f"data{len(started)}"), "--backends",
            f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{started[0].port}", *flags, internal_token=TOKEN))
        return started[-1]

    make.echo = started[0]
    yield make
    assert [process.stop() for process in reversed(started)] == [0] * len(started)


def api_key(gateway, principal="user/ada"):
    with Peer(gateway.port) as peer:
        peer.hello(TOKEN)
        return peer.call(ACCESS + "CreateApiKey", {"principal": principal})["result"]["secret"]


def test_idle_strangers_give_way_to_whoever_comes(gateway):
    process = gateway("--max-connections", "60")
    key = api_key(process)
    idle = [Peer(process.port) for _ in range(60)]
    with Peer(process.port) as peer:
        assert "result" in peer.hello(key)
        assert peer.call(ECHO, {"payload": "x"})["result"] == {"payload": "x"}
        assert any(reason(answer) == "TOO_MANY_CONNECTIONS" for answer in ended(idle))
    for peer in idle:
        peer.close()


def ended(peers):
    """Waits until the server has closed some of the connections, and returns their last frames."""
    deadline = time.monotonic() + 20
    found = []
    while not found and time.monotonic() < deadline:
        for peer in peers:
            peer.socket.settimeout(0.02)
            try:
                if (answer := peer.receive()) is not None:
                    found.append(answer)
            except TimeoutError:
                pass
    return found


def test_an_address_has_its_limit_and_trusted_links_do_not_count(gateway):
    process = gateway("--max-connections-per-address", "20")
    trusted = [Peer(process.port) for _ in range(19)]
    for peer in trusted:
        assert "result" in peer.hello(TOKEN)
    trusted += [Peer(process.port) for _ in range(10)]
    for peer in trusted[19:]:
        assert "result" in peer.hello(TOKEN)
    strangers = [Peer(process.port) for _ in range(20)]
    for peer in strangers:
        assert "result" in peer.call("rpc.ping")
    with Peer(process.port) as peer:
        answer = peer.receive()
        assert reason(answer) == "TOO_MANY_CONNECTIONS" and "max-connections-per-address" in answer["error"]["message"]
        assert peer.receive() is None
    for peer in trusted + strangers:
        peer.close()


def unfinished(port, key=None, size=4 * MIB - 1024):
    """Returns a connection that has sent a frame with a payload of `size` bytes, except for the last byte of the frame."""
    peer = Peer(port)
    if key:
        assert "result" in peer.hello(key)
    text = json.dumps({"jsonrpc": "2.0", "id": 9, "method": ECHO, "params": {"payload": "x" * size}}).encode()
    try:
        peer.send_bytes(struct.pack(">I", len(text)) + text[:-1])
    except (BrokenPipeError, ConnectionResetError):
        pass
    return peer


def growth(process, before):
    """Returns the maximum growth of the process's memory within a second."""
    end, most = time.monotonic() + 1, 0
    while time.monotonic() < end:
        most = max(most, process.rss_bytes() - before)
        time.sleep(0.01)
    return most


def test_unfinished_frames_of_strangers_cost_next_to_nothing(gateway):
    process = gateway()
    key = api_key(process)
    before = process.rss_bytes()
    peers = [unfinished(process.port) for _ in range(24)]
    assert growth(process, before) < 24 * MIB
    assert {reason(answer) for answer in ended(peers)} == {"FRAME_NEEDS_CREDENTIAL"}
    # If the credential is before params, or in rpc.hello, the same frame is served.
    payload = "x" * MIB
    with Peer(process.port) as peer:
        metadata = {"authorization": "Bearer " + key}
        peer.send({"jsonrpc": "2.0", "id": 1, "method": ECHO, "metadata": metadata, "params": {"payload": payload}})
        assert peer.receive()["result"] == {"payload": payload}
    with Peer(process.port) as peer:
        peer.hello(key)
        assert peer.call(ECHO, {"payload": payload})["result"] == {"payload": payload}
    for peer in peers:
        peer.close()


def test_unfinished_frames_of_a_caller_stay_within_its_share(gateway):
    process = gateway("--max-waiting-bytes", str(64 * MIB))
    key, other = api_key(process), api_key(process, "user/bob")
    before = process.rss_bytes()
    peers = [unfinished(process.port, key) for _ in range(24)]
    assert growth(process, before) < 60 * MIB
    assert {reason(answer) for answer in ended(peers)} == {"WAITING_BYTES_EXCEEDED"}
    payload = "x" * (3 * MIB)
    with Peer(process.port) as peer:
        peer.hello(other)
        assert peer.call(ECHO, {"payload": payload})["result"] == {"payload": payload}
    for peer in peers:
        peer.close()


def test_what_a_caller_does_not_read_stays_within_its_share(gateway):
    """Fourteen connections of one user, each with large unread responses."""
    process = gateway("--max-waiting-bytes", str(32 * MIB))
    key = api_key(process)
    before = process.rss_bytes()
    peers = []
    for _ in range(14):
        peer = Peer(process.port, receive_buffer_bytes=4096)
        peer.hello(key)
        for number in range(3):
            peer.send({"jsonrpc": "2.0", "id": number, "method": ECHO, "params": {"payload": "x" * (2 * MIB)}})
            time.sleep(0.05)
        peers.append(peer)
    assert growth(process, before) < 70 * MIB
    with Peer(process.port) as peer:
        peer.hello(api_key(process, "user/bob"))
        assert peer.call(ECHO, {"payload": "x" * MIB})["result"] == {"payload": "x" * MIB}
    for peer in peers:
        peer.close()


# The internal token.


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def code(sender, token, client_nonce, server_nonce):
    text = f"campanile-hello-{sender}/1\n{client_nonce}\n{server_nonce}"
    return base64url(hmac.new(token.encode(), text.encode(), "sha256").digest())


def begin(peer, nonce):
    return peer.call("rpc.hello", {"versions": ["1"], "agent": "python", "nonce": nonce})


@pytest.mark.parametrize("of_gateway", [False, True])
def test_both_ends_prove_the_internal_token(gateway, of_gateway):
    process = gateway() if of_gateway else gateway.echo
    nonce = base64url(os.urandom(32))
    with Peer(process.port) as peer:
        hello = begin(peer, nonce)["result"]
        assert hello["proofs"] == [code("server", TOKEN, nonce, hello["nonce"])]
        answer = peer.call("rpc.prove", {"proof": code("client", TOKEN, nonce, hello["nonce"])})
        assert answer["result"] == {"maxConcurrentCalls": 10_000, "maxControlFrames": 20_000}
        answer = peer.call(ECHO, {"payload": "x"}, metadata={"campanile-principal": "user/ada"})
        assert answer["result"] == {"payload": "x"}
        assert reason(peer.call("rpc.prove", {"proof": "x"})) == "CHALLENGE_MISSING"


def test_wrong_proofs_and_nonces_are_refused(gateway):
    echo = gateway.echo
    nonce = base64url(os.urandom(32))
    with Peer(echo.port) as peer:
        assert reason(peer.call("rpc.prove", {"proof": "x"})) == "CHALLENGE_MISSING"
    for wrong in (lambda hello: hello["proofs"][0], lambda hello: code("client", "another", nonce, hello["nonce"]), lambda _: ""):
        with Peer(echo.port) as peer:
            hello = begin(peer, nonce)["result"]
            assert reason(peer.call("rpc.prove", {"proof": wrong(hello)})) == "TOKEN_INVALID"
            assert peer.receive() is None
    for bad in ("", "x", "=" * 43, nonce + "A", 7):
        with Peer(echo.port) as peer:
            assert reason(begin(peer, bad)) == "NONCE_INVALID"


def test_a_listener_in_a_services_place_is_not_told_the_token(tmp_path):
    """A program listens on a service's port, for example after the service has stopped."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        process = Process(
            "campanile-gateway", tmp_path, "--data-dir", str(tmp_path / "data"), "--backends",
            f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{listener.getsockname()[1]}", internal_token=TOKEN)
        try:
            near, _ = listener.accept()
            peer = Peer.__new__(Peer)
            peer.socket, peer.buffer = near, b""
            near.settimeout(20)
            first = peer.receive()
            assert first["method"] == "rpc.hello" and TOKEN not in json.dumps(first)
            made_up = base64url(os.urandom(32))
            peer.send({"jsonrpc": "2.0", "id": first["id"], "result": {
                "version": "1", "maxFrameBytes": 4 * MIB, "nonce": made_up,
                "proofs": [code("server", "guessed", first["params"]["nonce"], made_up)]}})
            # Nothing follows, not even the client's proof.
            assert peer.receive() is None
        finally:
            assert process.stop() == 0


@pytest.mark.parametrize("text", ["qqqqq", "x" * 31, "x" * 40 + "\nsecond", "x" * 5000])
def test_a_short_internal_token_ends_the_start(tmp_path, text):
    file = tmp_path / "token"
    file.write_text(text + "\n")
    file.chmod(0o600)
    done = subprocess.run(
        [str(BINARIES / "campanile-echo"), "--port", "0", "--http-port", "0", "--internal-token-file", str(file)],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 78
    assert str(file) in done.stderr and "32 to 4096" in done.stderr and "openssl rand -hex 32" in done.stderr
    assert text[:20] not in done.stderr


# Encryption.


def test_old_cipher_suites_are_refused(start, pki):
    echo = start("campanile-echo", *tls_flags(pki))
    for suites, is_spoken in (("ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0", False), ("ECDHE-ECDSA-AES128-GCM-SHA256", True)):
        client = context(pki.authority)
        client.maximum_version = ssl.TLSVersion.TLSv1_2
        client.set_ciphers(suites)
        if is_spoken:
            with Peer(echo.port, tls=client) as peer:
                assert peer.call(ECHO)["result"] == {}
        else:
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                Peer(echo.port, tls=client)


def test_https_answers_ask_for_https_alone(start, pki):
    import http.client
    backend = start("campanile-echo", internal_token="internal-token-of-the-tls-tests-here")
    gateway = start_gateway(start, backend, *tls_flags(pki))
    link = http.client.HTTPSConnection("127.0.0.1", gateway.ready["http"], context=context(pki.authority), timeout=20)
    link.request("GET", "/nothing")
    answer = link.getresponse()
    assert answer.getheader("Strict-Transport-Security") == "max-age=31536000"
    link.close()


def revocation_list(folder, authority, *revoked, days=1):
    """Creates a revocation list in PEM with `openssl ca`."""
    home = folder / f"crl{len(list(folder.iterdir()))}"
    home.mkdir()
    (home / "index.txt").touch()
    (home / "crlnumber").write_text("01\n")
    settings = home / "openssl.cnf"
    settings.write_text(
        f"[ca]\ndefault_ca=own\n[own]\ndatabase={home}/index.txt\ncrlnumber={home}/crlnumber\ndefault_md=sha256\n"
        f"default_crl_days={days}\nprivate_key={authority.key}\ncertificate={authority.certificate}\n")
    for certificate, _ in revoked:
        subprocess.run(["openssl", "ca", "-config", str(settings), "-revoke", certificate], check=True, capture_output=True)
    made = home / "list.pem"
    subprocess.run(["openssl", "ca", "-config", str(settings), "-gencrl", "-out", str(made)], check=True, capture_output=True)
    return made


def brief(folder, authority, end):
    """Creates a certificate that expires at `end`, and its key. Returns their paths."""
    certificate, key, request = (str(folder / f"brief.{suffix}") for suffix in ("pem", "key", "csr"))
    (folder / "index.txt").touch()
    (folder / "serial").write_text("01\n")
    (folder / "extensions").write_text("subjectAltName=DNS:brief.test\n")
    settings = folder / "brief.cnf"
    settings.write_text(
        f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/index.txt\nserial={folder}/serial\nnew_certs_dir={folder}\n"
        f"default_md=sha256\npolicy=any\nprivate_key={authority.key}\ncertificate={authority.certificate}\n[any]\ncommonName=supplied\n")
    subprocess.run(
        ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=brief", "-keyout", key,
         "-out", request], check=True, capture_output=True)
    subprocess.run(
        ["openssl", "ca", "-config", str(settings), "-batch", "-notext", "-in", request, "-out", certificate, "-extfile",
         str(folder / "extensions"), "-startdate", "20200101000000Z", "-enddate", time.strftime("%Y%m%d%H%M%SZ", end)],
        check=True, capture_output=True)
    return certificate, key


def calls(port, pki, client):
    try:
        with Peer(port, tls=context(pki.authority, client)) as peer:
            return peer.call(ECHO, {"payload": "x"}) is not None
    except (ssl.SSLError, ConnectionResetError, BrokenPipeError):
        return False


def test_a_revoked_certificate_is_refused_from_the_reload_on(start, pki, tmp_path):
    used = tmp_path / "used.pem"
    used.write_bytes(revocation_list(tmp_path, pki.authority).read_bytes())
    echo = start("campanile-echo", *tls_flags(pki, mutual=True), "--tls-client-crl-file", str(used))
    assert calls(echo.port, pki, pki.client) and calls(echo.port, pki, pki.ada)
    assert not calls(echo.port, pki, pki.strange_client) and not calls(echo.port, pki, None)
    next_list = tmp_path / "next.pem"
    next_list.write_bytes(revocation_list(tmp_path, pki.authority, pki.client).read_bytes())
    next_list.rename(used)
    deadline = time.monotonic() + 20
    while calls(echo.port, pki, pki.client) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not calls(echo.port, pki, pki.client)
    assert calls(echo.port, pki, pki.ada)


def test_a_revocation_list_that_nobody_signed_ends_the_start(pki, tmp_path):
    certificate, key = pki.server
    for made, words in ((revocation_list(tmp_path, pki.stranger), "not signed"), (tmp_path / "none", "none")):
        done = subprocess.run(
            [str(BINARIES / "campanile-echo"), "--port", "0", "--http-port", "0", "--tls-cert-file", certificate, "--tls-key-file", key,
             "--tls-client-ca-file", pki.authority.certificate, "--tls-client-crl-file", str(made)],
            capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and words in done.stderr


def test_a_connection_ends_with_its_clients_certificate(start, pki, tmp_path):
    """The certificate expires after a few seconds."""
    certificate, key = brief(tmp_path, pki.authority, time.gmtime(time.time() + 6))
    echo = start("campanile-echo", *tls_flags(pki, mutual=True))
    with Peer(echo.port, tls=context(pki.authority, (certificate, key))) as peer:
        assert peer.call(ECHO, {"payload": "x"})["result"] == {"payload": "x"}
        answer = peer.receive()
        assert reason(answer) == "CERTIFICATE_EXPIRED"
        assert peer.receive() is None

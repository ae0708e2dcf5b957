"""Authentication with tokens created by PyJWT, on the RPC port and the HTTP port of a running gateway; and responses to exceeded limits."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.request

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from campanile_wire import Peer, reason
from wire_process import Process

ECHO = "campanile.rpc.v1.EchoService/Echo"
INTERNAL = "internal-token-of-the-access-test"
ISSUER = "https://issuer.example"


class Issuer:
    """Signs tokens, and writes its public keys as a JWK set to a file."""

    def __init__(self, path):
        self.path = path
        self.rsa = rsa.generate_private_key(65537, 2048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.publish()

    def publish(self):
        keys = [
            {**json.loads(RSAAlgorithm.to_jwk(self.rsa.public_key())), "kid": "rsa", "alg": "RS256", "use": "sig"},
            {**json.loads(ECAlgorithm.to_jwk(self.ec.public_key())), "kid": "ec", "alg": "ES256", "use": "sig"},
        ]
        for key in keys:
            key.pop("key_ops", None)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({"keys": keys}))
        os.replace(fresh, self.path)

    def claims(self, **changes):
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": "campanile", "sub": "ada", "iat": now, "nbf": now, "exp": now + 600, **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, kid="rsa", **changes):
        key, algorithm = (self.rsa, "RS256") if kid == "rsa" else (self.ec, "ES256")
        return jwt.encode(self.claims(**changes), key, algorithm=algorithm, headers={"kid": kid})

    def public_pem(self):
        return self.rsa.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def forged(header, claims, secret):
    """Returns a token with an HMAC, for a secret that PyJWT would refuse."""
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
    text = part(json.dumps(header).encode()) + b"." + part(json.dumps(claims).encode())
    return (text + b"." + part(hmac.new(secret, text, hashlib.sha256).digest())).decode()


@pytest.fixture(scope="module")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer") / "jwks.json")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, issuer):
    folder = tmp_path_factory.mktemp("access")
    echo = Process("campanile-echo", folder, internal_token=INTERNAL)
    gateway = Process(
        "campanile-gateway", folder, "--data-dir", str(folder / "data"), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{echo.port}", "--jwt-jwks-file", str(issuer.path), "--jwt-issuer",
        ISSUER, "--jwt-audiences", "campanile", "--anonymous-rate", "1000:1000", internal_token=INTERNAL)
    yield gateway
    gateway.stop()
    echo.stop()


def framed(gateway, token):
    """Returns the response to a call with the token in its metadata."""
    with Peer(gateway.port) as peer:
        return peer.call(ECHO, {"payload": "x"}, metadata={"authorization": f"Bearer {token}"})


def request(gateway, path, token, body=None):
    """Returns the status, headers and body of the response to a request with the token."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{gateway.ready['http']}{path}", data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize("kid", ["rsa", "ec"])
def test_tokens_are_believed_on_every_face(gateway, issuer, kid):
    token = issuer.token(kid)
    assert framed(gateway, token)["result"]["payload"] == "x"
    assert request(gateway, f"/{ECHO}", token, {"payload": "x"})[0] == 200
    with Peer(gateway.port) as peer:
        assert "result" in peer.hello(token)
        assert peer.call(ECHO, {"payload": "y"})["result"]["payload"] == "y"


def bad_tokens(issuer):
    now = int(time.time())
    stranger = rsa.generate_private_key(65537, 2048)
    claims = issuer.claims()
    good = issuer.token()
    head, body, signature = good.split(".")
    other = issuer.token(sub="root").split(".")[1]
    return {
        "expired": (issuer.token(exp=now - 600, nbf=now - 900), "CREDENTIAL_EXPIRED"),
        "wrong audience": (issuer.token(aud="other"), "CREDENTIAL_INVALID"),
        "no audience": (issuer.token(aud=None), "CREDENTIAL_INVALID"),
        "wrong issuer": (issuer.token(iss="https://evil.example"), "CREDENTIAL_INVALID"),
        "not yet": (issuer.token(nbf=now + 600), "CREDENTIAL_INVALID"),
        "no end": (issuer.token(exp=None), "CREDENTIAL_INVALID"),
        "no subject": (issuer.token(sub=None), "CREDENTIAL_INVALID"),
        "none": (jwt.encode(claims, None, algorithm="none", headers={"kid": "rsa"}), "CREDENTIAL_INVALID"),
        "HS256 with the public key": (
            forged({"alg": "HS256", "typ": "JWT", "kid": "rsa"}, claims, issuer.public_pem()), "CREDENTIAL_INVALID"),
        "another's key": (
            jwt.encode(claims, stranger, algorithm="RS256", headers={"kid": "rsa"}), "CREDENTIAL_INVALID"),
        "the other key's algorithm": (
            jwt.encode(claims, issuer.ec, algorithm="ES256", headers={"kid": "rsa"}), "CREDENTIAL_INVALID"),
        "RS512": (jwt.encode(claims, issuer.rsa, algorithm="RS512", headers={"kid": "rsa"}), "CREDENTIAL_INVALID"),
        "unknown key": (
            jwt.encode(claims, issuer.rsa, algorithm="RS256", headers={"kid": "nobody"}), "CREDENTIAL_INVALID"),
        "other claims": (".".join([head, other, signature]), "CREDENTIAL_INVALID"),
        "no signature": (f"{head}.{body}.", "CREDENTIAL_INVALID"),
        "header only": (head, "CREDENTIAL_INVALID"),
        "too long": (issuer.token(padding="x" * 4000), "CREDENTIAL_INVALID"),
    }


def test_other_tokens_are_refused_on_every_face(gateway, issuer):
    for name, (token, expected) in bad_tokens(issuer).items():
        answer = framed(gateway, token)
        assert reason(answer) == expected, (name, answer)
        assert answer["error"]["data"]["status"] == "UNAUTHENTICATED", name
        assert answer["error"]["data"]["processed"] is False, name
        # Public paths refuse invalid tokens as well.
        for path, body in [(f"/{ECHO}", {"payload": "x"}), ("/openapi.json", None), ("/nothing/here", None)]:
            assert request(gateway, path, token, body)[0] == 401, (name, path)
        with Peer(gateway.port) as peer:
            assert reason(peer.hello(token)) == expected, name
    assert gateway.is_running()


def test_scopes_of_tokens_count(gateway, issuer):
    assert framed(gateway, issuer.token(scope="openid echo:read"))["result"]["payload"] == "x"
    for scope in ["openid profile", "echo:write", "admin"]:
        assert reason(framed(gateway, issuer.token(scope=scope))) == "SCOPE_MISSING", scope


def test_keys_are_read_again_when_they_change(gateway, issuer):
    before = issuer.token()
    by_ec = issuer.token("ec")
    with Peer(gateway.port) as peer:
        assert "result" in peer.hello(before)
        assert "result" in peer.call(ECHO, {"payload": "x"})
        issuer.path.write_text("{")
        time.sleep(2.5)
        assert "result" in peer.call(ECHO, {"payload": "x"}), "a broken file changes nothing"
        issuer.rsa = rsa.generate_private_key(65537, 2048)
        issuer.publish()
        end = time.monotonic() + 30
        while "result" in (answer := peer.call(ECHO, {"payload": "x"})) and time.monotonic() < end:
            time.sleep(0.1)
        assert reason(answer) == "CREDENTIAL_REVOKED"
    assert reason(framed(gateway, before)) == "CREDENTIAL_INVALID"
    assert "result" in framed(gateway, issuer.token())
    assert "result" in framed(gateway, by_ec)


@pytest.mark.parametrize("with_each_call", [False, True])
def test_who_goes_on_beyond_its_rate_waits_and_others_do_not(tmp_path, with_each_call):
    echo = Process("campanile-echo", tmp_path, internal_token=INTERNAL)
    gateway = Process(
        "campanile-gateway", tmp_path, "--data-dir", str(tmp_path / "data"), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{echo.port}", "--principal-rate", "1:5", internal_token=INTERNAL)

    def key(principal):
        with Peer(gateway.port) as link:
            link.hello(INTERNAL)
            return link.call("campanile.gateway.v1.AccessService/CreateApiKey", {"principal": principal})["result"]["secret"]

    try:
        noisy, quiet = key("user/noisy"), key("user/quiet")
        count = 16_000  # 500 refusals are not delayed, then 5,000 per second: three seconds, more than the quiet call takes
        with Peer(gateway.port) as loud, Peer(gateway.port) as soft:
            if not with_each_call:
                loud.hello(noisy)
            soft.hello(quiet)
            own = {"metadata": {"authorization": f"Bearer {noisy}"}} if with_each_call else {}
            frames = b"".join(
                Peer.frame({"jsonrpc": "2.0", "id": k, "method": ECHO, "params": {"payload": "x"}, **own}) for k in range(count))
            sender = threading.Thread(target=loud.send_bytes, args=(frames,))
            sender.start()
            answers = [loud.receive()]
            assert "result" in soft.call(ECHO, {"payload": "quiet"})
            metrics = urllib.request.urlopen(f"http://127.0.0.1:{gateway.ready['admin']}/metrics", timeout=20).read().decode()
            [line] = [line for line in metrics.splitlines()
                      if line.startswith("campanile_server_handled_total{") and 'code="RESOURCE_EXHAUSTED",method="Echo"' in line]
            assert float(line.split()[-1]) < count - 1000, "the quiet caller had to wait for the noisy one"
            # No call is lost: each has one response.
            answers += [loud.receive() for _ in range(count - 1)]
            sender.join()
            assert sorted(answer["id"] for answer in answers) == list(range(count))
            assert {reason(answer) for answer in answers if "error" in answer} == {"RATE_LIMITED"}
        connection = http.client.HTTPConnection("127.0.0.1", gateway.ready["http"], timeout=20)
        statuses = set()
        for _ in range(700):
            connection.request("POST", f"/{ECHO}", '{"payload": "x"}', {"Authorization": f"Bearer {noisy}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            statuses.add(answer.status)
        assert statuses <= {200, 429} and 429 in statuses
        connection.close()
    finally:
        gateway.stop()
        echo.stop()


def test_rates_are_told(tmp_path, issuer):
    echo = Process("campanile-echo", tmp_path, internal_token=INTERNAL)
    gateway = Process(
        "campanile-gateway", tmp_path, "--data-dir", str(tmp_path / "data"), "--backends",
        f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{echo.port}", "--jwt-jwks-file", str(issuer.path), "--jwt-issuer",
        ISSUER, "--jwt-audiences", "campanile", "--principal-rate", "1:5", internal_token=INTERNAL)
    try:
        token = issuer.token()
        statuses, left = [], []
        for _ in range(8):
            status, headers, _ = request(gateway, f"/{ECHO}", token, {"payload": "x"})
            statuses.append(status)
            left.append(int(headers["RateLimit-Remaining"]))
            assert headers["RateLimit-Limit"] == "5" and 0 <= int(headers["RateLimit-Reset"]) <= 5
        assert statuses[:5] == [200] * 5 and 429 in statuses and left[0] == 4 and min(left) == 0
        answer = framed(gateway, token)
        while "result" in answer:
            answer = framed(gateway, token)
        assert reason(answer) == "RATE_LIMITED" and answer["error"]["data"]["processed"] is False
        assert answer["error"]["data"]["retryAfterMs"] > 0
        assert any(detail["@type"].endswith("RetryInfo") for detail in answer["error"]["data"]["details"])
        assert "result" in framed(gateway, issuer.token(sub="grace"))
    finally:
        gateway.stop()
        echo.stop()

"""Contents uploaded to the gateway as the bodies of PUT requests, against running processes."""

import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import signal
import socket

import pytest
from campanile import eventually
from test_gateway_http import base, key, port, request, rest  # noqa: F401

ZONE = "/sync/v1/zones/ZentikSyncZone/assets/"
LAST_WRITE_WINS = "onConflict=CONFLICT_POLICY_LAST_WRITE_WINS"


@pytest.fixture(scope="module")
def device(base, key):
    rest(base, "PUT", "/sync/v1/syncDevices/web", key, {"role": "DEVICE_ROLE_WRITER"})
    return "web"


def digest(content, name="Repr-Digest"):
    encoded = base64.b64encode(hashlib.sha256(content).digest()).decode()
    return {name: f"SHA-256={encoded}" if name == "Digest" else f"sha-256=:{encoded}:"}


class Wire:
    """A connection on which a request can be sent piece by piece."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def head(self, method, target, key, headers):
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
        if key:
            lines.append(f"Authorization: Bearer {key}")
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def answer(self):
        """Status, headers with lower-case names, and body of a response."""
        read = self.socket.makefile("rb")
        status = int(read.readline().split()[1])
        headers = {}
        while line := read.readline().strip():
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return status, headers, read.read(int(headers.get("content-length", 0)))

    def close(self):
        self.socket.close()


def put(port, name, content, key, device="web", query=f"recordType=Note&{LAST_WRITE_WINS}", **headers):
    headers = {k.replace("_", "-"): v for k, v in headers.items()}
    if not any("digest" in name.lower() for name in headers):
        headers |= digest(content)
    wire = Wire(port)
    wire.head("PUT", f"{ZONE}{name}/content?deviceId={device}&{query}", key,
              {"Content-Length": str(len(content)), "Content-Type": "application/json", **headers})
    try:
        wire.socket.sendall(content)
    except OSError:
        # The request is refused before its end.
        pass
    found = wire.answer()
    wire.close()
    return found


def reason(body):
    return json.loads(body)["error"]["details"][0]["reason"]


def uploads_left(base, key):
    """The number of uploads that the user may still create, found by creating them."""
    made = []
    while True:
        body = {"deviceId": "web", "recordType": "Note", "sizeBytes": "1", "sha256": "0" * 64}
        status, _, content = request(base, "POST", "/sync/v1/uploads", key, body)
        if status != 200:
            assert status == 429, content
            break
        made.append(json.loads(content)["upload"]["id"])
    for one in made:
        rest(base, "DELETE", f"/sync/v1/uploads/{one}", key)
    return len(made)


def test_content_is_stored_and_returned(base, port, key, device):
    first = json.dumps({"a": [1, "due"]}).encode()
    status, headers, body = put(port, "put.json", first, key)
    assert status == 201, body
    etag = headers["etag"]
    assert json.loads(body)["asset"]["etag"] == etag.strip('"')
    assert headers["repr-digest"] == digest(first)["Repr-Digest"]
    status, got, whole = request(base, "GET", f"{ZONE}put.json/content", key)
    assert status == 200 and whole == first and got["ETag"] == etag
    # An existing asset needs no record type, and both digest headers are accepted, old and new.
    second = b'{"a":2}'
    for name in ("Content-Digest", "Digest"):
        second += b" "
        status, headers, body = put(port, "put.json", second, key, query="", If_Match=etag, **digest(second, name))
        assert status == 200 and headers["etag"] != etag, body
        etag = headers["etag"]
    assert request(base, "GET", f"{ZONE}put.json/content", key)[2] == second
    status, got, body = request(base, "HEAD", f"{ZONE}put.json/content", key)
    assert status == 200 and body == b"" and got["Content-Length"] == str(len(second)) and got["ETag"] == etag
    assert {"get", "head", "put"} <= set(rest(base, "GET", "/openapi.json")["paths"]["/sync/v1/zones/{zoneId}/assets/{name}/content"])
    # The connection remains usable.
    wire = Wire(port)
    for _ in range(2):
        wire.head("HEAD", f"{ZONE}put.json/content", key, {})
        head = b""
        while b"\r\n\r\n" not in head:
            head += wire.socket.recv(4096)
        assert head.endswith(b"\r\n\r\n") and head.startswith(b"HTTP/1.1 200")
    for _ in range(2):
        wire.head("PUT", f"{ZONE}put.json/content?deviceId=web&{LAST_WRITE_WINS}", key, {"Content-Length": str(len(second)), **digest(second)})
        wire.socket.sendall(second)
        assert wire.answer()[0] == 200
    wire.close()


def test_conditions_are_checked(base, port, key, device):
    content = b"[1]"
    # A put under a condition needs no policy for conflicts.
    assert put(port, "if.json", content, key, query="recordType=Note", If_Match='"nothing"')[0] == 412
    assert put(port, "if.json", content, key, query="recordType=Note", If_Match="*")[0] == 412
    assert put(port, "if.json", content, key, query="recordType=Note", If_None_Match="*")[0] == 201
    status, _, body = put(port, "if.json", content, key, If_None_Match="*")
    assert status == 412 and reason(body) == "ETAG_MISMATCH"
    assert put(port, "if.json", content, key, If_Match='"another"')[0] == 412
    assert put(port, "if.json", b"[2]", key, If_Match="*")[0] == 200
    for odd in ({"If_None_Match": '"a"'}, {"If_Match": 'W/"a"'}, {"If_Match": "*", "If_None_Match": "*"}):
        status, _, body = put(port, "if.json", content, key, **odd)
        assert status == 400 and reason(body) == "CONDITION_UNSUPPORTED"
    assert request(base, "GET", f"{ZONE}if.json/content", key)[2] == b"[2]"


def test_refused_upload_leaves_nothing(base, port, key, device):
    before = uploads_left(base, key)
    good = b'{"a":1}'
    other = digest(b"other")
    cases = [
        (dict(content=good, **other), 400, "HASH_MISMATCH"),
        (dict(content=b"{nonsense}"), 400, "JSON_INVALID"),
        (dict(content=b""), 400, None),
        (dict(content=good, Repr_Digest="sha-256=:AAAA:"), 400, "DIGEST_INVALID"),
        (dict(content=good, Repr_Digest="sha-512=:AAAA:"), 400, "DIGEST_REQUIRED"),
        (dict(content=good, Repr_Digest=digest(good)["Repr-Digest"], Content_Digest=other["Repr-Digest"]), 400, "DIGEST_INVALID"),
        (dict(content=gzip.compress(good), Content_Encoding="gzip"), 415, "CONTENT_ENCODING_UNSUPPORTED"),
        (dict(content=good, Idempotency_Key="again"), 400, "IDEMPOTENCY_KEY_UNSUPPORTED"),
        (dict(content=good, query="recordType=Note&size=1"), 400, "QUERY_INVALID"),
        (dict(content=good, query="recordType=Note&onConflict=SOMEHOW", If_None_Match="*"), 400, "ENUM_UNKNOWN"),
        (dict(content=good, query=LAST_WRITE_WINS), 400, None),
        (dict(content=good, query="recordType=Note"), 400, "REQUIRED"),
        (dict(content=good, device="nobody"), 404, None),
    ]
    for arguments, status, why in cases:
        found, _, body = put(port, "wrong.json", key=key, **arguments)
        assert found == status, (arguments, body)
        if why:
            assert reason(body) == why
    wire = Wire(port)
    wire.head("PUT", f"{ZONE}wrong.json/content?deviceId=web&recordType=Note&{LAST_WRITE_WINS}", key, {"Transfer-Encoding": "chunked", **digest(good)})
    wire.socket.sendall(b"0\r\n\r\n")
    status, _, body = wire.answer()
    assert status == 411 and reason(body) == "LENGTH_REQUIRED"
    wire.close()
    # Refused before a byte of the body is sent.
    wire = Wire(port)
    wire.head("PUT", f"{ZONE}wrong.json/content?deviceId=web&recordType=Note&{LAST_WRITE_WINS}", key,
              {"Content-Length": "250000001", "Expect": "100-continue", **digest(good)})
    status, _, body = wire.answer()
    assert status == 413 and reason(body) == "CONTENT_TOO_LARGE"
    wire.close()
    # The error of a long request names the actual fault, not the length.
    wire = Wire(port)
    wire.head("PUT", f"{ZONE}wrong.json/content?deviceId=web&recordType=Note&{LAST_WRITE_WINS}", key, {"Content-Length": "100000000"})
    status, _, body = wire.answer()
    assert status == 400 and reason(body) == "DIGEST_REQUIRED"
    wire.close()
    assert request(base, "GET", f"{ZONE}wrong.json/content", key)[0] == 404
    assert put(port, "wrong.json", good, None)[0] == 401
    assert request(base, "DELETE", f"{ZONE}wrong.json/content", key)[0] == 405
    assert uploads_left(base, key) == before


def test_scopes_are_enforced(base, port, key, device, suite):
    def scoped(*scopes):
        options = [word for one in scopes for word in ("--scope", one)]
        return suite.run("keys", "create", "user/giulia", *options, "--secret-only", check=0).stdout.strip()

    content = b"[3]"
    reader, writer, stranger = scoped("sync:read"), scoped("sync:write"), scoped("notifications")
    for wrong in (reader, stranger):
        status, _, body = put(port, "scope.json", content, wrong)
        assert status == 403 and reason(body) == "SCOPE_MISSING"
    assert request(base, "GET", f"{ZONE}scope.json/content", reader)[0] == 404
    # A caller that may write but not read cannot get the content.
    assert put(port, "scope.json", content, writer)[0] == 200
    assert put(port, "scope.json", content, writer, If_None_Match="*")[0] == 412
    assert request(base, "GET", f"{ZONE}scope.json/content", writer)[0] == 403
    assert request(base, "GET", f"{ZONE}scope.json/content", reader)[2] == content


def test_broken_upload_leaves_nothing(base, port, key, device):
    before = uploads_left(base, key)
    content = b'"' + b"a" * 3_000_000 + b'"'
    wire = Wire(port)
    wire.head("PUT", f"{ZONE}broken.json/content?deviceId=web&recordType=Note&{LAST_WRITE_WINS}", key,
              {"Content-Length": str(len(content)), "Expect": "100-continue", **digest(content)})
    assert wire.socket.recv(4096).startswith(b"HTTP/1.1 100")
    wire.socket.sendall(content[:1_000_000])
    assert uploads_left(base, key) == before - 1
    wire.close()
    eventually(lambda: uploads_left(base, key) == before, "the upload is removed")
    assert request(base, "GET", f"{ZONE}broken.json/content", key)[0] == 404


def test_headers_are_conditions_and_keys_of_zones_and_assets(base, key, device):
    zone, asset = "/sync/v1/zones/by-header", "/sync/v1/zones/by-header/assets/a.json"

    def put(**headers):
        return request(base, "PUT", asset, key, {"deviceId": device, "put": {"recordType": "Note", "inlineContent": "MQ=="}}, **headers)

    made = [request(base, "POST", "/sync/v1/zones", key, {"zoneId": "by-header"}, Idempotency_Key="by-header") for _ in range(2)]
    assert [status for status, *_ in made] == [200, 200] and made[0][2] == made[1][2]
    first = request(base, "GET", zone, key)[1]["ETag"]
    # Without a condition, a put needs a policy for conflicts.
    status, _, body = put()
    assert status == 400 and reason(body) == "REQUIRED"
    assert put(If_Match='"v1"')[0] == 412
    created = rest(base, "PUT", asset, key, {"deviceId": device, "put": {"recordType": "Note", "inlineContent": "MQ==", "mustNotExist": True}})
    etag = f'"{created["asset"]["etag"]}"'
    status, headers, _ = put(If_Match=etag)
    assert status == 200 and headers["ETag"] != etag
    assert request(base, "DELETE", f"{asset}?deviceId={device}", key, If_Match=etag)[0] == 412
    assert request(base, "DELETE", f"{zone}?force=true", key, If_Match=first)[0] == 412
    last = request(base, "GET", zone, key)[1]["ETag"]
    assert last != first and request(base, "DELETE", f"{zone}?force=true", key, If_Match=last)[0] == 200


def test_large_content_needs_little_memory(suite, base, port, key, device):
    def peak_mb():
        status = pathlib.Path(f"/proc/{suite.children()['gateway']}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    content = b'"' + os.urandom(30_000_000).hex().encode() + b'"'
    before = peak_mb()
    status, headers, body = put(port, "large.json", content, key)
    assert status == 201, body
    assert peak_mb() - before < 30
    assert hashlib.sha256(request(base, "GET", f"{ZONE}large.json/content", key)[2]).digest() == hashlib.sha256(content).digest()


def test_slow_service_slows_its_caller(suite, base, port, key, device):
    """Data that the service does not read waits at the caller, not in the gateway."""
    content = b'"' + b"b" * 60_000_000 + b'"'
    wire = Wire(port)
    wire.head("PUT", f"{ZONE}slow.json/content?deviceId=web&recordType=Note&{LAST_WRITE_WINS}", key,
              {"Content-Length": str(len(content)), "Expect": "100-continue", **digest(content)})
    assert wire.socket.recv(4096).startswith(b"HTTP/1.1 100")
    os.kill(suite.children()["sync"], signal.SIGSTOP)
    try:
        wire.socket.settimeout(3)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < len(content):
                sent += wire.socket.send(content[sent:sent + 65_536])
        assert sent < 40_000_000
    finally:
        os.kill(suite.children()["sync"], signal.SIGCONT)
    wire.socket.settimeout(60)
    wire.socket.sendall(content[sent:])
    assert wire.answer()[0] == 201
    wire.close()
    rest(base, "DELETE", f"{ZONE}slow.json?deviceId=web", key)


def test_connectrpc_streams_requests(base, key, device):
    """A third-party client calls a client-streaming method over HTTP/1.1."""
    from connectrpc.client import ConnectClientSync
    from connectrpc.codec import proto_json_codec
    from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
    from protobuf.wkt.google.protobuf.struct_pb import Struct

    content = b'{"by":"' + b"c" * 300_000 + b'"}'
    made = rest(base, "POST", "/sync/v1/uploads", key, {
        "deviceId": device, "recordType": "Note", "sizeBytes": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()})

    def messages():
        yield {"start": {"uploadId": made["upload"]["id"]}}
        for at in range(0, len(content), 100_000):
            yield {"chunk": {"data": base64.b64encode(content[at:at + 100_000]).decode()}}

    # The messages of the method are JSON objects, and so is a Struct in JSON.
    method = MethodInfo(name="UploadContent", service_name="campanile.sync.v1.UploadsService", input=Struct, output=Struct,
                        stream_type=StreamType.CLIENT_STREAM, idempotency_level=IdempotencyLevel.IDEMPOTENT)
    with ConnectClientSync(base, codec=proto_json_codec()) as client:
        answer = client.execute_client_stream(
            request=(Struct.from_json(json.dumps(one)) for one in messages()), method=method,
            headers={"authorization": f"Bearer {key}"}, timeout_ms=30_000)
    assert json.loads(answer.to_json())["upload"]["complete"] is True
    rest(base, "DELETE", f"/sync/v1/uploads/{made['upload']['id']}", key)

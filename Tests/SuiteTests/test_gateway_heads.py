"""Attacks through the gateway's HTTP port on resources that all callers share, with real processes.

A request is judged by its head; before that, its body is neither stored nor decompressed.
"""

import contextlib
import json
import socket
import time
import zlib

import pytest
from campanile import PATIENCE_S, Suite

NOTIFICATIONS = "/campanile.notifications.v1.NotificationsService"
MIB = 1 << 20
JSON = "Content-Type: application/json"
LONG = "Content-Length: 999999999"
CONTENT = "/sync/v1/zones/Zone/assets/a.json/content"
DIGEST = "Repr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    # So few calls a second that a slow machine exceeds the rate, too.
    running = Suite(tmp_path_factory.mktemp("heads") / "data", "--demo", settings={"CAMPANILE_ANONYMOUS_RATE": "2:200"})
    yield running.wait_ready()
    running.stop()


@pytest.fixture(scope="module")
def port(suite):
    return suite.endpoints["gateway"]["http"]


@pytest.fixture(scope="module")
def key(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


def opened(port, line, *headers, body=b"", source="127.0.0.1"):
    """Opens a connection and sends a request. All of 127/8 is this machine, so a test can use many source addresses."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S, source_address=(source, 0))
    head = "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *headers, "", ""])
    connection.sendall(head.encode() + body)
    return connection


def read(connection):
    """All bytes until the other side closes."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def ask(port, line, *headers, **options):
    """Status and body of the response to one request, on a new connection."""
    with opened(port, line, "Connection: close", *headers, **options) as connection:
        head, _, body = read(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def bomb():
    """An unfinished gzip body with 4 MiB of blanks."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(b'{"notification":{"title":"' + b" " * (4 * MIB - 70_000)) + packer.flush(zlib.Z_SYNC_FLUSH)


def test_unfinished_bodies_of_strangers_do_not_block_others(suite, port, key):
    pid = suite.children()["gateway"]
    body = bomb()
    assert len(body) < 8_000
    before = resident_bytes(pid)
    # Half of the methods need a credential, half do not.
    paths = [f"{NOTIFICATIONS}/CreateNotification", "/campanile.attendance.v1.SessionsService/Login"]
    held = [
        opened(port, f"POST {paths[index % 2]}", JSON, "Content-Encoding: gzip", f"Content-Length: {len(body) + 8}",
               body=body, source=f"127.0.{index // 200}.{index % 200 + 2}")
        for index in range(150)]
    try:
        grown = resident_bytes(pid) - before
        assert grown < 64 * MIB, f"{grown // MIB} MiB for {len(held)} connections"
        body = json.dumps({"bucket": {"name": "in time"}}).encode()
        status, answer = ask(
            port, "POST /notifications/v1/buckets", JSON, f"Authorization: Bearer {key}", f"Content-Length: {len(body)}", body=body)
        assert status == 200, answer
        # A body that arrives in two parts is served, too.
        with opened(port, "POST /notifications/v1/buckets", "Connection: close", JSON, f"Authorization: Bearer {key}",
                    "Content-Length: 1000000") as slow:
            slow.sendall(b'{"bucket":{"name":"slow')
            time.sleep(0.1)
            slow.sendall(b'"}}' + b" " * (1_000_000 - 26))
            assert b" 200 " in read(slow).split(b"\r\n")[0]
    finally:
        for connection in held:
            connection.close()


REQUESTS = {
    "connect": ("POST " + NOTIFICATIONS + "/CreateNotification", "Content-Type: text/plain", "Content-Length: 3"),
    "connect, too long": ("POST " + NOTIFICATIONS + "/CreateNotification", JSON, LONG),
    "connect, coding": ("POST " + NOTIFICATIONS + "/CreateNotification", JSON, "Content-Encoding: br", "Content-Length: 3"),
    "connect get": ("GET " + NOTIFICATIONS + "/ListNotifications?encoding=json&base64=1&compression=gzip&message=e30",),
    "connect stream": ("POST " + NOTIFICATIONS + "/WatchNotifications", JSON, "Content-Length: 3"),
    "rest": ("POST /notifications/v1/buckets", JSON, "Content-Length: 3"),
    "rest, type": ("POST /notifications/v1/buckets", "Content-Type: text/plain", "Content-Length: 3"),
    "rest, too long": ("POST /notifications/v1/buckets", JSON, LONG),
    "rest, query": ("GET /notifications/v1/buckets?nothing=1",),
    "events": ("GET /notifications/v1/notifications:watch?nothing=1", "Accept: text/event-stream"),
    "content, no length": ("PUT " + CONTENT, DIGEST),
    "content, no digest": ("PUT " + CONTENT, "Content-Length: 3"),
    "content, query": ("PUT " + CONTENT + "?nothing=1", DIGEST, "Content-Length: 3"),
    "content, too long": ("PUT " + CONTENT, DIGEST, LONG),
    "content, body": ("GET " + CONTENT, "Content-Length: 3"),
    "kilwinning": ("POST /api/presenze", JSON, "Content-Length: 3"),
    "kilwinning, type": ("PUT /api/fratelli/1", "Content-Type: text/plain", "Content-Length: 3"),
    "kilwinning, too long": ("POST /api/admin/tornate", JSON, LONG),
    "kilwinning, query": ("GET /api/tornate?anno=x",),
    "zentik": ("POST /api/v1/messages", JSON, "Content-Length: 3"),
    "zentik, type": ("POST /api/v1/messages", "Content-Type: text/plain", "Content-Length: 3"),
    "zentik, ids": ("PATCH /api/v1/notifications/batch/read", JSON, "Content-Length: 3"),
    "zentik, too long": ("POST /api/v1/buckets/b_1/snooze-minutes", JSON, LONG),
    "firebase": ("POST /updateLiveActivity", JSON, "Content-Length: 3"),
    "firebase, type": ("POST /registerPushToStartToken", "Content-Type: text/plain", "Content-Length: 3"),
    "firebase, stream": ("POST /updateLiveActivity", JSON, "Accept: text/event-stream", "Content-Length: 3"),
    "firebase, too long": ("POST /updateLiveActivityTimer", JSON, LONG),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_credential_is_judged_before_anything_else(port, name):
    line, *headers = REQUESTS[name]
    body = b"{x}" if "Content-Length: 3" in headers else b""
    # A separate address, because the rate of strangers is limited by address.
    source = f"127.1.0.{list(REQUESTS).index(name) + 2}"
    assert ask(port, line, *headers, body=body, source=source)[0] == 401
    assert ask(port, line, "Authorization: Bearer cmp_x", *headers, body=body, source=source)[0] == 401


@pytest.mark.parametrize("line, body", [
    ("GET /api/fratelli", None),
    ("POST /api/v1/messages", {"bucketId": "cpk_" + "A" * 43, "deliveryType": "NORMAL", "title": "x"}),
])
def test_calls_of_strangers_in_dialects_have_the_rate_of_strangers(port, line, body):
    text = b"" if body is None else json.dumps(body).encode()
    headers = [] if body is None else [JSON, f"Content-Length: {len(text)}"]
    source = f"127.2.0.{len(text) + 2}"
    statuses = [ask(port, line, *headers, body=text, source=source)[0] for _ in range(320)]
    assert statuses[0] in (200, 401) and 429 in statuses
    # Other addresses are not affected.
    assert ask(port, line, *headers, body=text, source=f"127.2.1.{len(text) + 2}")[0] in (200, 401)


def test_bytes_behind_the_last_request_are_ignored(port, key):
    body = json.dumps({"bucket": {"name": "last"}}).encode()
    for behind in (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", b"x", b"\0"):
        status, answer = ask(
            port, "POST /notifications/v1/buckets", JSON, f"Authorization: Bearer {key}", f"Content-Length: {len(body)}",
            body=body + behind)
        assert status == 200 and b"last" in answer


@pytest.mark.parametrize("version, coding, status", [
    ("1.0", "chunked", 400), ("1.1", "gzip, chunked", 501), ("1.1", "foo, chunked", 501), ("1.1", "identity", 501),
    ("1.1", "chunked, chunked", 400),
])
def test_body_with_more_than_one_end_is_refused(port, key, version, coding, status):
    """Nothing is served after a body whose end another reader could place differently."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(
            f"POST /notifications/v1/buckets HTTP/{version}\r\nHost: localhost\r\nConnection: keep-alive\r\n{JSON}\r\n"
            f"Authorization: Bearer {key}\r\nTransfer-Encoding: {coding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        text = read(connection)
    assert text.count(b"HTTP/1.1 ") == 1
    assert int(text.split()[1]) in (status, 400), text


def test_two_credentials_in_a_query_are_refused(port, key):
    status, answer = ask(
        port, f"GET /notifications/v1/notifications:watch?access_token={key}&access_token={key}", "Accept: text/event-stream")
    assert status == 400 and b"REQUEST_INVALID" in answer

"""The gateway's HTTP frontends, called by third-party clients against running processes."""

import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest
from campanile import PATIENCE_S, ROOT, eventually

NOTIFICATIONS = "campanile.notifications.v1.NotificationsService"


@pytest.fixture(scope="module")
def key(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


@pytest.fixture(scope="module")
def port(suite):
    return suite.endpoints["gateway"]["http"]


@pytest.fixture(scope="module")
def base(port):
    return f"http://127.0.0.1:{port}"


def curl(*arguments, check=0):
    result = subprocess.run(["curl", "-sS", "--max-time", "30", *arguments], capture_output=True, timeout=PATIENCE_S)
    assert result.returncode == check, result.stderr
    return result.stdout


def request(base, method, path, key=None, body=None, **headers):
    """Sends a request and returns status, headers and the bytes of the body."""
    made = urllib.request.Request(base + path, method=method, data=None if body is None else json.dumps(body).encode())
    if body is not None:
        made.add_header("Content-Type", "application/json")
    if key:
        made.add_header("Authorization", f"Bearer {key}")
    for name, value in headers.items():
        made.add_header(name.replace("_", "-"), value)
    try:
        with urllib.request.urlopen(made, timeout=PATIENCE_S) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def rest(base, method, path, key=None, body=None, status=200, **headers):
    found, _, content = request(base, method, path, key, body, **headers)
    assert found == status, content
    return json.loads(content) if content else None


def test_curl_calls_by_connect_and_rest(base, key):
    authorization = f"Authorization: Bearer {key}"
    connect = json.loads(curl(
        "-H", authorization, "-H", "Content-Type: application/json", "-d", "{}", f"{base}/{NOTIFICATIONS}/ListBuckets"))
    assert connect == json.loads(curl("-H", authorization, f"{base}/notifications/v1/buckets"))
    assert connect["buckets"]
    compressed = curl("-H", authorization, "--compressed", "-i", f"{base}/notifications/v1/notifications?pageSize=100")
    assert b"content-encoding" in compressed.lower() and b"vary: accept-encoding" in compressed.lower()


def test_notification_lifecycle_over_rest(base, key):
    bucket = rest(base, "POST", "/notifications/v1/buckets", key, {"bucket": {"name": "Over HTTP"}})["bucket"]
    made = rest(base, "POST", "/notifications/v1/notifications", key,
                {"notification": {"bucketId": bucket["id"], "title": "hello"}, "requestId": "http-1"})["notification"]
    status, headers, content = request(base, "GET", f"/notifications/v1/notifications/{made['id']}", key)
    assert status == 200 and json.loads(content)["notification"]["title"] == "hello"
    etag = headers["ETag"]
    assert etag == f'"{made["etag"]}"'
    assert request(base, "GET", f"/notifications/v1/notifications/{made['id']}", key, If_None_Match=etag)[0] == 304
    path = f"/notifications/v1/notifications/{made['id']}"
    changed = rest(base, "PATCH", path, key, {"notification": {"title": "changed"}, "updateMask": "title"}, If_Match=etag)
    assert changed["notification"]["title"] == "changed"
    status, _, content = request(
        base, "PATCH", path, key, {"notification": {"title": "again"}, "updateMask": "title"}, If_Match=etag)
    assert status == 412, content
    assert json.loads(content)["error"]["status"] == "ABORTED"
    rest(base, "POST", "/notifications/v1/notifications:markRead", key, {"notificationIds": [made["id"]]})
    listed = rest(base, "GET", f"/notifications/v1/notifications?bucketId={bucket['id']}&pageSize=5", key)
    assert [n["id"] for n in listed["notifications"]] == [made["id"]]
    missing = rest(base, "GET", "/notifications/v1/notifications/nothing", key, status=404)
    assert missing["error"]["details"][0]["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    rest(base, "DELETE", f"/notifications/v1/buckets/{bucket['id']}", key)


def test_compressed_bodies_are_read_up_to_a_limit(base, key):
    made = urllib.request.Request(
        f"{base}/{NOTIFICATIONS}/ListBuckets", data=gzip.compress(b"{}"),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Content-Encoding": "gzip"})
    with urllib.request.urlopen(made, timeout=PATIENCE_S) as answer:
        assert json.loads(answer.read())["buckets"]
    bomb = gzip.compress(bytes(64 << 20))
    made.data = bomb
    made.remove_header("Content-length")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(made, timeout=PATIENCE_S)
    assert refused.value.code == 429 and json.loads(refused.value.read())["code"] == "resource_exhausted"


def test_operations_are_private_and_wrong_credentials_refused(suite, base, key):
    assert request(base, "GET", "/metrics", key)[0] == 404
    operators = f"http://127.0.0.1:{suite.endpoints['gateway']['admin']}"
    assert b"campanile_server_handled_total" in curl(f"{operators}/metrics")
    assert curl(f"{operators}/healthz") == b"ok\n"
    assert rest(operators, "GET", "/readyz")["status"] == "ready"
    assert curl(f"{base}/healthz") == b"ok\n"
    assert rest(base, "GET", "/readyz")["status"] == "ready"
    for path in ("/openapi.json", "/notifications/v1/buckets", "/nothing", f"/{NOTIFICATIONS}/Nothing"):
        assert request(base, "GET", path, "cmp_" + "A" * 43)[0] == 401
    assert request(base, "GET", "/notifications/v1/buckets")[0] == 401
    assert request(base, "GET", "/notifications/v1/buckets", key, Campanile_Principal="user/root")[0] == 400


def test_failures_keep_their_method_and_code_in_metrics(suite, key, base):
    for method in re.findall(r"campanile\.\w+\.v1\.\w+/\w+", suite.run("list", check=0).stdout):
        request(base, "POST", f"/{method}", key, {"unknown": "\ud800"})
    text = curl(f"http://127.0.0.1:{suite.endpoints['gateway']['admin']}/metrics").decode()
    failed = {line.split('method="')[1].split('"')[0] for line in text.splitlines() if 'code="INVALID_ARGUMENT"' in line}
    assert len(failed) > 50 and 'code="_OTHER"' not in text


class Events:
    """Reads an event stream as a browser does: fields, blank lines, ids (HTML standard, section 9.2.6)."""

    def __init__(self, base, path, key, last=None):
        made = urllib.request.Request(base + path, headers={"Accept": "text/event-stream", "Authorization": f"Bearer {key}"})
        if last:
            made.add_header("Last-Event-ID", last)
        self.answer = urllib.request.urlopen(made, timeout=PATIENCE_S)
        assert self.answer.headers["Content-Type"] == "text/event-stream"
        self.last = last

    def next(self):
        name, data = "message", []
        for line in self.answer:
            line = line.decode().rstrip("\n")
            if not line and data:
                return name, json.loads("\n".join(data))
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
            elif field == "id":
                self.last = value
        return None

    def close(self):
        self.answer.close()


def test_bucket_is_modified_by_counts_and_settings(base, key):
    bucket = rest(base, "POST", "/notifications/v1/buckets", key, {"bucket": {"name": "Conditional"}})["bucket"]["id"]
    path = f"/notifications/v1/buckets/{bucket}"
    etag = f'"{rest(base, "GET", path, key)["bucket"]["etag"]}"'
    assert request(base, "GET", path, key, If_None_Match=etag)[0] == 304
    rest(base, "POST", "/notifications/v1/notifications", key, {"notification": {"bucketId": bucket, "title": "counts"}})
    status, headers, body = request(base, "GET", path, key, If_None_Match=etag)
    assert status == 200 and json.loads(body)["bucket"]["unreadCount"] == 1
    muted = rest(base, "PATCH", path + "/settings", key, {"settings": {"isMuted": True}, "updateMask": "isMuted"})
    assert muted["settings"]["isMuted"]
    status, later, body = request(base, "GET", path, key, If_None_Match=headers["ETag"])
    assert status == 200 and json.loads(body)["bucket"]["settings"] == muted["settings"]
    # Counts are no conflict for a change.
    rest(base, "POST", "/notifications/v1/notifications", key, {"notification": {"bucketId": bucket, "title": "more"}})
    rest(base, "PATCH", path, key, {"bucket": {"name": "Renamed"}, "updateMask": "name"}, If_Match=later["ETag"])
    status, _, body = request(base, "PATCH", path, key, {"bucket": {"name": "Late"}, "updateMask": "name"}, If_Match=later["ETag"])
    assert status == 412, body
    rest(base, "DELETE", path, key)


def test_events_resume_after_the_last_event_id(base, key):
    bucket = rest(base, "POST", "/notifications/v1/buckets", key, {"bucket": {"name": "Events"}})["bucket"]
    events = Events(base, f"/notifications/v1/notifications:watch?bucketId={bucket['id']}", key)
    assert "started" in events.next()[1]

    def publish(title):
        rest(base, "POST", "/notifications/v1/notifications", key, {"notification": {"bucketId": bucket["id"], "title": title}})

    publish("one")
    seen = events.next()
    while "notificationCreated" not in seen[1].get("change", {}):
        seen = events.next()
    assert seen[1]["change"]["notificationCreated"]["title"] == "one" and events.last
    last = events.last
    events.close()
    publish("two")
    again = Events(base, f"/notifications/v1/notifications:watch?bucketId={bucket['id']}", key, last)
    titles = []
    while "two" not in titles:
        change = again.next()[1].get("change", {})
        if "notificationCreated" in change:
            titles.append(change["notificationCreated"]["title"])
    assert titles == ["two"]
    again.close()
    rest(base, "DELETE", f"/notifications/v1/buckets/{bucket['id']}", key)


def test_events_are_refused_with_a_status(base, key):
    assert request(base, "GET", "/notifications/v1/notifications:watch?resumeToken=nonsense", key)[0] in (400, 409)
    assert request(base, "GET", "/notifications/v1/notifications:watch")[0] == 401


def test_asset_content_is_served_whole_and_in_ranges(suite, base, key):
    path = "/sync/v1/zones/ZentikSyncZone/assets/buckets.json"

    def exported():
        status, _, asset = request(base, "GET", path, key)
        if status == 200:
            asset = json.loads(asset)["asset"]
            answer = request(base, "GET", path + "/content", key)
            # The export may write a newer version in between.
            return answer[1]["ETag"] == f'"{asset["etag"]}"' and (asset, answer)

    asset, (status, headers, whole) = eventually(exported, "the sample's buckets.json")
    assert status == 200 and hashlib.sha256(whole).hexdigest() == asset["sha256"] and len(whole) == int(asset["sizeBytes"])
    assert json.loads(whole)["buckets"]
    assert headers["Accept-Ranges"] == "bytes"
    assert headers["Repr-Digest"] == f"sha-256=:{base64.b64encode(bytes.fromhex(asset['sha256'])).decode()}:"
    version = f"{path}/content?version={asset['version']}"
    size = len(whole)
    for text, first, last in (("0-0", 0, 0), ("10-19", 10, 19), (f"{size - 5}-", size - 5, size - 1), (f"5-{size + 9}", 5, size - 1)):
        status, headers, part = request(base, "GET", version, key, Range=f"bytes={text}")
        assert status == 206 and part == whole[first:last + 1]
        assert headers["Content-Range"] == f"bytes {first}-{last}/{size}"
    for text in (f"{size}-", f"{size + 1}-"):
        assert request(base, "GET", version, key, Range=f"bytes={text}")[0] == 416
    for other in ({"Range": "bytes=-5"}, {"Range": "bytes=0-1", "If_Range": '"x"'}, {"Range": "lines=1-2"}, {"Accept_Encoding": "gzip"}):
        status, headers, content = request(base, "GET", version, key, **other)
        assert status == 200 and content == whole and headers["Content-Encoding"] is None
    assert request(base, "GET", version, key, If_None_Match=f'"{asset["etag"]}"')[0] == 304
    assert request(base, "GET", "/sync/v1/zones/ZentikSyncZone/assets/nothing.json/content", key)[0] == 404
    assert request(base, "GET", path + "/content?more=1", key)[0] == 400
    assert request(base, "GET", path + "/content")[0] == 401
    assert request(base, "PATCH", path + "/content", key, {})[0] == 405


def test_connectrpc_works_unmodified(base, key):
    from connectrpc.client import ConnectClientSync
    from connectrpc.code import Code
    from connectrpc.codec import proto_json_codec
    from connectrpc.errors import ConnectError
    from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
    from protobuf.wkt.google.protobuf.struct_pb import Struct

    def method(name, shape=StreamType.UNARY):
        # The messages of these methods are JSON objects, and so is a Struct in JSON.
        return MethodInfo(name=name, service_name=NOTIFICATIONS, input=Struct, output=Struct, stream_type=shape,
                          idempotency_level=IdempotencyLevel.NO_SIDE_EFFECTS)

    headers = {"authorization": f"Bearer {key}"}
    with ConnectClientSync(base, codec=proto_json_codec()) as client:
        for use_get in (False, True):
            answer = client.execute_unary(
                request=Struct(), method=method("ListBuckets"), headers=headers, use_get=use_get, timeout_ms=5000)
            assert json.loads(answer.to_json())["buckets"]
        with pytest.raises(ConnectError) as refused:
            client.execute_unary(request=Struct(), method=method("ListBuckets"), headers={})
        assert refused.value.code == Code.UNAUTHENTICATED
        assert refused.value.details
        stream = client.execute_server_stream(request=Struct(), method=method("WatchNotifications", StreamType.SERVER_STREAM), headers=headers)
        assert "started" in json.loads(next(iter(stream)).to_json())
        del stream


def test_buf_curl_works_unmodified(base, key, tmp_path):
    buf = shutil.which("buf") or shutil.which("buf", path=pathlib.Path(sys.executable).parent)
    # The descriptors that reflection returns are buf's schema.
    status, _, content = request(
        base, "POST", "/campanile.rpc.v1.ReflectionService/GetFileDescriptorSet", key, {"service": NOTIFICATIONS})
    assert status == 200, content
    (tmp_path / "image.binpb").write_bytes(base64.b64decode(json.loads(content)["fileDescriptorSet"]))
    answer = subprocess.run(
        [buf, "curl", "--protocol", "connect", "--schema", str(tmp_path / "image.binpb"), "-H",
         f"Authorization: Bearer {key}", "-d", "{}", f"{base}/{NOTIFICATIONS}/ListBuckets"],
        capture_output=True, timeout=PATIENCE_S, cwd=tmp_path, env=os.environ | {"HOME": str(tmp_path)})
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["buckets"]


def test_drain_ends_streams_with_a_status(start):
    suite = start("drain", "--demo").wait_ready()
    key = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    port = suite.endpoints["gateway"]["http"]
    events = Events(f"http://127.0.0.1:{port}", "/notifications/v1/notifications:watch", key)
    assert "started" in events.next()[1]
    ended = []
    reader = threading.Thread(target=lambda: ended.append(events.next()))
    reader.start()
    assert suite.stop() == 0
    reader.join(PATIENCE_S)
    assert ended and ended[0][0] == "failure" and ended[0][1]["error"]["status"] == "UNAVAILABLE"


def test_open_connections_do_not_prevent_shutdown(start):
    suite = start("open").wait_ready()
    idle = socket.create_connection(("127.0.0.1", suite.endpoints["gateway"]["http"]))
    half = socket.create_connection(("127.0.0.1", suite.endpoints["gateway"]["http"]))
    half.sendall(b"GET /v1/buck")
    assert suite.stop() == 0
    idle.close()
    half.close()

"""Small inputs that expand enormously: compressed bodies, deep and wide JSON, patches of copies.

Each is refused or bounded, memory stays small, and later callers are served.
"""

import base64
import contextlib
import gzip
import hashlib
import json
import urllib.error
import urllib.parse
import urllib.request
import zlib

import pytest

from campanile import Suite
from sync_client import Link

MIB = 1 << 20
# Maximum growth of a process; a bomb expands to a gibibyte, far more than this.
GROWTH_BYTES = 192 * MIB


def packed(form, sizes=1024):
    """A valid JSON value with `sizes` MiB of blanks, compressed as gzip or zlib."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if form == "gzip" else 15)
    parts = [packer.compress(b'{"notification":{"title":"')]
    parts += [packer.compress(b" " * MIB) for _ in range(sizes)]
    parts += [packer.compress(b'"}}'), packer.flush()]
    return b"".join(parts)


@pytest.fixture(scope="module")
def bombs():
    return {form: packed(form) for form in ("gzip", "deflate")}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    running = Suite(tmp_path_factory.mktemp("bombs") / "data")
    yield running.wait_ready()
    running.stop()


@pytest.fixture(scope="module")
def key(suite):
    return suite.key("user/bomber")


def rss_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


@contextlib.contextmanager
def cheap(suite):
    """Asserts that the block costs no process much memory at any time, and that all processes survive and serve."""
    before = {name: (pid, rss_bytes(pid)) for name, pid in suite.children().items()}
    yield
    for name, (pid, size) in before.items():
        assert suite.children()[name] == pid, f"{name} died"
        grown = rss_bytes(pid) - size
        assert grown < GROWTH_BYTES, f"{name} grew by {grown // MIB} MiB"
    assert suite.run("health", check=0)


def post(suite, key, path, body, **headers):
    """The status of a request; 0 if the connection was closed."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{suite.endpoints['gateway']['http']}{path}", data=body,
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


CREATE = "/campanile.notifications.v1.NotificationsService/CreateNotification"


@pytest.mark.parametrize("form", ["gzip", "deflate"])
@pytest.mark.parametrize("path", ["/notifications/v1/notifications", CREATE, "/api/v1/messages"])
def test_compressed_bombs_are_refused(suite, key, bombs, form, path):
    with cheap(suite):
        for _ in range(4):
            assert post(suite, key, path, bombs[form], **{"Content-Encoding": form}) in (0, 400, 413, 415, 429, 501)
        # Compressing twice does not bypass the limit.
        assert post(suite, key, path, gzip.compress(bombs[form]), **{"Content-Encoding": f"{form}, gzip"}) in (0, 400, 413, 415, 429, 501)


def test_small_compressed_body_is_accepted(suite, key):
    body = gzip.compress(json.dumps({"bucket": {"name": "packed"}}).encode())
    assert post(suite, key, "/notifications/v1/buckets", body, **{"Content-Encoding": "gzip"}) == 200


def test_compressed_bombs_in_urls_are_refused(suite, key):
    small = urllib.parse.quote(base64.urlsafe_b64encode(packed("gzip", 4)).decode())
    request = f"{CREATE.replace('CreateNotification', 'ListBuckets')}?connect=v1&encoding=json&compression=gzip&base64=1&message={small}"
    with cheap(suite):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(
                f"http://127.0.0.1:{suite.endpoints['gateway']['http']}{request}", headers={"Authorization": f"Bearer {key}"}), timeout=30)
        assert refused.value.code in (400, 413, 414, 429)


def hostile_values():
    """Hostile JSON values to use as a title, each below 4 MiB."""
    deep = 1_000_000
    return {
        "arrays in arrays": "[" * deep + "]" * deep, "objects in objects": '{"a":' * (deep // 2) + "1" + "}" * (deep // 2),
        "unclosed": "[" * deep, "a long number": "9" * 3_000_000, "a long fraction": "0." + "1" * 3_000_000, "an exponent": "1e999999999",
        "many members": "{" + ",".join(f'"{number}":1' for number in range(250_000)) + "}", "the same member": "{" + '"a":1,' * 400_000 + '"a":1}',
        "many elements": "[" + "1," * 1_400_000 + "1]", "escapes": '"' + "\\u0000" * 500_000 + '"', "half a pair": '"' + "\\ud800" * 400_000 + '"',
        "blanks": " " * 3_000_000 + "1"}


@pytest.mark.parametrize("name", hostile_values())
def test_hostile_json_is_refused(suite, key, name):
    value = hostile_values()[name]
    with cheap(suite):
        for body in (f'{{"notification":{{"title":{value}}}}}', f'{{"contentStateJson":{json.dumps(value)},"activityId":"a"}}', value):
            assert post(suite, key, "/notifications/v1/notifications", body.encode()) in (400, 413)
            method = "campanile.activities.v1.ActivitiesService/UpdateActivity" if "contentStateJson" in body else CREATE[1:]
            with Link(suite.endpoints["gateway"]["rpc"], token=key) as link:
                link.send(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{body}}}')
                answer = link.receive()
                assert answer is not None and "error" in answer, str(answer)[:200]
                assert "result" in link.call("rpc.ping")


def test_compressed_chunks_are_bounded(suite, key):
    """A compressed chunk may expand to at most the maximum size of a chunk."""
    with cheap(suite), Link(suite.endpoints["gateway"]["rpc"], token=key) as link:
        link.register("d", "WRITER")
        content = b"{}"
        upload = link.create_upload("d", content)["id"]
        stream = link.open("UploadsService/UploadContent")

        def message(value):
            link.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": value}})
        message({"start": {"uploadId": upload, "offset": "0"}})
        message({"chunk": {"data": base64.b64encode(packed("gzip", 512)).decode(), "encoding": "CHUNK_ENCODING_GZIP"}})
        while "method" in (frame := link.receive()):
            pass
        assert frame["error"]["data"]["status"] in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"), frame


def test_patches_of_copies_are_refused(suite, key):
    """Each copy doubles the document: thirty copies would make a terabyte."""
    with cheap(suite), Link(suite.endpoints["gateway"]["rpc"], token=key) as link:
        link.register("p", "WRITER")
        asset = link.put("p", "doubling.json", json.dumps({"a": ["x" * 1000]}).encode())["asset"]
        copies = [{"op": "copy", "from": "/a", "path": "/a/-"} for _ in range(30)]
        told = link.refusal("AssetsService/PatchAsset", {
            "deviceId": "p", "name": "doubling.json", "etag": asset["etag"], "jsonPatch": json.dumps(copies)})
        assert told.split()[0] in ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"), told
        found = hashlib.sha256(link.content("doubling.json")).hexdigest()
        assert found == hashlib.sha256(json.dumps({"a": ["x" * 1000]}).encode()).hexdigest()

"""Publishing with one line of curl: texts, headers, queries and files, and everything that must be refused."""

import datetime
import http.client
import json
import subprocess

import pytest
from campanile import PATIENCE_S

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")


@pytest.fixture(scope="module")
def base(suite):
    return f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/publish"


@pytest.fixture(scope="module")
def key(suite):
    return suite.key("user/publisher")


@pytest.fixture
def bucket(suite, key):
    made = suite.call("CreateBucket", {"bucket": {"name": "Builds & co"}}, key)["bucket"]
    yield made["id"]
    suite.call("DeleteBucket", {"bucketId": made["id"]}, key)


@pytest.fixture
def secret(suite, key, bucket):
    return suite.call("CreatePublishKey", {"bucketId": bucket, "name": "script"}, key)["secret"]


def curl(*arguments, input=None):
    """Runs curl. Returns the status and the response's JSON."""
    made = subprocess.run(
        ["curl", "-sS", "-w", "\n%{http_code}", *arguments], input=input, capture_output=True, timeout=PATIENCE_S)
    assert made.returncode == 0, made.stderr
    text, _, status = made.stdout.rpartition(b"\n")
    return int(status), json.loads(text)


def reasons(answer):
    """The invalid parameters of an error with their reasons, or the reason of the error."""
    details = answer["error"]["details"]
    found = {violation["field"]: violation["reason"] for detail in details for violation in detail.get("fieldViolations", [])}
    return found or details[0]["reason"]


def stored(suite, key, bucket):
    return suite.call("ListNotifications", {"bucketId": bucket}, key).get("notifications", [])


def test_one_line_publishes_with_a_publish_key(suite, base, key, bucket, secret):
    status, answer = curl("-d", "Backup done: 42 files", f"{base}/{secret}")
    assert status == 200 and answer["notes"] == [] and answer["scheduled"] is False
    [made] = stored(suite, key, bucket)
    assert (made["id"], made["title"]) == (answer["id"], "Backup done: 42 files")
    # The key is also accepted as bearer token, as password and as parameter; a GET suffices.
    assert curl("-H", f"Authorization: Bearer {secret}", "-d", "two", base)[0] == 200
    assert curl("-u", f":{secret}", "-d", "three", base)[0] == 200
    assert curl("-G", base, "--data-urlencode", f"key={secret}", "--data-urlencode", "m=four & more")[0] == 200
    assert curl(f"{base}/{secret}?title=Five&message=by+GET")[0] == 200
    assert [n["title"] for n in stored(suite, key, bucket)] == ["Five", "four & more", "three", "two", "Backup done: 42 files"]


def test_bucket_is_named_by_id_or_name(suite, base, key, bucket):
    for target in (bucket, "Builds%20%26%20co"):
        status, answer = curl("-H", f"Authorization: Bearer {key}", "-d", "x", f"{base}/{target}")
        assert status == 200 and answer["notification"]["bucketId"] == bucket, answer
    assert curl("-H", f"Authorization: Bearer {key}", "-H", f"x-message-bucketId: {bucket}", "-d", "x", base)[0] == 200
    assert curl("-H", f"Authorization: Bearer {key}", "-d", "x", f"{base}/Nowhere")[0] == 404
    status, answer = curl("-H", f"Authorization: Bearer {key}", "-d", "x", base)
    assert status == 400 and reasons(answer) == {"bucket": "REQUIRED"}


def test_headers_of_ntfy_are_understood(suite, base, key, bucket, secret):
    status, answer = curl(
        "-H", "Title: Unauthorized access", "-H", "Priority: urgent", "-H", "Tags: warning,skull,mailsrv13",
        "-H", "Click: https://example.org/door", "-H", "Attach: https://example.org/cam.jpg", "-H", "Icon: https://example.org/i.png",
        "-H", "Actions: view, Open door, https://example.org/open; http, Lock, https://example.org/lock, method=PUT",
        "-H", "X-Sequence-ID: door", "-H", "Email: a@example.org", "-H", "Markdown: yes", "-d", "Remote access.", f"{base}/{secret}")
    assert status == 200, answer
    [made] = stored(suite, key, bucket)
    assert made["title"] == "\u26a0\ufe0f \U0001f480 Unauthorized access" and made["subtitle"] == "mailsrv13"
    assert made["body"] == "Remote access." and made["priority"] == "PRIORITY_CRITICAL" and made["collapseKey"] == "door"
    assert made["tapAction"] == {"type": "ACTION_TYPE_NAVIGATE", "value": "https://example.org/door"}
    assert [(a["type"], a["title"], a["value"]) for a in made["actions"]] == [
        ("ACTION_TYPE_NAVIGATE", "Open door", "https://example.org/open"),
        ("ACTION_TYPE_BACKGROUND_CALL", "Lock", "PUT::https://example.org/lock")]
    assert [a["mediaType"] for a in made["attachments"]] == ["MEDIA_TYPE_IMAGE", "MEDIA_TYPE_ICON"]
    # The reply shows what was understood, and what has no effect.
    assert answer["notification"]["title"] == made["title"] and answer["understood"]["title"] == "header Title"
    assert answer["notes"] == ["header Email: no e-mail is sent", "header Markdown: the text is shown as it is"]


def test_headers_and_query_of_zentik_are_understood(suite, base, key, bucket, secret):
    status, answer = curl(
        "-X", "POST", "-H", f"x-message-magicCode: {secret}", "-H", "x-message-title: Deploy", "-H", "x-message-body: done",
        "-H", "x-message-delivery-type: SILENT", "-H", "x-message-collapse-id: d",
        "-H", 'x-message-actions: [{"type":"NAVIGATE","value":"https://example.org/","title":"Open"}]',
        "-H", 'x-message-attachments: [{"mediaType":"IMAGE","url":"https://example.org/i.png"}]',
        "-H", "x-message-add-delete-action: true", "-H", "x-message-snoozes: 5,15", "-H", "x-message-remindEveryMinutes: 10", base)
    assert status == 200, answer
    [made] = stored(suite, key, bucket)
    assert (made["title"], made["body"], made["priority"]) == ("Deploy", "done", "PRIORITY_SILENT")
    assert [a["type"].removeprefix("ACTION_TYPE_") for a in made["actions"]] == ["NAVIGATE", "SNOOZE", "SNOOZE", "DELETE"]
    assert made["repeat"]["every"] == "600s" and made["attachments"][0]["url"] == "https://example.org/i.png"


def test_delays_schedule(suite, base, key, bucket, secret):
    for delay in ("30m", "2 hours", "1h30m", "tomorrow, 10am", "2099-01-01T00:00:00Z"):
        status, answer = curl("-H", f"In: {delay}", "-d", delay, f"{base}/{secret}")
        if delay.startswith("2099"):
            assert status == 400 and list(reasons(answer)) == ["delay"]
        else:
            assert status == 200 and answer["scheduled"] and answer["notification"]["deliverTime"], answer
    soon = datetime.datetime.fromisoformat(curl("-H", "Delay: 30m", "-d", "x", f"{base}/{secret}")[1]["notification"]["deliverTime"])
    assert datetime.timedelta(minutes=1) < soon - datetime.datetime.now(datetime.timezone.utc) < datetime.timedelta(minutes=31)
    assert stored(suite, key, bucket) == []
    assert len(suite.call("ListScheduledNotifications", {}, key)["notifications"]) == 5
    for made in suite.call("ListScheduledNotifications", {}, key)["notifications"]:
        suite.call("CancelScheduledNotification", {"notificationId": made["id"]}, key)


def test_files_are_attached(suite, base, key, bucket, secret, tmp_path):
    (tmp_path / "cam.png").write_bytes(PNG)
    status, answer = curl("-T", str(tmp_path / "cam.png"), "-H", "Filename: cam.png", "-H", "Title: Front door", f"{base}/{secret}")
    assert status == 200 and answer["notification"]["attachments"][0]["sizeBytes"] == len(PNG), answer
    [made] = stored(suite, key, bucket)
    file, = made["attachments"]
    content = suite.call("GetAttachmentContent", {"notificationId": made["id"], "contentId": file["contentId"]}, key)
    assert content["contentType"] == "image/png" and file["name"] == "cam.png"


def test_repetition_with_a_key_publishes_once(suite, base, key, bucket, secret):
    line = ["-H", "Idempotency-Key: build-7", "-d", "once", f"{base}/{secret}"]
    assert curl(*line)[1]["id"] == curl(*line)[1]["id"]
    assert len(stored(suite, key, bucket)) == 1
    status, answer = curl("-H", "Idempotency-Key: build-7", "-d", "other", f"{base}/{secret}")
    assert status == 400 and reasons(answer) == {"Idempotency-Key": "REQUEST_ID_REUSED"}


@pytest.mark.parametrize("arguments, status, expected", [
    (["-H", "x-message-titel: T", "-d", "x"], 400, {"x-message-titel": "PARAMETER_UNKNOWN"}),
    (["-H", "Title: a", "-H", "X-Title: b", "-d", "x"], 400, {"title": "PARAMETER_REPEATED"}),
    (["-H", "Priority: 6", "-d", "x"], 400, {"priority": "ENUM_UNKNOWN"}),
    (["-H", "Priority: -1", "-d", "x"], 400, {"priority": "ENUM_UNKNOWN"}),
    (["-H", "Priority: 99999999999999999999", "-H", "In: soon", "-d", "x"], 400, {"priority": "ENUM_UNKNOWN", "delay": "PARAMETER_INVALID"}),
    (["-H", "In: 99999999999999999999d", "-d", "x"], 400, {"delay": "PARAMETER_INVALID"}),
    (["-H", "At: 2001-01-01T00:00:00Z", "-d", "x"], 400, {"delay": "TIME_PAST"}),
    (["-H", "Title: caf\udce9", "-d", "x"], 400, {"Title": "TEXT_INVALID"}),
    (["-H", "Title: =?UTF-8?B?//8=?=", "-d", "x"], 400, {"Title": "TEXT_INVALID"}),
    (["-H", "Title: " + "t" * 257, "-d", "x"], 400, {"title": "TOO_LONG"}),
    (["-H", "Click: javascript:alert(1)", "-d", "x"], 400, {"click.value": "URL_INVALID"}),
    (["-H", "Attach: file:///etc/passwd", "-d", "x"], 400, {"attachments[0].url": "URL_INVALID"}),
    (["-H", "Actions: broadcast, Go", "-d", "x"], 400, {"actions[0].action": "ENUM_UNKNOWN"}),
    (["-H", 'Actions: [{"action":"view"', "-d", "x"], 400, None),
    (["-H", "Content-Type: application/json", "-d", '{"title":"x"}'], 415, "CONTENT_TYPE_UNSUPPORTED"),
    (["-X", "DELETE"], 405, "METHOD_NOT_ALLOWED"),
    (["-X", "GET", "-d", "x"], 400, "BODY_UNEXPECTED"),
])
def test_mistakes_are_named(suite, base, key, bucket, secret, arguments, status, expected):
    found, answer = curl(*arguments, f"{base}/{secret}")
    assert (found, None if expected is None else reasons(answer)) == (status, expected), answer
    assert stored(suite, key, bucket) == []


def test_hostile_bodies_are_refused(suite, base, key, bucket, secret):
    assert curl("--data-binary", "@-", f"{base}/{secret}", input=b"caf\xe9")[0] == 400
    status, answer = curl("--data-binary", "@-", f"{base}/{secret}", input=b"a" * 16_385)
    assert status == 400 and reasons(answer) == {"message": "TOO_LONG"}
    status, answer = curl("--data-binary", "@-", f"{base}/{secret}", input=b"a" * 70_000)
    assert status == 413 and reasons(answer) == "BODY_TOO_LARGE"
    status, answer = curl(f"{base}/{secret}?colour=red&m=x")
    assert status == 400 and reasons(answer) == {"colour": "PARAMETER_UNKNOWN"}
    assert curl(f"{base}/{secret}?m=%ff")[0] == 400
    assert curl(f"{base}/{secret}?" + "&".join(f"t={i}" for i in range(300)))[0] == 400
    assert stored(suite, key, bucket) == []


def test_credential_and_scope_are_judged_before_the_body(suite, base, key, bucket):
    reader = suite.run("keys", "create", "user/publisher", "--scope", "notifications:read", "--secret-only", check=0).stdout.strip()
    port = suite.endpoints["gateway"]["http"]
    for headers, status in [({}, 401), ({"Authorization": "Bearer cmp_x"}, 401), ({"Authorization": f"Bearer {reader}"}, 403)]:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        # The body never follows: the answer does not wait for it.
        link.putrequest("POST", f"/publish/{bucket}")
        for name, value in (headers | {"Content-Length": "1000000", "Expect": "100-continue"}).items():
            link.putheader(name, value)
        link.endheaders()
        assert link.getresponse().status == status, headers
        link.close()
    for wrong in ("cpk_" + "A" * 43, "cpk_short"):
        status, answer = curl("-d", "x", f"{base}/{wrong}")
        assert status == 401 and "PUBLISH_KEY_INVALID" in json.dumps(answer)
    # A key that may only publish suffices, with the bucket's id.
    narrow = suite.run("keys", "create", "user/publisher", "--scope", "notifications:publish", "--secret-only", check=0).stdout.strip()
    assert curl("-H", f"Authorization: Bearer {narrow}", "-d", "x", f"{base}/{bucket}")[0] == 200
    assert curl("-H", f"Authorization: Bearer {narrow}", "-d", "x", f"{base}/Builds%20%26%20co")[0] == 403

"""Searches all output of the suite, at its most verbose log level, for secrets and for texts of users."""

import base64
import contextlib
import json
import socket
import struct
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from campanile import ROOT, Suite, eventually

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

CANARY = f"canary{uuid.uuid4().hex}"


def spoken(suite):
    """Uses every kind of secret, correctly and incorrectly, and returns the secrets by kind."""
    secrets = {
        "admin key": suite.endpoints["gateway"]["adminKey"], "internal token": suite.endpoints["internalToken"],
        "user key": suite.key("user/secretive"), "wrong key": "cmp_" + "W" * 43, "wrong token": "eyJhbGciOiJSUzI1NiJ9." + CANARY + ".sig",
        "session": "cas_" + CANARY[:43].ljust(43, "s"), "text of a user": CANARY, "pin": "83920175",
        "device token": "cad_" + CANARY[:43].ljust(43, "d"),
        "header of a webhook": f"token-{CANARY[6:]}", "push token": "5e" * 32, "password in a URL": f"pw{CANARY[6:26]}"}
    port, web = suite.endpoints["gateway"]["rpc"], suite.endpoints["gateway"]["http"]
    with Peer(port) as link:
        link.hello(secrets["user key"])
        bucket = link.call("campanile.notifications.v1.NotificationsService/CreateBucket", {"bucket": {"name": CANARY}})["result"]["bucket"]["id"]
        key = link.call("campanile.notifications.v1.SharingService/CreatePublishKey", {"bucketId": bucket, "name": "k"})["result"]
        secrets["publish key"] = key["secret"]
        code = link.call("campanile.notifications.v1.SharingService/CreateInviteCode", {
            "bucketId": bucket, "role": "BUCKET_ROLE_READER"})["result"]
        secrets["invite code"] = code["secret"]
        for method, params in [
            ("notifications.v1.NotificationsService/CreateNotification", {"notification": {"bucketId": bucket, "title": CANARY}}),
            ("notifications.v1.NotificationsService/CreateNotification", {"notification": {"bucketId": CANARY, "title": CANARY * 40}}),
            ("notifications.v1.NotificationsService/GetNotification", {CANARY: CANARY}),
            ("notifications.v1.NotificationsService/SearchNotifications", {"query": CANARY, "pageToken": CANARY}),
            ("notifications.v1.SharingService/PublishWithKey", {"secret": key["secret"], "notification": {"title": CANARY}}),
            ("notifications.v1.SharingService/PublishWithKey", {"secret": "cpk_" + CANARY, "notification": {"title": CANARY}}),
            ("notifications.v1.SharingService/AcceptInviteCode", {"secret": code["secret"]}),
            ("notifications.v1.SharingService/AcceptInviteCode", {"secret": "cic_" + CANARY}),
            ("notifications.v1.AutomationService/CreateWebhook", {"webhook": {
                "name": "w", "url": "https://example.com/", "headers": {"Authorization": secrets["header of a webhook"]}}}),
            ("notifications.v1.AutomationService/CreateWebhook", {"webhook": {
                "name": "w", "url": f"https://user:{secrets['password in a URL']}@example.com/"}}),
            ("activities.v1.PushTokensService/RegisterPushToken", {
                "kind": "PUSH_TOKEN_KIND_DEVICE", "token": secrets["push token"], "app": suite.endpoints["apns"]["topic"],
                "environment": "development", "installationId": "x"}),
            ("attendance.v1.SessionsService/Login", {
                "name": "nobody", "pin": secrets["pin"], "deviceToken": secrets["device token"]}),
            ("attendance.v1.MeetingsService/GetCalendar", {"secret": "cal_" + CANARY}),
            ("sync.v1.AssetsService/PutAsset", {"put": {"name": CANARY, "recordType": "Note", "inlineContent": base64.b64encode(
                CANARY.encode()).decode(), "mustNotExist": True}}),
            (f"notifications.v1.NotificationsService/{CANARY}", {}),
        ]:
            assert link.call(f"campanile.{method}", params) is not None
        link.call("campanile.notifications.v1.NotificationsService/ListBuckets", {}, metadata={
            "attendance-session": secrets["session"], "authorization": f"Bearer {secrets['wrong token']}", "x-secret": CANARY})
        link.send('{"jsonrpc":"2.0","id":1,"method":"' + CANARY)
        link.receive()
    for token in (secrets["wrong key"], secrets["wrong token"]):
        with Peer(port) as link:
            link.hello(token)
    # A connection that is reset is logged at level debug only.
    with Peer(port) as link:
        link.hello(secrets["user key"])
        link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    eventually(lambda: "DEBUG" in suite.text(), "the reset is logged")
    for path in (f"/notifications/v1/buckets?access_token={secrets['wrong key']}", f"/v1/{CANARY}", f"/notifications/v1/buckets/{CANARY}", "/notifications/v1/notifications"):
        request = urllib.request.Request(f"http://127.0.0.1:{web}{path}", headers={
            "Authorization": f"Bearer {secrets['user key']}", "Cookie": f"kilwinning_session={secrets['session']}", "X-Secret": CANARY})
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=20).read()
    request = urllib.request.Request(
        f"http://127.0.0.1:{web}/api/v1/messages", data=json.dumps({"bucketId": CANARY, "title": CANARY}).encode(),
        headers={"Authorization": f"Bearer zat_{secrets['user key']}", "Content-Type": "application/json"})
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=20)
    return secrets


def forms(secret):
    """The forms in which a secret may appear: plain, escaped, hexadecimal, and Base64 at any offset in a text."""
    data = secret.encode()
    plain = [secret, json.dumps(secret)[1:-1], urllib.parse.quote(secret, safe=""), data.hex(), data.hex().upper()]
    # The first and last characters of Base64 depend on the text around the secret.
    encoded = [base64.b64encode(b"?" * start + data + b"?" * 3).decode()[start + (start > 0):][:len(data) * 4 // 3 - 4] for start in range(3)]
    both = {*encoded, *(one.replace("+", "-").replace("/", "_") for one in encoded)}
    # The remaining Base64 of a PIN is too short to identify it.
    return {*plain, *(one for one in both if len(one) >= 12)}


def pieces(form):
    """The 16-character pieces of a form that begin at multiples of 16; any 31 characters in a row contain one."""
    return [form[start:start + 16] for start in range(0, len(form) - 15, 16)] or [form]


def leaks(told, secrets):
    """The outputs that contain secrets, as pairs of output and kind of secret."""
    searched = {what: {piece for form in forms(secret) for piece in pieces(form)} for what, secret in secrets.items()}
    return {(where, what) for where, text in told.items() for what, parts in searched.items() if any(part in text for part in parts)}


def outputs(suite):
    """All output of the running suite, except its log."""
    told = {}
    for name, ports in suite.endpoints.items():
        if isinstance(ports, dict) and "http" in ports:
            for path in ("metrics", "healthz", "readyz"):
                port = ports.get("admin", ports["http"])
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=20) as answer:
                    told[f"{name} /{path}"] = answer.read().decode()
    for pid in suite.children().values():
        told[f"command line of {pid}"] = open(f"/proc/{pid}/cmdline").read()
    told["list of keys"] = suite.run("keys", "list", "--all", check=0).stdout
    return told


@pytest.fixture(scope="module")
def spoken_of(tmp_path_factory):
    """The secrets used with a suite, all its output, and the secrets that each process was made to log at the end."""
    suite = Suite(tmp_path_factory.mktemp("secrets") / "data", "--log-level", "trace").wait_ready()
    planted = {}
    try:
        secrets = spoken(suite)
        told = outputs(suite)
        logs = suite.text()
        for name, pid in suite.children().items():
            planted[name] = f"planted{uuid.uuid4().hex}"
            with open(f"/proc/{pid}/fd/1", "w") as output:
                output.write(f"a careless line with {planted[name]}\n")
        eventually(lambda: all(one in suite.text() for one in planted.values()), "the planted lines are logged")
    finally:
        suite.stop()
    return secrets, told | {"logs": logs, "logs at the end": suite.text()[len(logs):]}, planted


def test_no_output_has_a_secret(spoken_of):
    secrets, told, _ = spoken_of
    # The log is verbose; otherwise the search would prove nothing.
    assert len(told["logs"]) > 2000 and "DEBUG" in told["logs"], told["logs"][:500]
    assert "campanile_server_handled_total" in told["gateway /metrics"]
    found = leaks(told, secrets)
    where = [(line[:300], what) for where, what in found for line in told[where].splitlines() if leaks({"": line}, {what: secrets[what]})]
    assert not found, f"{sorted(found)} {where[:10]}"


def test_leaks_of_every_process_are_found(spoken_of):
    """Tests the search itself: each process wrote a secret to its own output, which `campanile up` relays."""
    _, told, planted = spoken_of
    assert len(planted) == 6 and leaks(told, planted) == {("logs at the end", name) for name in planted}


def test_secret_is_found_in_every_output_and_form(spoken_of):
    """Tests the search itself: each secret in each output and form, with other text around it."""
    secrets, told, _ = spoken_of
    for what, secret in secrets.items():
        written = [secret, f"{urllib.parse.quote(secret)}", secret.encode().hex(), json.dumps({"a": secret}), secret[-40:]]
        if len(secret) >= 24:
            written += [base64.b64encode(f"{'?' * start}{secret}!".encode()).decode() for start in range(3)]
            written += [base64.urlsafe_b64encode(f"{secret}".encode()).decode()]
        for text in written:
            assert (("log", what) in leaks({"log": f"before {text} after"}, {what: secret})), (what, text)
    for where, text in told.items():
        half = len(text) // 2
        assert (where, "x") in leaks({where: f"{text[:half]}{secrets['user key']}{text[half:]}"}, {"x": secrets["user key"]}), where

"""Secrets and what users write are searched for in everything that the suite puts out, at the chattiest level of its logs."""

import base64
import contextlib
import json
import sys
import urllib.error
import urllib.request
import uuid

from campanile import ROOT, Suite

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

CANARY = f"canary{uuid.uuid4().hex}"


def spoken(suite):
    """Uses every kind of secret, well and badly, and answers the secrets by what they are."""
    secrets = {
        "admin key": suite.endpoints["gateway"]["adminKey"], "internal token": suite.endpoints["internalToken"],
        "user key": suite.key("user/secretive"), "wrong key": "cmp_" + "W" * 43, "wrong token": "eyJhbGciOiJSUzI1NiJ9." + CANARY + ".sig",
        "session": "cas_" + CANARY[:43].ljust(43, "s"), "text of a user": CANARY, "pin": "83920175",
        "header of a webhook": f"token-{CANARY[6:]}", "push token": "5e" * 32, "password in a URL": f"pw{CANARY[6:26]}"}
    port, web = suite.endpoints["gateway"]["rpc"], suite.endpoints["gateway"]["http"]
    with Peer(port) as link:
        link.hello(secrets["user key"])
        bucket = link.call("campanile.notifications.v1.NotificationsService/CreateBucket", {"bucket": {"name": CANARY}})["result"]["bucket"]["id"]
        key = link.call("campanile.notifications.v1.SharingService/CreatePublishKey", {"bucketId": bucket, "name": "k"})["result"]
        secrets["publish key"] = key["secret"]
        for method, params in [
            ("notifications.v1.NotificationsService/CreateNotification", {"notification": {"bucketId": bucket, "title": CANARY}}),
            ("notifications.v1.NotificationsService/CreateNotification", {"notification": {"bucketId": CANARY, "title": CANARY * 40}}),
            ("notifications.v1.NotificationsService/GetNotification", {CANARY: CANARY}),
            ("notifications.v1.NotificationsService/SearchNotifications", {"query": CANARY, "pageToken": CANARY}),
            ("notifications.v1.SharingService/PublishWithKey", {"secret": key["secret"], "notification": {"title": CANARY}}),
            ("notifications.v1.SharingService/PublishWithKey", {"secret": "cpk_" + CANARY, "notification": {"title": CANARY}}),
            ("notifications.v1.AutomationService/CreateWebhook", {"webhook": {
                "name": "w", "url": "https://example.com/", "headers": {"Authorization": secrets["header of a webhook"]}}}),
            ("notifications.v1.AutomationService/CreateWebhook", {"webhook": {
                "name": "w", "url": f"https://user:{secrets['password in a URL']}@example.com/"}}),
            ("activities.v1.PushTokensService/RegisterPushToken", {
                "kind": "PUSH_TOKEN_KIND_DEVICE", "token": secrets["push token"], "app": suite.endpoints["apns"]["topic"],
                "environment": "development", "installationId": "x"}),
            ("attendance.v1.SessionsService/Login", {"name": "nobody", "pin": secrets["pin"]}),
            ("attendance.v1.MeetingsService/GetCalendar", {"secret": "cal_" + CANARY}),
            ("sync.v1.AssetsService/PutAsset", {"put": {"name": CANARY, "recordType": "Note", "inlineContent": base64.b64encode(
                CANARY.encode()).decode()}}),
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
    for path in (f"/v1/buckets?access_token={secrets['wrong key']}", f"/v1/{CANARY}", f"/v1/buckets/{CANARY}", "/v1/notifications"):
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


def test_no_output_has_a_secret(tmp_path):
    suite = Suite(tmp_path / "data", "--log-level", "trace").wait_ready()
    try:
        secrets = spoken(suite)
        told = {}
        for name, ports in suite.endpoints.items():
            if isinstance(ports, dict) and "http" in ports:
                for path in ("metrics", "healthz", "readyz"):
                    with urllib.request.urlopen(f"http://127.0.0.1:{ports['http']}/{path}", timeout=20) as answer:
                        told[f"{name} /{path}"] = answer.read().decode()
        for pid in suite.children().values():
            told[f"command line of {pid}"] = open(f"/proc/{pid}/cmdline").read()
        told["list of keys"] = suite.run("keys", "list", "--all", check=0).stdout
    finally:
        suite.stop()
    told["logs"] = suite.text()
    # What is looked at is what there is to see.
    assert len(told["logs"]) > 5000 and ("TRACE" in told["logs"] or "DEBUG" in told["logs"]), told["logs"][:500]
    assert "campanile_server_handled_total" in told["gateway /metrics"]
    found = [(where, what) for where, text in told.items() for what, secret in secrets.items() if secret in text]
    lines = [line for line in told["logs"].splitlines() if any(secret in line for secret in secrets.values())]
    assert found == [], "\n".join([str(found), *lines[:20]])

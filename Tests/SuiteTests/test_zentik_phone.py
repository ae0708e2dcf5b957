"""The Zentik app's phone and watch: the push that its extensions decode, its lists, receipts and postponements, with its real bytes."""

import json
import urllib.parse
import urllib.request

import pytest
from campanile import PATIENCE_S, eventually
from test_zentik import ask, base, message, stored  # noqa: F401

# The compact codes of the app's SharedTypes.swift are not used: types are words.
TYPES = {
    "MARK_AS_READ", "DELETE", "OPEN_NOTIFICATION", "NAVIGATE", "BACKGROUND_CALL", "SNOOZE", "POSTPONE", "WEBHOOK"}
FIXED = {"DELETE": "delete_notification", "MARK_AS_READ": "mark_as_read_notification"}


class Extension:
    """The app's notification service extension and action handler, as far as they read a push."""

    def __init__(self, payload):
        self.aps = payload["aps"]
        self.runs = self.aps.get("mutable-content") == 1
        self.category = self.aps.get("category")
        self.notification = payload.get("n") or payload.get("nid") or payload.get("notificationId")
        self.bucket = payload.get("b") or payload.get("bid")
        self.message = payload.get("m") or payload.get("mid")
        self.delivery = payload.get("dty") or payload.get("y")
        self.title, self.subtitle, self.body = payload.get("tit"), payload.get("stl"), payload.get("bdy")
        self.downloads = payload.get("selfDownload") is True
        self.media = [tuple(item.split(":", 1)) for item in payload.get("att", []) if not item.startswith("ICON:")]
        self.actions = [self.normalized(action) for action in payload.get("actions") or payload.get("act") or []]
        tap = payload.get("tapAction") or payload.get("tp") or payload.get("tap")
        self.tap = self.normalized(tap)[:2] if tap else ("OPEN_APP", "default")

    def normalized(self, action):
        kind = action["type"].strip().upper()
        assert kind in TYPES
        value = (action.get("value") or "").strip() or FIXED.get(kind) or self.notification
        return kind, value, action.get("title"), action.get("destructive", False)


@pytest.fixture(scope="module")
def key(suite):
    return suite.key("user/zentik-phone")


@pytest.fixture
def bucket(suite, key):
    made = suite.call("CreateBucket", {"bucket": {"name": "Phone"}}, key)["bucket"]
    yield made["id"]
    suite.call("DeleteBucket", {"bucketId": made["id"]}, key)


@pytest.fixture(scope="module")
def device(suite, key):
    token = "5e" * 32
    suite.call("RegisterPushToken", {
        "app": suite.endpoints["apns"]["topic"], "environment": "development", "installationId": "zentik",
        "kind": "PUSH_TOKEN_KIND_DEVICE", "token": token}, key)
    return token


def pushed(suite, device, notification):
    """Waits for the push of a notification."""
    return eventually(
        lambda: next((p for _, p in suite.pushed(device) if p.get("notificationId") == notification), None), "the push")


def test_extensions_decode_the_push(suite, base, key, bucket, device):  # noqa: F811
    assert ask(base, "POST", "/messages", message(
        bucket, title="Porta 🚪", subtitle="Ingresso", body="È aperta.", deliveryType="CRITICAL", sound="bell.caf", groupId="doors",
        locale="it-IT", tapUrl="https://example.org/door", snoozes=[15], addOpenNotificationAction=True,
        attachments=[{"mediaType": "ICON", "url": "https://example.org/i.png"}], imageUrl="https://example.org/door.jpg",
        actions=[{"type": "BACKGROUND_CALL", "value": "POST::https://example.org/x", "title": "Apri", "destructive": True}]), key)[0] == 201
    [made] = stored(suite, key, bucket)
    seen = Extension(pushed(suite, device, made["id"]))
    assert seen.runs and seen.category == "DYNAMIC"
    assert (seen.notification, seen.message, seen.bucket, seen.delivery) == (made["id"], made["id"], bucket, "CRITICAL")
    assert (seen.title, seen.subtitle, seen.body) == ("Porta 🚪", "Ingresso", "È aperta.")
    assert seen.media == [("IMAGE", "https://example.org/door.jpg")] and not seen.downloads
    assert seen.actions == [
        ("BACKGROUND_CALL", "POST::https://example.org/x", "Apri", True), ("SNOOZE", "15", "Silenzia per 15 min", False),
        ("OPEN_NOTIFICATION", made["id"], "Apri", False),
        ("MARK_AS_READ", "mark_as_read_notification", "Segna come letta", False),
        ("DELETE", "delete_notification", "Elimina", True)]
    assert seen.tap == ("NAVIGATE", "https://example.org/door")
    # The app has no entitlement for critical alerts, as its own server assumes.
    assert seen.aps["interruption-level"] == "time-sensitive" and seen.aps["sound"] == "bell.caf"
    assert seen.aps["relevance-score"] == 1 and seen.aps["thread-id"] == "doors" and seen.aps["filter-criteria"] == bucket


def test_critical_sound_depends_on_the_entitlement(start):
    """Zentik's CRITICAL message reaches an app with Apple's entitlement as the sound object, any other app as time-sensitive."""
    entitled = "org.example.critical"
    suite = start("critical", settings={"CAMPANILE_CRITICAL_ALERT_APPS": entitled}).wait_ready()
    owner = suite.key("user/critical")
    tokens = {entitled: "e1" * 32, suite.endpoints["apns"]["topic"]: "e2" * 32}
    for app, token in tokens.items():
        suite.call("RegisterPushToken", {
            "app": app, "environment": "development", "installationId": app, "kind": "PUSH_TOKEN_KIND_DEVICE", "token": token}, owner)
    place = suite.call("CreateBucket", {"bucket": {"name": "Alarms"}}, owner)["bucket"]["id"]
    address = f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/api/v1"
    assert ask(address, "POST", "/messages", message(place, title="Fire", deliveryType="CRITICAL", sound="alarm.caf"), owner)[0] == 201
    [made] = stored(suite, owner, place)
    aps = {app: Extension(pushed(suite, token, made["id"])).aps for app, token in tokens.items()}
    with_it, without = aps.values()
    assert with_it["interruption-level"] == "critical" and with_it["sound"] == {"critical": 1, "name": "alarm.caf", "volume": 1}
    assert without["interruption-level"] == "time-sensitive" and without["sound"] == "alarm.caf"
    assert {aps["alert"]["title"] for aps in aps.values()} == {"Fire"}


def test_normal_and_silent_pushes(suite, base, key, bucket, device):  # noqa: F811
    for kind in ["NORMAL", "SILENT"]:
        assert ask(base, "POST", "/messages", message(bucket, title=kind, deliveryType=kind), key)[0] == 201
    silent, normal = stored(suite, key, bucket)
    seen = Extension(pushed(suite, device, normal["id"]))
    assert seen.aps["interruption-level"] == "active" and seen.aps["sound"] == "default" and seen.delivery == "NORMAL"
    assert seen.tap == ("OPEN_NOTIFICATION", normal["id"]) and seen.runs
    seen = Extension(pushed(suite, device, silent["id"]))
    assert "alert" not in seen.aps and "sound" not in seen.aps and seen.aps["content-available"] == 1
    assert seen.delivery == "SILENT" and seen.title == "SILENT" and seen.runs


def test_large_notification_is_downloaded(suite, base, key, bucket, device):  # noqa: F811
    actions = [{"type": "NAVIGATE", "value": f"https://example.org/{'x' * 900}{number}", "title": "Go"} for number in range(6)]
    assert ask(base, "POST", "/messages", message(bucket, title="Large", actions=actions), key)[0] == 201
    [made] = stored(suite, key, bucket)
    seen = Extension(pushed(suite, device, made["id"]))
    assert seen.downloads and not seen.actions and seen.aps["alert"]["title"] == "Large"
    # The extension fetches the rest.
    status, entity = ask(base, "GET", f"/notifications/{seen.notification}", None, key)
    assert status == 200
    found = entity["message"]
    assert found["id"] == made["id"] and found["bucket"]["id"] == bucket and found["title"] == "Large"
    assert [action["value"] for action in found["actions"][:6]] == [action["value"] for action in actions]


def test_watch_always_has_its_three_buttons(suite, base, key, bucket):  # noqa: F811
    """Mark, Delete and Open, as the watch draws them, before and after its own call marks the notification as read."""
    assert ask(base, "POST", "/messages", message(
        bucket, title="Porta", addMarkAsReadAction=True, addDeleteAction=True, addOpenNotificationAction=True, locale="it-IT", actions=[
            {"type": "NAVIGATE", "value": "https://example.org/cam", "title": "Camera", "icon": "camera"},
            {"type": "WEBHOOK", "value": "w_1", "title": "Apri", "destructive": True}]), key)[0] == 201
    [made] = stored(suite, key, bucket)
    gateway = base.removesuffix("/api/v1")

    def long_look(**parameters):
        made_request = urllib.request.Request(
            f"{gateway}/notifications/v1/notifications/{made['id']}/longLook?{urllib.parse.urlencode(parameters)}",
            headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(made_request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())["longLook"]

    def buttons(look):
        return [(one["label"], one["icon"], one["color"], one["value"]) for one in look["baseActions"]]

    expected = [
        ("Mark", "checkmark.circle.fill", "#34C759", "mark_as_read_notification"),
        ("Delete", "trash.circle.fill", "#FF3B30", "delete_notification"), ("Open", "arrow.right.circle.fill", "#007AFF", made["id"])]
    assert buttons(long_look()) == expected
    assert ask(base, "PATCH", f"/notifications/watch/{made['id']}/read", {}, key)[0] == 200
    look = long_look()
    assert look["isRead"] and buttons(look) == expected
    # The watch decodes each action as its own {id, label, type, value}.
    assert [(one["actionId"], one["label"], one["type"], one["value"]) for one in look["actions"]] == [
        ("0", "Camera", "ACTION_TYPE_NAVIGATE", "https://example.org/cam"), ("1", "Apri", "ACTION_TYPE_WEBHOOK", "w_1")]
    # The publisher's language is used for the buttons if the watch requests it.
    own = long_look(withOwnLabels="true")
    assert [one["label"] for one in own["baseActions"]] == ["Segna come letta", "Elimina", "Apri"]


def test_phone_reads_its_notifications(suite, base, key, bucket):  # noqa: F811
    for number in range(3):
        assert ask(base, "POST", "/messages", message(bucket, title=str(number), tapUrl="https://example.org/"), key)[0] == 201
    status, listed = ask(base, "GET", "/notifications", None, key)
    assert status == 200 and [entity["message"]["title"] for entity in listed] == ["2", "1", "0"]
    first = listed[0]
    assert first["message"]["bucket"]["name"] == "Phone" and first["readAt"] is None and first["createdAt"].endswith("Z")
    assert first["message"]["tapAction"]["type"] == "NAVIGATE" and first["message"]["deliveryType"] == "NORMAL"
    assert ask(base, "GET", f"/notifications/{first['id']}", None, key) == (200, first)
    assert ask(base, "PATCH", "/notifications/mark-all-read", {}, key) == (200, {"updatedCount": 3})
    assert ask(base, "PATCH", "/notifications/mark-all-read", {}, key) == (200, {"updatedCount": 0})
    assert all(entity["readAt"] for entity in ask(base, "GET", "/notifications", None, key)[1])
    other = suite.key("user/zentik-other")
    assert ask(base, "GET", "/notifications", None, other) == (200, [])
    assert ask(base, "PATCH", "/notifications/mark-all-read", {}, other) == (200, {"updatedCount": 0})
    assert ask(base, "GET", f"/notifications/{first['id']}", None, other)[0] == 404
    assert ask(base, "GET", "/notifications")[0] == 401


def test_phone_reports_what_it_has_received(suite, base, key, bucket):  # noqa: F811
    for number in range(3):
        assert ask(base, "POST", "/messages", message(bucket, title=str(number)), key)[0] == 201
    newest, middle, oldest = [n["id"] for n in stored(suite, key, bucket)]
    token = {"deviceToken": "7c" * 32}

    def received(notification):
        records = suite.call("ExplainDelivery", {"notificationId": notification}, key)["records"]
        return [r["deviceId"] for r in records if r["outcome"] == "DELIVERY_OUTCOME_RECEIVED"]

    status, entity = ask(base, "PATCH", f"/notifications/{oldest}/device-received", token, key)
    assert status == 200 and entity["id"] == oldest and entity["receivedAt"], entity
    [device] = received(oldest)
    assert device.startswith("token:") and token["deviceToken"] not in device
    # The rest up to the middle one; reports are counted once.
    assert ask(base, "PATCH", "/notifications/update-received", token | {"id": middle}, key) == (200, {"updatedCount": 1})
    assert ask(base, "PATCH", "/notifications/update-received", token | {"id": middle}, key) == (200, {"updatedCount": 0})
    assert received(middle) == [device] and received(newest) == []
    other = {"deviceToken": "8d" * 32, "id": newest}
    assert ask(base, "PATCH", "/notifications/update-received", other, key) == (200, {"updatedCount": 3})
    for path, body, status in [
        (f"/notifications/{oldest}/device-received", {}, 400), ("/notifications/n_nothing/device-received", token, 404),
        ("/notifications/update-received", token, 400), ("/notifications/update-received", token | {"id": "n_nothing"}, 404),
        ("/notifications/update-received", {"id": newest}, 400), (f"/notifications/{oldest}/device-received", {"deviceToken": 1}, 400),
    ]:
        assert ask(base, "PATCH", path, body, key)[0] == status, path


def test_postponements_are_listed_and_cancelled(suite, base, key, bucket):  # noqa: F811
    for number in range(3):
        assert ask(base, "POST", "/messages", message(bucket, title=str(number)), key)[0] == 201
    ids = [n["id"] for n in stored(suite, key, bucket)]
    for minutes, one in zip([30, 10], ids):
        status, made = ask(base, "POST", "/notifications/postpone", {"notificationId": one, "minutes": minutes}, key)
        assert status == 200 and made["id"] == made["notificationId"] == one and made["sendAt"], made
    status, listed = ask(base, "GET", "/notifications/postpones", None, key)
    # The next one first.
    assert status == 200 and [one["notificationId"] for one in listed] == [ids[1], ids[0]]
    assert listed[0]["notification"]["message"]["title"] == "1" and listed[0]["messageId"] == ids[1]
    assert ask(base, "DELETE", f"/notifications/postpones/{ids[1]}", None, suite.key("user/zentik-other"))[0] == 404
    assert ask(base, "DELETE", f"/notifications/postpones/{ids[1]}", None, key) == (200, {"success": True})
    assert ask(base, "DELETE", f"/notifications/postpones/{ids[1]}", None, key)[0] == 404
    assert [one["id"] for one in ask(base, "GET", "/notifications/postpones", None, key)[1]] == [ids[0]]


def test_message_for_some_members(suite, base, key, bucket):  # noqa: F811
    friend = suite.key("user/zentik-friend")
    made = suite.call("InviteToBucket", {
        "bucketId": bucket, "userId": "zentik-friend", "role": "BUCKET_ROLE_READER"}, key)["invitation"]
    suite.call("AcceptInvitation", {"invitationId": made["id"]}, friend)
    assert ask(base, "POST", "/messages", message(bucket, title="for one", userIds=["zentik-friend"]), key)[0] == 201
    assert ask(base, "POST", "/messages", message(bucket, title="for me", userIds="zentik-phone"), key)[0] == 201
    assert ask(base, "POST", "/messages", message(bucket, title="for all", userIds=[]), key)[0] == 201
    assert [n["title"] for n in stored(suite, key, bucket)] == ["for all", "for me"]
    assert [n["title"] for n in stored(suite, friend, bucket)] == ["for all", "for one"]
    status, answer = ask(base, "POST", "/messages", message(bucket, userIds=["nobody-else"]), key)
    assert status == 404 and answer["error"] == "RECIPIENT_NOT_FOUND"


@pytest.mark.parametrize("method, path", [
    ("POST", "/notifications"), ("PATCH", "/notifications/postpones"), ("GET", "/notifications/mark-all-read"),
    ("GET", "/notifications/update-received"), ("GET", "/notifications/postpones/x"),
])
def test_wrong_methods_are_refused(base, key, method, path):  # noqa: F811
    status, answer = ask(base, method, path, None if method == "GET" else {}, key)
    assert status == 405, answer

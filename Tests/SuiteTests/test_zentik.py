"""The calls of the Zentik app's publishers, phone and watch over the gateway."""

import datetime
import json
import urllib.error
import urllib.request

import pytest
from campanile import PATIENCE_S

ACTION_TYPES = {
    "ACTION_TYPE_BACKGROUND_CALL": "BACKGROUND_CALL", "ACTION_TYPE_SNOOZE": "SNOOZE", "ACTION_TYPE_POSTPONE": "POSTPONE",
    "ACTION_TYPE_MARK_AS_READ": "MARK_AS_READ", "ACTION_TYPE_DELETE": "DELETE"}


@pytest.fixture(scope="module")
def key(suite):
    return suite.key("user/zentik")


@pytest.fixture(scope="module")
def base(suite):
    return f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/api/v1"


@pytest.fixture
def bucket(suite, key):
    made = suite.call("CreateBucket", {"bucket": {"name": "Zentik"}}, key)["bucket"]
    yield made["id"]
    suite.call("DeleteBucket", {"bucketId": made["id"]}, key)


def ask(base, method, path, body=None, key=None, prefix="zat_"):
    made = urllib.request.Request(base + path, method=method, data=None if body is None else json.dumps(body).encode())
    if body is not None:
        made.add_header("Content-Type", "application/json")
    if key:
        made.add_header("Authorization", "Bearer " + prefix + key.removeprefix("cmp_"))
    try:
        with urllib.request.urlopen(made, timeout=PATIENCE_S) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def message(bucket, **more):
    return {"title": "Hello", "deliveryType": "NORMAL", "bucketId": bucket} | more


def stored(suite, key, bucket):
    return suite.call("ListNotifications", {"bucketId": bucket, "pageSize": 100}, key).get("notifications", [])


def test_message_becomes_a_notification(suite, base, key, bucket):
    status, answer = ask(base, "POST", "/messages", message(
        bucket, subtitle="S", body="B", deliveryType="CRITICAL", tapUrl="https://example.org/",
        actions=[{"type": "BACKGROUND_CALL", "value": "POST::https://example.org/x", "title": "Go", "destructive": True}],
        snoozes=[5], postpones=[10], imageUrl="https://example.org/i.png", ephemeral=True), key)
    assert status == 201 and answer["notificationsCount"] == 1 and type(answer["message"]) is str
    [made] = stored(suite, key, bucket)
    assert (made["title"], made["subtitle"], made["body"]) == ("Hello", "S", "B")
    assert made["priority"] == "PRIORITY_CRITICAL" and made["expireTime"]
    assert [ACTION_TYPES[a["type"]] for a in made["actions"]] == ["BACKGROUND_CALL", "SNOOZE", "POSTPONE", "MARK_AS_READ", "DELETE"]
    assert made["tapAction"] == {"type": "ACTION_TYPE_NAVIGATE", "value": "https://example.org/"}
    assert made["attachments"][0]["mediaType"] == "MEDIA_TYPE_IMAGE"


def test_bucket_is_selected_by_id_name_or_magic_code(suite, base, key, bucket):
    secret = suite.call("CreatePublishKey", {"bucketId": bucket, "name": "code"}, key)["secret"]
    assert ask(base, "POST", "/messages", message(bucket), key)[0] == 201
    assert ask(base, "POST", "/messages", message("Zentik"), key)[0] == 201
    assert ask(base, "POST", "/messages", message(secret), key)[0] == 201
    # The code is a sufficient credential.
    by_code = {"title": "By code", "deliveryType": "NORMAL", "magicCode": secret}
    assert ask(base, "POST", "/messages", by_code)[0] == 201
    assert len(stored(suite, key, bucket)) == 4
    assert ask(base, "POST", "/messages", message("Nowhere"), key)[0] == 404
    assert ask(base, "POST", "/messages", by_code | {"magicCode": "cpk_" + "A" * 43})[0] == 401
    assert ask(base, "POST", "/messages", message(bucket))[0] == 401


def test_scheduled_message_waits(suite, base, key, bucket):
    tomorrow = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    status, answer = ask(base, "POST", "/messages", message(bucket, scheduledSendAt=tomorrow), key)
    assert status == 201 and answer["notificationsCount"] == 0, answer
    assert not stored(suite, key, bucket)
    [waiting] = suite.call("ListScheduledNotifications", {}, key)["notifications"]
    assert waiting["deliverTime"] == tomorrow
    suite.call("CancelScheduledNotification", {"notificationId": waiting["id"]}, key)
    status, answer = ask(base, "POST", "/messages", message(bucket, scheduledSendAt="tomorrow"), key)
    assert status == 400 and answer["errors"][0]["property"] == "scheduledSendAt"


def test_all_violations_are_reported_at_once(base, key):
    status, answer = ask(base, "POST", "/messages", {"deliveryType": "LOUD", "subtitle": "x" * 101}, key)
    assert status == 400 and answer["message"] == "Validation failed"
    assert {e["property"] for e in answer["errors"]} == {"title", "subtitle", "deliveryType", "bucketId"}
    assert all(set(e) == {"property", "value", "constraints"} and e["constraints"] for e in answer["errors"])


def test_errors_of_the_service_have_the_same_form(base, key, bucket):
    status, answer = ask(base, "POST", "/messages", message(
        bucket, attachments=[{"mediaType": "IMAGE", "url": "no url"}]), key)
    assert status == 400 and answer["message"] == "Validation failed"
    assert answer["errors"][0]["property"].startswith("attachments[0]")


@pytest.mark.parametrize("prefix", ["/notifications", "/notifications/watch"])
def test_phone_and_watch_change_notifications(suite, base, key, bucket, prefix):
    for number in range(3):
        assert ask(base, "POST", "/messages", message(bucket, title=str(number)), key)[0] == 201
    ids = [n["id"] for n in stored(suite, key, bucket)]

    def read():
        return {n["id"] for n in stored(suite, key, bucket) if n.get("readTime")}

    assert ask(base, "PATCH", f"{prefix}/{ids[0]}/read", {}, key)[0] == 200 and read() == {ids[0]}
    assert ask(base, "PATCH", f"{prefix}/{ids[0]}/unread", None, key)[0] == 200 and read() == set()
    # A notification that does not exist does not stop the others.
    some = {"ids": [ids[0], "n_nothing", *ids[1:]]}
    assert ask(base, "PATCH", f"{prefix}/batch/read", some, key) == (200, {"success": True, "count": 3}) and read() == set(ids)
    some = {"ids": ["n_nothing", *ids[:2]]}
    assert ask(base, "PATCH", f"{prefix}/batch/unread", some, key) == (200, {"success": True, "count": 2}) and read() == {ids[2]}
    status, answer = ask(base, "POST", f"{prefix}/postpone", {"notificationId": ids[0], "minutes": 10}, key)
    assert status == 200, answer
    assert ask(base, "POST", f"/buckets/{bucket}/snooze-minutes", {"minutes": 5}, key)[0] == 200
    assert suite.call("GetBucketSettings", {"bucketId": bucket}, key)["settings"]["snoozeEndTime"]
    assert ask(base, "DELETE", f"{prefix}/{ids[0]}", None, key)[0] == 200
    assert ask(base, "DELETE", f"{prefix}/batch", {"ids": ids[1:]}, key)[0] == 200
    assert not stored(suite, key, bucket)


@pytest.mark.parametrize("method, path, body, status", [
    ("PATCH", "/notifications/n_nothing/read", {}, 404), ("PATCH", "/notifications/batch/read", {}, 400),
    ("PATCH", "/notifications/batch/read", {"ids": "x"}, 400), ("PATCH", "/notifications/batch/read", {"ids": [1]}, 400),
    ("POST", "/notifications/postpone", {"notificationId": "n_nothing", "minutes": 5}, 404),
    ("POST", "/notifications/postpone", {"notificationId": "n_nothing"}, 400),
    ("POST", "/buckets/b_nothing/snooze-minutes", {"minutes": 5}, 404),
    ("POST", "/buckets/b_nothing/snooze-minutes", {"minutes": "5"}, 400), ("GET", "/messages", None, 405),
    ("POST", "/messages/x", {}, 404), ("POST", "/webhooks/w_nothing/execute", {}, 404),
    ("GET", "/webhooks/w_nothing/execute", None, 405),
])
def test_wrong_calls_are_refused(base, key, method, path, body, status):
    found, answer = ask(base, method, path, body, key)
    assert found == status, answer
    assert "errors" in answer or answer["statusCode"] == status


def test_other_users_are_refused(suite, base, key, bucket):
    assert ask(base, "POST", "/messages", message(bucket), key)[0] == 201
    [made] = stored(suite, key, bucket)
    other = suite.key("user/stranger")
    assert ask(base, "PATCH", f"/notifications/{made['id']}/read", {}, other)[0] == 404
    assert ask(base, "POST", "/messages", message(bucket), other)[0] == 404
    assert ask(base, "PATCH", f"/notifications/{made['id']}/read", {})[0] == 401
    assert ask(base, "PATCH", f"/notifications/{made['id']}/read", {}, "cmp_" + "A" * 43)[0] == 401
    # The key also works with its own prefix.
    assert ask(base, "PATCH", f"/notifications/{made['id']}/read", {}, key, prefix="cmp_")[0] == 200


def test_webhook_is_run_by_its_id(suite, base, key, bucket):
    made = suite.call("CreateWebhook", {"webhook": {"name": "Door", "url": "http://127.0.0.1:9/"}}, key)["webhook"]["id"]
    path = f"/webhooks/{made}/execute"
    # No notification needs to refer to the webhook.
    status, answer = ask(base, "POST", path, {}, key)
    # Services may not call this address; the run records the reason.
    assert status == 503 and answer["statusCode"] == 503, answer
    [run] = suite.call("ListActionRuns", {}, key)["runs"]
    assert run["action"] == {"type": "ACTION_TYPE_WEBHOOK", "value": made, "title": "Door"}
    assert run["state"] == "STATE_FAILED" and answer["error"] == run["reason"] and "notificationId" not in run
    assert ask(base, "POST", path, {}, suite.key("user/stranger"))[0] == 404
    suite.call("DeleteWebhook", {"webhookId": made}, key)


def grant(bucket, **more):
    return {"resourceType": "BUCKET", "resourceId": bucket, "permissions": ["READ"]} | more


def test_sharing_needs_the_consent_of_the_other_user(suite, base, key, bucket):
    other = suite.key("user/friend@example.org")
    status, answer = ask(base, "POST", "/entity-permissions/grant", grant(bucket, userEmail="friend@example.org"), key)
    assert status == 201 and answer["pending"] is True, answer
    assert answer["permissions"] == ["READ"] and answer["user"]["id"] == "friend@example.org"
    assert ask(base, "POST", "/messages", message(bucket), key)[0] == 201
    assert "notifications" not in suite.call("ListNotifications", {}, other)
    listing = f"/entity-permissions/resource-permissions?resourceType=BUCKET&resourceId={bucket}"
    status, listed = ask(base, "GET", listing, None, key)
    assert status == 200 and [one["pending"] for one in listed] == [True]
    [invitation] = suite.call("ListInvitations", {}, other)["invitations"]
    suite.call("AcceptInvitation", {"invitationId": invitation["id"]}, other)
    assert [one["pending"] for one in ask(base, "GET", listing, None, key)[1]] == [False]
    # A grant to a member takes effect at once.
    status, answer = ask(base, "POST", "/entity-permissions/grant", grant(
        bucket, userId="friend@example.org", permissions=["READ", "WRITE"]), key)
    assert status == 201 and answer["pending"] is False and answer["permissions"] == ["READ", "WRITE"]
    revoke = grant(bucket, username="friend@example.org")
    assert ask(base, "DELETE", "/entity-permissions/revoke", revoke, key) == (
        200, {"message": "Permissions revoked successfully"})
    assert ask(base, "DELETE", "/entity-permissions/revoke", revoke, key)[0] == 404
    # A pending invitation is withdrawn.
    assert ask(base, "POST", "/entity-permissions/grant", grant(bucket, userId="somebody"), key)[0] == 201
    assert ask(base, "DELETE", "/entity-permissions/revoke", grant(bucket, userId="somebody"), key)[0] == 200
    assert ask(base, "GET", listing, None, key) == (200, [])


def test_invite_codes_are_redeemed_by_the_other_user(suite, base, key, bucket):
    other = suite.key("user/redeemer")
    status, code = ask(base, "POST", "/invite-codes", grant(bucket, maxUses=1), key)
    assert status == 201 and code["usageCount"] == 0 and code["maxUses"] == 1 and code["expiresAt"], code
    listing = f"/invite-codes?resourceType=BUCKET&resourceId={bucket}"
    [listed] = ask(base, "GET", listing, None, key)[1]
    assert listed["id"] == code["id"] and code["code"].startswith(listed["code"].removesuffix("…"))
    assert code["code"] not in json.dumps(listed)
    status, answer = ask(base, "POST", "/invite-codes/redeem", {"code": code["code"]}, other)
    assert (status, answer) == (201, {
        "success": True, "resourceType": "BUCKET", "resourceId": bucket, "permissions": ["READ"]})
    third = suite.key("user/late")
    status, answer = ask(base, "POST", "/invite-codes/redeem", {"code": code["code"]}, third)
    assert status == 201 and answer == {"success": False, "error": "Invalid invite code"}
    assert ask(base, "DELETE", f"/invite-codes/{code['id']}", None, third)[0] == 404
    assert ask(base, "DELETE", f"/invite-codes/{code['id']}", None, key)[0] == 200
    assert ask(base, "GET", listing, None, key) == (200, [])
    assert ask(base, "GET", listing, None, third)[0] == 404


@pytest.mark.parametrize("method, path, body, status, field", [
    ("POST", "/entity-permissions/grant", {"resourceType": "USER"}, 400, "resourceType"),
    ("POST", "/entity-permissions/grant", {"resourceId": ""}, 400, "resourceId"),
    ("POST", "/entity-permissions/grant", {"permissions": ["OWN"], "userId": "x"}, 400, "permissions"),
    ("POST", "/entity-permissions/grant", {"permissions": [], "userId": "x"}, 400, "permissions"),
    ("POST", "/entity-permissions/grant", {"expiresAt": "soon", "userId": "x"}, 400, "expiresAt"),
    ("POST", "/entity-permissions/grant", {}, 400, "userId"),
    ("POST", "/entity-permissions/grant", {"userId": "x y"}, 400, "userId"),
    ("POST", "/invite-codes", {"maxUses": 0}, 400, "maxUses"), ("POST", "/invite-codes", {"permissions": ["ADMIN"]}, 400, "permissions"),
    ("POST", "/invite-codes/redeem", {}, 400, "code"), ("DELETE", "/invite-codes/x", None, 404, None),
    ("GET", "/entity-permissions/grant", None, 405, None), ("GET", "/invite-codes", None, 400, "resourceType"),
])
def test_wrong_sharing_calls_are_refused(base, key, bucket, method, path, body, status, field):
    found, answer = ask(base, method, path, None if body is None else grant(bucket) | body, key)
    assert found == status, answer
    assert field is None or answer["errors"][0]["property"] == field, answer

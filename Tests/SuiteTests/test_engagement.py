"""Reports of devices about notifications, from the push to the publisher's counts."""

import json
import secrets
import urllib.error
import urllib.request

import pytest
from campanile import PATIENCE_S, eventually

REPORTED = {"DELIVERY_OUTCOME_RECEIVED", "DELIVERY_OUTCOME_OPENED", "DELIVERY_OUTCOME_DISMISSED", "DELIVERY_OUTCOME_ACTED"}


@pytest.fixture(scope="module")
def key(suite):
    return suite.key("user/engaged")


@pytest.fixture(scope="module")
def bucket(suite, key):
    return suite.call("CreateBucket", {"bucket": {"name": "Engagement"}}, key)["bucket"]["id"]


def device(suite, key):
    """Registers a phone for alerts and returns its push token."""
    token = secrets.token_hex(32)
    suite.call("RegisterPushToken", {
        "kind": "PUSH_TOKEN_KIND_DEVICE", "token": token, "app": "com.example.app", "environment": "development",
        "installationId": "i-" + token[:8]}, key)
    return token


def report(suite, *reports, key=None):
    """Reports over HTTP without a credential, as an app's extension does."""
    made = urllib.request.Request(
        f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/notifications/v1/engagement:batchReport", method="POST",
        data=json.dumps({"reports": reports}).encode(), headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(made, timeout=PATIENCE_S) as answer:
            return [result.get("error", {}).get("reason") or bool(result["engagement"].get("isNew")) for result in json.loads(answer.read())["results"]]
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_reports_reach_the_log_the_counts_and_the_watch(suite, key, bucket):
    phones = [device(suite, key), device(suite, key)]
    token = suite.call("ListEngagementChanges", {"bucketId": bucket}, key)["resumeToken"]
    made = suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": "Engaged"}}, key)["notification"]["id"]

    def pushed(phone):
        return [(push, payload) for push, payload in suite.pushed(phone) if payload.get("notificationId") == made]

    receipts = []
    for phone in phones:
        eventually(lambda: pushed(phone), "the push")
        [(push, payload)] = pushed(phone)
        assert len(json.dumps(payload)) <= 4096
        receipts.append((push, payload["rct"]))
    # Each device has its own receipt.
    assert receipts[0][1] != receipts[1][1]
    for _, receipt in receipts:
        assert report(suite, {"receipt": receipt, "kind": "ENGAGEMENT_KIND_RECEIVED"}) == [True]
    first = receipts[0][1]
    assert report(
        suite, {"receipt": first, "kind": "ENGAGEMENT_KIND_RECEIVED"}, {"receipt": first, "kind": "ENGAGEMENT_KIND_OPENED"},
        {"receipt": first, "kind": "ENGAGEMENT_KIND_ACTED", "actionId": "0"}, {"receipt": first, "kind": "ENGAGEMENT_KIND_ACTED"},
        {"receipt": first[:-1] + ("A" if first[-1] != "A" else "Q"), "kind": "ENGAGEMENT_KIND_DISMISSED"},
    ) == [False, True, True, "REQUIRED", "RECEIPT_INVALID"]
    records = eventually(lambda: len(found := suite.call("ExplainDelivery", {"notificationId": made}, key)["records"]) >= 7 and found, "all records")
    reported = [record for record in records if record["outcome"] in REPORTED]
    assert sorted(record["outcome"].removeprefix("DELIVERY_OUTCOME_") for record in reported) == ["ACTED", "OPENED", "RECEIVED", "RECEIVED"]
    # A report names the same push and device as APNs' acceptance.
    accepted = {(record["pushId"], record["deviceId"]) for record in records if record["outcome"] == "DELIVERY_OUTCOME_PUSHED"}
    assert {(record["pushId"], record["deviceId"]) for record in reported} == accepted and len(accepted) == 2
    engagement = suite.call("GetNotificationEngagement", {"notificationId": made}, key)["engagement"]
    assert engagement["counts"] == {"receivedCount": 1, "openedCount": 1, "actedCount": 1} and engagement["recipientCount"] == 1
    assert engagement["actions"] == [{"actionId": "0", "recipientCount": 1}]
    listed = suite.call("ListBucketEngagement", {"bucketId": bucket}, key)
    assert listed["notifications"][0]["notificationId"] == made and listed["totals"]["openedCount"] == 1
    changes = suite.call("ListEngagementChanges", {"bucketId": bucket, "resumeToken": token}, key)["changes"]
    assert [change["kind"].removeprefix("ENGAGEMENT_KIND_") for change in changes] == ["RECEIVED", "RECEIVED", "OPENED", "ACTED"]
    assert "engaged" not in json.dumps(changes).lower().replace("engagement", "")


def test_publisher_watches_over_http(suite, key, bucket):
    made = suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": "Watched"}}, key)["notification"]["id"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/notifications/v1/buckets/{bucket}/engagement:watch",
        headers={"Authorization": f"Bearer {key}", "Accept": "text/event-stream"})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as stream:
        def event():
            for line in stream:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
            raise AssertionError("the stream has ended")
        assert "started" in event()
        answer = suite.call("BatchRecordEngagement", {"reports": [{"notificationId": made, "kind": "ENGAGEMENT_KIND_DISMISSED"}]}, key)
        assert answer["results"] == [{"engagement": {"isNew": True}}]
        change = event()["change"]
    assert change["notificationId"] == made and change["counts"] == {"dismissedCount": 1}


def test_reports_without_a_valid_receipt_are_refused(suite, key, bucket):
    for receipt in ("x", "A" * 600, "%00", "é"):
        assert report(suite, {"receipt": receipt, "kind": "ENGAGEMENT_KIND_OPENED"}) == ["RECEIPT_INVALID"]
    assert report(suite, {"receipt": "A" * 601, "kind": "ENGAGEMENT_KIND_OPENED"}) == ["TOO_LONG"]
    assert report(suite, {"receipt": "x"}, {"kind": "ENGAGEMENT_KIND_OPENED"}) == ["ENUM_UNSPECIFIED", "REQUIRED"]
    status, answer = report(suite)
    assert status == 400
    status, answer = report(suite, *[{"receipt": "x", "kind": "ENGAGEMENT_KIND_OPENED"}] * 101)
    assert status == 400 and answer["error"]["details"][0]["reason"] == "TOO_MANY"

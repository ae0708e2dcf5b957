"""From publication at the gateway to display on a device: Notifications, Activities and the simulated APNs together."""

import collections
import json
import os
import signal
import sys
import time

import pytest
from campanile import ROOT, eventually

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

DEVICE, ACTIVITY = "d0" * 32, "ac" * 32
PUBLISHING = "campanile.notifications.v1.NotificationsService/"


class Phone:
    """A user with a bucket, and a device whose push tokens are registered."""

    def __init__(self, suite, user, device=DEVICE, activity=ACTIVITY):
        self.suite, self.user, self.device, self.activity = suite, user, device, activity
        self.key = suite.key(f"user/{user}")
        self.app = suite.endpoints["apns"]["topic"]
        self.bucket = self.call("CreateBucket", {"bucket": {"name": "Casa"}})["bucket"]["id"]
        if device:
            self.device_id = self.register(kind="PUSH_TOKEN_KIND_DEVICE", token=device)
        if activity:
            self.started = self.call("StartUnreadActivity", {
                "app": self.app, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL", "itemsMax": 3,
                "attributesType": "UnreadAttributes", "attributesJson": "{}"})["activity"]
            self.register(kind="PUSH_TOKEN_KIND_ACTIVITY_UPDATE", token=activity, activityId=self.started["id"])

    def call(self, method, request):
        return self.suite.call(method, request, self.key)

    def register(self, **members):
        """Registers a token and returns its id, which identifies the device in the delivery log."""
        return self.call("RegisterPushToken", {
            "app": self.app, "environment": "development", "installationId": "phone", **members})["token"]["id"]

    def publish(self, title, **members):
        return self.call("CreateNotification", {
            "notification": {"bucketId": self.bucket, "title": title, **members}})["notification"]

    def explained(self, notification):
        """The records of a notification in the delivery log, in order."""
        return self.call("ExplainDelivery", {"notificationId": notification["id"]})["records"]

    def explained_as(self, notification, outcome):
        """Waits for a delivery record with this outcome, and returns it."""
        return eventually(
            lambda: next((r for r in self.explained(notification) if r["outcome"] == f"DELIVERY_OUTCOME_{outcome}"), None),
            f"{notification['title']} is {outcome}")

    def displays(self, count, titles):
        """Waits until the activity displays this count and these titles, and returns its state."""
        def matches():
            state = self.suite.screen(self.activity).get("contentState", {})
            return state.get("unreadCount") == count and [n["title"] for n in state["notifications"]] == titles
        eventually(matches, f"{count} unread, the newest {titles}: {self.suite.screen(self.activity)}")
        return self.suite.screen(self.activity)["contentState"]


def test_notification_reaches_the_device(suite):
    phone = Phone(suite, "reached")
    made = phone.publish(
        "Porta aperta 🚪", subtitle="Ingresso", body="È aperta da dieci minuti.",
        attachments=[{"mediaType": "MEDIA_TYPE_IMAGE", "url": "https://media.example.com/door.jpg"}])
    pushed = phone.explained_as(made, "PUSHED")
    ((apns_id, payload),) = suite.pushed(DEVICE)
    assert pushed["pushId"] == apns_id and pushed["deviceId"] == phone.device_id
    assert payload["aps"]["alert"] == {
        "title": "Porta aperta 🚪", "subtitle": "Ingresso", "body": "È aperta da dieci minuti."}
    assert payload["aps"]["badge"] == 1 and payload["aps"]["thread-id"] == phone.bucket
    assert payload["aps"]["mutable-content"] == 1 and payload["aps"]["sound"] == "default"
    assert payload["notificationId"] == made["id"]
    assert payload["data"] == {
        "bucketId": phone.bucket, "bucketName": "Casa", "mediaUrl": "https://media.example.com/door.jpg"}
    assert suite.screen(DEVICE)["alert"] == payload["aps"]["alert"]
    (request,) = [p for p in suite.simulator("GET", "/pushes?limit=1000")["pushes"] if p["id"] == apns_id]
    assert (request["topic"], request["pushType"], request["status"]) == (phone.app, "alert", 200)


def test_unread_activity_follows_the_notifications(suite):
    phone = Phone(suite, "following", "d1" * 32, "a1" * 32)
    made = [phone.publish(f"Numero {number}") for number in range(5)]
    state = phone.displays(5, ["Numero 4", "Numero 3", "Numero 2"])
    assert state["notifications"][0]["bucketName"] == "Casa" and state["notifications"][0]["id"] == made[4]["id"]
    phone.call("MarkNotificationsRead", {"notificationIds": [made[4]["id"], made[2]["id"]]})
    phone.displays(3, ["Numero 3", "Numero 1", "Numero 0"])
    phone.call("MarkAllNotificationsRead", {"throughNotificationId": made[4]["id"]})
    phone.displays(0, [])
    assert suite.screen(phone.activity)["discards"] == {}


def test_silent_notifications_are_pushed_and_no_push_is_recorded(suite):
    phone = Phone(suite, "silent", "d2" * 32, None)
    silent = phone.publish("Log", priority="PRIORITY_SILENT")
    phone.explained_as(silent, "PUSHED")
    ((_, payload),) = suite.pushed(phone.device)
    assert payload["aps"]["content-available"] == 1 and "alert" not in payload["aps"]
    phone.explained_as(phone.publish("Nothing", priority="PRIORITY_NO_PUSH"), "NO_PUSH")
    phone.explained_as(phone.publish("Critical", priority="PRIORITY_CRITICAL"), "PUSHED")
    # The app is not listed as one with Apple's entitlement for critical alerts.
    (critical,) = [p["aps"] for _, p in suite.pushed(phone.device)][1:]
    assert (critical["interruption-level"], critical["sound"]) == ("time-sensitive", "default")


def test_missing_device_is_recorded(suite):
    phone = Phone(suite, "nowhere", None, None)
    phone.explained_as(phone.publish("Nobody hears"), "NO_TOKEN")


def test_rejected_token_is_retired_with_its_reason(suite):
    phone = Phone(suite, "gone", "d3" * 32, None)
    suite.simulator("POST", "/tokens", {"token": phone.device, "bundleId": phone.app})
    suite.simulator("POST", f"/tokens/{phone.device}/reject", {"reason": "Unregistered"})
    rejected = phone.explained_as(phone.publish("To nobody"), "REJECTED")
    assert rejected["reason"] == "Unregistered" and rejected["deviceId"] == phone.device_id
    assert phone.call("ListPushTokens", {}) == {}
    (token,) = phone.call("ListPushTokens", {"includeRetired": True})["tokens"]
    assert token["retireReason"] == "Unregistered" and "retireTime" in token
    phone.explained_as(phone.publish("Still to nobody"), "NO_TOKEN")
    # The app is reinstalled and has a new token.
    phone.register(kind="PUSH_TOKEN_KIND_DEVICE", token="d4" * 32)
    phone.explained_as(phone.publish("Back"), "PUSHED")
    assert [payload["aps"]["alert"]["title"] for _, payload in suite.pushed("d4" * 32)] == ["Back"]


class Publisher:
    """Publishes through the gateway, and retries requests without a response with the same request id."""

    def __init__(self, phone):
        self.phone, self.link = phone, None

    def publish(self, number):
        request = {"notification": {"bucketId": self.phone.bucket, "title": f"{number}"}, "requestId": f"r-{number}"}
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if self.link is None:
                    self.link = Peer(self.phone.suite.endpoints["gateway"]["rpc"], timeout_s=30)
                    self.link.hello(self.phone.key)
                answer = self.link.call(PUBLISHING + "CreateNotification", request, timeoutMs=10_000)
                if "result" in answer:
                    return answer["result"]["notification"]["id"]
                assert answer["error"]["data"]["status"] in ("UNAVAILABLE", "DEADLINE_EXCEEDED"), answer
            except (OSError, TypeError):
                self.link = None
            time.sleep(0.05)
        raise AssertionError(f"{number} is not published")


@pytest.mark.parametrize("victims", [["notifications"], ["activities"], ["apns-simulator"], ["notifications", "activities"]])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_lost_when_a_process_dies(start, victims, number):
    """Every notification reaches the device, under a single apns-id even if it is sent repeatedly.

    The activity ends on the last count.
    """
    suite = start().wait_ready()
    phone, count = Phone(suite, "ann"), 60
    publisher = Publisher(phone)
    made = []
    for index in range(count):
        made.append(publisher.publish(index))
        if index in (15, 40):
            before = suite.children()
            for victim in victims:
                os.kill(before[victim], number)
        if index == 39:
            for victim in victims:
                eventually(lambda: suite.children().get(victim, before[victim]) != before[victim], f"{victim} is restarted")
    assert len(set(made)) == count

    def sent():
        ids = collections.defaultdict(set)
        for apns_id, payload in suite.pushed(DEVICE):
            ids[payload["notificationId"]].add(apns_id)
        return ids

    eventually(lambda: set(sent()) >= set(made), "every notification has arrived")
    assert set(sent()) == set(made)
    assert {len(ids) for ids in sent().values()} == {1}
    phone.displays(count, [f"{count - 1}", f"{count - 2}", f"{count - 3}"])
    # The delivery log has each push once, also for the last notification before a process died.
    for identifier in (made[0], made[15], made[40], made[-1]):
        def pushed():
            records = phone.call("ExplainDelivery", {"notificationId": identifier})["records"]
            return [r for r in records if r["outcome"] == "DELIVERY_OUTCOME_PUSHED"]
        assert len(eventually(pushed, f"{identifier} is recorded as pushed")) == 1
    assert suite.screen(ACTIVITY)["discards"] == {}
    counts = phone.call("GetUnreadCounts", {})["unreadCounts"]
    assert counts["total"] == count, json.dumps(counts)

"""SimulatorService, and the operators' views of pushes and users, through the gateway of a real suite."""

import json
import os
import secrets
import signal
import urllib.error
import urllib.parse
import urllib.request

import pytest
from campanile import PATIENCE_S, eventually

TOKEN = secrets.token_hex(32)


def ask(suite, method, path, body=None, key=None):
    """Calls a REST path of the gateway, as the administrator unless a key is given. Returns status and response."""
    port = suite.endpoints["gateway"]["http"]
    made = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key or suite.endpoints['gateway']['adminKey']}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(made, timeout=PATIENCE_S) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def get(suite, path, **query):
    status, answer = ask(suite, "GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
    assert status == 200, answer
    return answer


def post(suite, path, body):
    status, answer = ask(suite, "POST", path, body)
    assert status == 200, answer
    return answer


class Watch:
    """An event stream of the gateway."""

    def __init__(self, suite, path, **query):
        port = suite.endpoints["gateway"]["http"]
        text = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
        self.stream = urllib.request.urlopen(urllib.request.Request(text, headers={
            "Accept": "text/event-stream", "Authorization": f"Bearer {suite.endpoints['gateway']['adminKey']}"}), timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def next(self):
        """The data of the next event, with the name of the event."""
        name, data = "message", []
        for line in self.stream:
            field, _, value = line.decode().rstrip("\n").partition(":")
            if not field and data:
                return name, json.loads("\n".join(data))
            if field == "data":
                data.append(value.removeprefix(" "))
            elif field == "event":
                name = value.strip()
        raise AssertionError("the stream has ended")

    def until(self, condition):
        while True:
            event = self.next()[1]
            if condition(event):
                return event


class Phone:
    """A user with an activity whose token is registered."""

    def __init__(self, suite, user, token=TOKEN):
        self.suite, self.user, self.key, self.token = suite, user, suite.key(f"user/{user}"), token
        self.app = suite.endpoints["apns"]["topic"]
        self.activity = self.call("StartActivity", {
            "app": self.app, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL", "contentStateJson": "{}"})["activity"]["id"]
        self.token_id = self.call("RegisterPushToken", {
            "kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": token, "app": self.app, "environment": "development",
            "installationId": "phone", "activityId": self.activity})["token"]["id"]
        # The start of a local activity pushes nothing.
        self.update(0)

    def call(self, method, request):
        return self.suite.call(method, request, self.key)

    def update(self, number):
        self.call("UpdateActivity", {"activityId": self.activity, "contentStateJson": json.dumps({"n": number})})

    def shows(self, number):
        """Waits until the screen shows a number, and returns the screen."""
        def found():
            status, answer = ask(self.suite, "GET", f"/simulator/v1/screens/{self.token}")
            return status == 200 and json.loads(answer["screen"]["state"]["contentStateJson"]) == {"n": number} and answer
        return eventually(found, f"{number} is displayed")


def test_push_moves_the_screen_within_the_watch(suite):
    phone = Phone(suite, "watched")
    phone.shows(0)
    with Watch(suite, "/simulator/v1/screens:watch", screenId=TOKEN) as watch:
        assert "started" in watch.next()[1]
        phone.update(1)
        event = watch.until(lambda event: json.loads(event["screen"]["state"]["contentStateJson"]) == {"n": 1})
    assert event["screen"]["id"] == TOKEN and event["screen"]["status"] == "SCREEN_STATUS_STARTED"
    # A screen leads to its push, and from there to the user, the activity and the trace.
    def sent():
        push = get(suite, f"/activities/v1/pushes/{event['screen']['state']['apnsId']}")["push"]
        return push["status"] != "PUSH_STATUS_SENDING" and push

    push = eventually(sent, "the answer of APNs is stored")
    assert (push["userId"], push["activityId"], push["tokenId"]) == ("watched", phone.activity, phone.token_id)
    assert push["status"] == "PUSH_STATUS_ACCEPTED" and "deliver" not in json.dumps(push).lower()
    phone.update(2)
    with Watch(suite, "/simulator/v1/screens:watch", resumeToken=event["resumeToken"]) as watch:
        watch.until(lambda event: event.get("screen", {}).get("id") == TOKEN
                    and json.loads(event["screen"]["state"]["contentStateJson"]) == {"n": 2})


def test_states_keep_their_order_and_pushes(suite):
    phone = Phone(suite, "ordered", "5d" * 32)
    for number in range(1, 4):
        phone.update(number)
        answer = phone.shows(number)
    states = [json.loads(state["contentStateJson"])["n"] for state in answer["states"]]
    assert states == [0, 1, 2, 3] and [int(state["number"]) for state in answer["states"]] == [1, 2, 3, 4]
    listed = get(suite, "/activities/v1/pushes", userId="ordered")["pushes"]
    assert [state["apnsId"] for state in answer["states"]] == [push["apnsId"] for push in reversed(listed)]
    received = get(suite, "/simulator/v1/pushes", screenId=phone.token)["pushes"]
    assert [push["apnsId"] for push in received] == [push["apnsId"] for push in listed]
    assert all(push["httpStatus"] == 200 and push["topic"].startswith(phone.app) for push in received)


def test_fault_is_applied(suite):
    phone = Phone(suite, "faulty", secrets.token_hex(32))
    phone.shows(0)
    made = post(suite, "/simulator/v1/faults", {"fault": {
        "answer": {"reason": "BadTopic"}, "match": {"pathPrefix": f"/3/device/{phone.token}"}, "remainingCount": 1}, "requestId": "once"})["fault"]
    assert [fault["id"] for fault in get(suite, "/simulator/v1/faults")["faults"]].count(made["id"]) == 1
    # The control API shows the same faults.
    assert made["id"] in [str(fault["id"]) for fault in suite.simulator("GET", "/faults")["faults"]]
    phone.update(1)

    def dead():
        listed = get(suite, "/activities/v1/pushes", userId="faulty", status="PUSH_STATUS_DEAD_LETTER", reason="BadTopic")
        return listed.get("pushes")

    (push,) = eventually(dead, "a dead letter")
    refused = get(suite, "/simulator/v1/pushes", apnsId=push["apnsId"])["pushes"]
    assert [(entry["reason"], entry["fault"]) for entry in refused] == [("BadTopic", "answer")]
    answer = get(suite, f"/activities/v1/pushes/{push['apnsId']}", includePayload="true")
    assert json.loads(answer["payloadJson"])["aps"]["content-state"] == {"n": 1}
    assert "payloadJson" not in get(suite, f"/activities/v1/pushes/{push['apnsId']}")
    assert get(suite, "/activities/v1/pushes", app=phone.app, userId="faulty", action="PUSH_ACTION_UPDATE", status="PUSH_STATUS_ACCEPTED")["pushes"]
    post(suite, "/activities/v1/deadLetters:replay", {"apnsIds": [push["apnsId"]]})
    phone.shows(1)
    assert ask(suite, "DELETE", f"/simulator/v1/faults/{made['id']}")[0] == 200
    assert ask(suite, "DELETE", f"/simulator/v1/faults/{made['id']}")[0] == 404


def test_device_is_disconnected_and_invalidated(suite):
    phone = Phone(suite, "offline", "5f" * 32)
    phone.shows(0)
    post(suite, "/simulator/v1/devices:setConnection", {"device": phone.token})
    assert "connected" not in get(suite, f"/simulator/v1/screens/{phone.token}")["screen"]
    phone.update(1)
    eventually(lambda: len(get(suite, "/simulator/v1/pushes", screenId=phone.token)["pushes"]) >= 2, "a push is stored")
    post(suite, "/simulator/v1/devices:setConnection", {"device": phone.token, "connected": True})
    phone.shows(1)
    shown = post(suite, f"/simulator/v1/screens/{phone.token}:invalidate", {})["screen"]
    assert shown["invalidation"]["reason"] == "Unregistered"
    phone.update(2)
    eventually(lambda: get(suite, "/activities/v1/pushes", userId="offline", reason="Unregistered").get("pushes"), "a rejected push")


def test_ends_of_pushes_are_watched(suite):
    phone = Phone(suite, "ends", "60" * 32)
    phone.shows(0)
    with Watch(suite, "/activities/v1/pushes:watch", userId="ends") as watch:
        assert "started" in watch.next()[1]
        phone.update(1)
        event = watch.until(lambda event: "push" in event)
    assert event["push"]["activityId"] == phone.activity
    resumed = event["resumeToken"]
    phone.update(2)
    with Watch(suite, "/activities/v1/pushes:watch", userId="ends", resumeToken=resumed) as watch:
        assert "started" in watch.next()[1]
        assert watch.until(lambda event: "push" in event)["push"]["apnsId"] != event["push"]["apnsId"]


def test_users_and_their_deliveries_are_shown_to_operators(suite):
    key = suite.key("user/seen")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "Casa"}}, key)["bucket"]["id"]
    made = suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": "x"}}, key)["notification"]["id"]
    (user,) = get(suite, "/notifications/v1/users", userIdPrefix="seen")["users"]
    assert (user["userId"], user["notificationCount"], user["unreadCount"]) == ("seen", "1", "1") and user["changeTime"]
    suite.call("CreateZone", {"zoneId": "Z"}, key)
    # The export of notifications adds a zone, maybe later.
    eventually(lambda: [int(user["zoneCount"]) for user in get(suite, "/sync/v1/users", userIdPrefix="seen")["users"]] == [
        len(suite.call("ListZones", {}, key)["zones"])], "the zones are counted")
    Phone(suite, "seen", "61" * 32)
    assert [user["activityCount"] for user in get(suite, "/activities/v1/users", userIdPrefix="seen")["users"]] == ["1"]
    own = suite.call("ExplainDelivery", {"notificationId": made}, key)["records"]
    shown = get(suite, f"/notifications/v1/users/seen/notifications/{made}/delivery")["records"]
    assert shown[:len(own)] == own
    assert ask(suite, "GET", f"/notifications/v1/users/other/notifications/{made}/delivery")[0] == 404
    for path in ("/notifications/v1/users", "/sync/v1/users", "/activities/v1/users", "/activities/v1/pushes", "/simulator/v1/screens",
                 f"/notifications/v1/users/seen/notifications/{made}/delivery"):
        assert ask(suite, "GET", path, key=key)[0] == 403, path


def test_watch_reports_the_gap_after_a_restart(start):
    suite = start().wait_ready()
    phone = Phone(suite, "gap")
    phone.shows(0)
    token = get(suite, "/simulator/v1/screens")["resumeToken"]
    before = suite.children()["apns-simulator"]
    os.kill(before, signal.SIGKILL)
    eventually(lambda: suite.children().get("apns-simulator", before) != before, "the simulator is restarted")

    def listed():
        status, answer = ask(suite, "GET", "/simulator/v1/screens")
        return status == 200 and answer

    # The journal keeps the screens and their states.
    answer = eventually(listed, "the simulator responds")
    (screen,) = [screen for screen in answer["screens"] if screen["id"] == TOKEN]
    assert json.loads(screen["state"]["contentStateJson"]) == {"n": 0}
    port = suite.endpoints["gateway"]["http"]
    text = f"http://127.0.0.1:{port}/simulator/v1/screens:watch?{urllib.parse.urlencode({'resumeToken': token})}"
    made = urllib.request.Request(text, headers={
        "Accept": "text/event-stream", "Authorization": f"Bearer {suite.endpoints['gateway']['adminKey']}"})
    try:
        text = urllib.request.urlopen(made, timeout=PATIENCE_S).read().decode()
    except urllib.error.HTTPError as error:
        text = error.read().decode()
    assert "TOKEN_TOO_OLD" in text
    phone.update(1)
    phone.shows(1)


def test_suite_without_a_simulator_has_no_service(start):
    suite = start("data", "--apns-endpoint", "development=127.0.0.1:9").wait_ready()
    status, answer = ask(suite, "GET", "/simulator/v1/screens")
    assert status in (404, 501, 503), answer
    assert "simulator" not in suite.run("list", check=0).stdout


@pytest.mark.parametrize("path", ["/simulator/v1/screens?pageSize=-1", "/simulator/v1/screens/", "/activities/v1/pushes?status=NONE"])
def test_invalid_requests_are_refused(suite, path):
    assert ask(suite, "GET", path)[0] in (400, 404)

"""The Growth app's Firebase callables over the gateway, down to the pushes to its widget."""

import datetime
import json
import secrets
import urllib.error
import urllib.request

import pytest
from campanile import PATIENCE_S, eventually

EPOCH_2001 = 978_307_200


@pytest.fixture(scope="module")
def key(suite):
    return suite.key("user/growth")


@pytest.fixture(scope="module")
def base(suite):
    return f"http://127.0.0.1:{suite.endpoints['gateway']['http']}"


def post(base, path, body, key=None, **headers):
    made = urllib.request.Request(base + path, method="POST", data=body if type(body) is bytes else json.dumps(body).encode())
    made.add_header("Content-Type", "application/json; charset=utf-8")
    if key:
        made.add_header("Authorization", f"Bearer {key}")
    for name, value in headers.items():
        made.add_header(name, value)
    try:
        with urllib.request.urlopen(made, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def call(base, name, data, key, path="/"):
    """Calls a function like the SDK. Returns the result, or the status of an error."""
    status, content = post(base, path + name, {"data": data}, key)
    answer = json.loads(content)
    if status == 200:
        assert set(answer) == {"result"}
        return answer["result"]
    assert set(answer) == {"error"} and {"status", "message"} <= set(answer["error"])
    return answer["error"]["status"]


def iso(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def state(now, **more):
    return {"startedAt": iso(now), "duration": 1800, "methodName": "Focus", "sessionType": "countdown"} | more


def frequent(suite, key):
    """Whether the user allows frequent updates, as each of the tokens has it."""
    return {token.get("frequentPushesEnabled") for token in suite.call("ListPushTokens", {"pageSize": 1000}, key)["tokens"]}


@pytest.mark.parametrize("path", ["/", "/growth-app/us-central1/"])
def test_timer_is_started_paused_resumed_and_stopped(suite, base, key, path):
    now = int(datetime.datetime.now().timestamp())
    token, activity = secrets.token_hex(32), "growth-" + secrets.token_hex(8)
    answer = call(base, "registerLiveActivityPushToken", {
        "token": token, "activityId": activity, "platform": "ios", "timestamp": now + 0.5, "environment": "development"},
        key, path)
    assert answer == {"success": True, "activityId": activity}
    # The app displays the initial state itself; only changes are pushed.
    answer = call(base, "updateLiveActivity", {
        "activityId": activity, "contentState": state(now), "action": "update", "event": "update",
        "frequentPushesEnabled": True}, key, path)
    assert answer == {"success": True, "activityId": activity}
    assert frequent(suite, key) == {True}

    def shown(condition):
        return eventually(lambda: (s := suite.screen(token)) and condition(s) and s, "the widget's state")

    content = shown(lambda s: s.get("contentState", {}).get("methodName") == "Focus")["contentState"]
    # The widget's decoder requires these fields, with dates as seconds since 2001.
    assert content["startedAt"] == now - EPOCH_2001 and content["totalPausedDuration"] == 0
    assert content["duration"] == 1800 and content["sessionType"] == "countdown" and "pausedAt" not in content
    # The newest widget decodes protocolName, older ones methodName.
    assert content["protocolName"] == "Focus" and content["isPaused"] is False

    paused = call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "pause"}, key, path)
    assert paused["success"] and paused["action"] == "pause" and paused["contentState"]["startedAt"] == iso(now)
    assert paused["contentState"]["pausedAt"]
    assert type(shown(lambda s: "pausedAt" in s["contentState"])["contentState"]["pausedAt"]) in (int, float)
    again = call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "pause"}, key, path)
    assert again["contentState"]["pausedAt"] == paused["contentState"]["pausedAt"]
    resumed = call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "resume"}, key, path)
    total = resumed["contentState"]["totalPausedDuration"]
    assert total > 0 and "pausedAt" not in resumed["contentState"]
    # A pause is counted once.
    again = call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "resume"}, key, path)
    assert again["contentState"]["totalPausedDuration"] == total

    assert call(base, "getLiveActivityPushToken", {"activityId": activity}, key, path) == {"token": token}
    assert call(base, "manageLiveActivityUpdates", {"activityId": activity, "userId": "growth", "action": "startPushUpdates"},
                key, path)["success"]
    stopped = call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "stop"}, key, path)
    assert stopped == {"success": True, "action": "stopped"}
    assert shown(lambda s: s.get("isEnded"))
    events = [payload["aps"]["event"] for _, payload in suite.pushed(token)]
    assert set(events[:-1]) <= {"update"} and events[-1] == "end"
    assert "dismissal-date" in suite.pushed(token)[-1][1]["aps"]


def adopted(base, key, now, **more):
    """Makes an activity known by an update that brings its token along, like the app's. Returns its id and token."""
    activity, token = "growth-" + secrets.token_hex(8), secrets.token_hex(32)
    assert call(base, "updateLiveActivity", {
        "activityId": activity, "contentState": state(now, **more), "action": "update", "event": "update", "pushToken": token,
        "frequentPushesEnabled": True}, key) == {"success": True, "activityId": activity}
    return activity, token


def shown(suite, token, condition):
    return eventually(lambda: (s := suite.screen(token)) and condition(s) and s, "the widget's state")


def test_update_registers_the_token_that_it_brings(suite, base, key):
    now = int(datetime.datetime.now().timestamp())
    activity, token = adopted(base, key, now)
    screen = shown(suite, token, lambda s: s.get("contentState", {}).get("methodName") == "Focus")
    # Seed 003: stale-date after 8 h, relevance-score 100; the app's own are 50 while it is paused.
    assert abs(screen["staleDateSeconds"] - now - 28_800) < 60 and screen["relevanceScore"] == 100
    # The app sends the token of getLiveActivityPushToken back.
    again = call(base, "getLiveActivityPushToken", {"activityId": activity}, key)["token"]
    assert again == token
    assert call(base, "updateLiveActivity", {
        "activityId": activity, "contentState": state(now, pausedAt=iso(now + 5)), "action": "pause", "event": "update",
        "pushToken": again}, key)["success"]
    screen = shown(suite, token, lambda s: s["contentState"].get("isPaused"))
    assert screen["relevanceScore"] == 50 and screen["contentState"]["pausedAt"] == now + 5 - EPOCH_2001
    # A new token of ActivityKit replaces the old one.
    newer = secrets.token_hex(32)
    assert call(base, "updateLiveActivity", {
        "activityId": activity, "contentState": state(now, methodName="New"), "pushToken": newer}, key)["success"]
    shown(suite, newer, lambda s: s.get("contentState", {}).get("methodName") == "New")
    assert call(base, "getLiveActivityPushToken", {"activityId": activity}, key) == {"token": newer}


def test_update_before_the_token_of_another_environment(suite, base, key):
    """The app's updates name no environment, and its first one may come before the token of a release build."""
    now = int(datetime.datetime.now().timestamp())
    activity, _ = adopted(base, key, now)
    token = secrets.token_hex(32)
    for environment in ("production", "sandbox", "development"):
        assert call(base, "registerLiveActivityPushToken", {
            "token": token, "activityId": activity, "platform": "ios", "environment": environment}, key)["success"], environment
        found = suite.call("GetActivity", {"activityId": activity}, key)["activity"]
        assert found["environment"] == environment
        token = secrets.token_hex(32)


@pytest.mark.parametrize("change", [
    {"contentState": {"sessionType": "completed"}}, {"action": "complete"}, {"action": "stop", "event": "end"},
    {"event": "end"}, {"action": "stop"},
])
def test_completing_and_stopping_end_the_activity(suite, base, key, change):
    now = int(datetime.datetime.now().timestamp())
    activity, token = adopted(base, key, now)
    data = {"activityId": activity, "action": "update", "event": "update", "pushToken": token} | change
    data["contentState"] = state(now) | change.get("contentState", {})
    assert call(base, "updateLiveActivity", data, key)["success"]
    screen = shown(suite, token, lambda s: s["isEnded"])
    stops = change.get("event") == "end" or change.get("action") == "stop"
    # A stopped timer leaves the Lock Screen at once, a completed one after five minutes.
    assert (screen["dismissalDateSeconds"] - now > 240) == (not stops)
    assert (screen["contentState"]["sessionType"] == "completed") == (not stops)
    # A repeated end succeeds.
    assert call(base, "updateLiveActivity", data, key)["success"]


def test_stopped_push_updates_really_stop(suite, base, key):
    now = int(datetime.datetime.now().timestamp())
    activity, token = adopted(base, key, now)
    shown(suite, token, lambda s: s.get("contentState", {}).get("methodName") == "Focus")

    def manage(action):
        return call(base, "manageLiveActivityUpdates", {"activityId": activity, "userId": "growth", "action": action}, key)
    assert manage("stopPushUpdates") == {"success": True, "message": "Push updates stopped"}
    assert call(base, "updateLiveActivity", {"activityId": activity, "contentState": state(now, methodName="Quiet")}, key)["success"]
    assert suite.call("GetActivity", {"activityId": activity}, key)["activity"]["pushesStopped"]
    assert manage("startPushUpdates") == {"success": True, "message": "Push updates started"}
    shown(suite, token, lambda s: s["contentState"]["methodName"] == "Quiet")
    # Between the two no state was pushed: one update for each shown state.
    names = [payload["aps"]["content-state"]["methodName"] for _, payload in suite.pushed(token)]
    assert names == ["Focus", "Quiet"]


def test_countdown_ends_by_itself(suite, base, key):
    now = int(datetime.datetime.now().timestamp())
    # It begins in some seconds, so that a slow machine schedules its end in time.
    activity, token = adopted(base, key, now + 5, duration=3)
    screen = shown(suite, token, lambda s: s["isEnded"])
    assert screen["contentState"]["sessionType"] == "completed" and screen["contentState"]["methodName"] == "Focus"
    # While it is paused it does not end; the end is postponed by the pause.
    activity, token = adopted(base, key, now, duration=3600)
    before = suite.call("GetActivity", {"activityId": activity}, key)["activity"]
    assert before["scheduledEndTime"] == iso(now + 3600)
    assert call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "pause"}, key)["success"]
    paused = suite.call("GetActivity", {"activityId": activity}, key)["activity"]
    assert paused["scheduledEndTime"] == paused["expireTime"]
    assert call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "resume"}, key)["success"]
    resumed = suite.call("GetActivity", {"activityId": activity}, key)["activity"]
    times = [datetime.datetime.fromisoformat(one["scheduledEndTime"].replace("Z", "+00:00")) for one in (before, resumed, paused)]
    assert times[0] < times[1] < times[2]


def test_the_newest_names_are_read_as_well(suite, base, key):
    now = int(datetime.datetime.now().timestamp())
    activity, token = "growth-" + secrets.token_hex(8), secrets.token_hex(32)
    content = state(now, protocolName="Angion", isPaused=False)
    del content["methodName"]
    assert call(base, "updateLiveActivity", {"activityId": activity, "contentState": content, "pushToken": token}, key)["success"]
    shown(suite, token, lambda s: s.get("contentState", {}).get("methodName") == "Angion")


def test_other_functions_succeed(suite, base, key):
    assert call(base, "registerPushToStartToken", {
        "token": secrets.token_hex(32), "isPushToStart": True, "platform": "ios", "timestamp": 1.7e9,
        "environment": "development"}, key) == {"success": True}
    for enabled in (True, False):
        assert call(base, "updateFrequentPushesSettings", {"frequentPushesEnabled": enabled, "timestamp": 1.7e9}, key) == {"success": True}
        assert frequent(suite, key) == {enabled}
    typed = {"@type": "type.googleapis.com/google.protobuf.Int64Value", "value": "1700000000"}
    assert call(base, "registerPushToStartToken", {
        "token": secrets.token_hex(32), "platform": "ios", "timestamp": typed, "environment": "development"}, key)["success"]


def test_response_can_be_an_event_stream(base, key):
    status, content = post(base, "/updateFrequentPushesSettings", {"data": {"frequentPushesEnabled": True}}, key,
                           Accept="text/event-stream")
    assert status == 200 and content == b'data: {"result":{"success":true}}\n\n'
    status, content = post(base, "/updateFrequentPushesSettings", {"data": {}}, key, Accept="text/event-stream")
    assert status == 200 and content.startswith(b'data: {"error":{')


@pytest.mark.parametrize("body", [
    {}, {"data": {}, "more": 1}, {"data": 7}, {"data": "x"}, [], b"{", b"", b"null",
    {"data": {"frequentPushesEnabled": {"@type": "type.googleapis.com/google.protobuf.StringValue", "value": "1"}}},
    {"data": {"a": {"@type": "type.googleapis.com/google.protobuf.Int64Value", "value": "1.5"}}},
])
def test_invalid_bodies_are_bad_requests(base, key, body):
    status, content = post(base, "/updateFrequentPushesSettings", body, key)
    assert status == 400 and json.loads(content)["error"]["status"] == "INVALID_ARGUMENT", content


@pytest.mark.parametrize("name, data, status", [
    ("updateLiveActivity", {"activityId": "x", "contentState": {"startedAt": "now"}}, "INVALID_ARGUMENT"),
    ("updateLiveActivity", {"activityId": "x", "contentState": state(1.7e9), "event": "pause"}, "INVALID_ARGUMENT"),
    ("updateLiveActivity", {"activityId": "x", "contentState": state(1.7e9, sessionType="nap")}, "INVALID_ARGUMENT"),
    ("updateLiveActivity", {"activityId": "nothing", "contentState": state(1.7e9), "event": "end"}, "NOT_FOUND"),
    ("updateLiveActivity", {"activityId": "nothing", "contentState": state(1.7e9), "event": "update"}, "NOT_FOUND"),
    ("updateLiveActivity", {"activityId": "nothing", "contentState": state(1.7e9), "pushToken": "abc"}, "INVALID_ARGUMENT"),
    ("updateLiveActivityTimer", {"activityId": "nothing", "action": "pause"}, "NOT_FOUND"),
    ("updateLiveActivityTimer", {"activityId": "nothing", "action": "break"}, "INVALID_ARGUMENT"),
    ("registerLiveActivityPushToken", {"token": "xyz", "activityId": "a"}, "INVALID_ARGUMENT"),
    ("registerLiveActivityPushToken", {"token": "aa" * 32, "activityId": "a", "platform": "android"}, "INVALID_ARGUMENT"),
    ("registerLiveActivityPushToken", {"token": "aa" * 32, "activityId": "a", "environment": "moon"}, "INVALID_ARGUMENT"),
    ("getLiveActivityPushToken", {"activityId": "nothing"}, "NOT_FOUND"),
    ("manageLiveActivityUpdates", {"activityId": "nothing", "userId": "u", "action": "startPushUpdates"}, "NOT_FOUND"),
])
def test_wrong_data_is_refused(base, key, name, data, status):
    assert call(base, name, data, key) == status


def test_strangers_and_other_users_are_refused(suite, base, key):
    activity = "growth-" + secrets.token_hex(8)
    data = {"token": secrets.token_hex(32), "activityId": activity, "platform": "ios", "environment": "development"}
    assert call(base, "registerLiveActivityPushToken", data, None) == "UNAUTHENTICATED"
    assert call(base, "registerLiveActivityPushToken", data, "cmp_" + "A" * 43) == "UNAUTHENTICATED"
    assert call(base, "registerLiveActivityPushToken", data, key)["success"]
    other = suite.key("user/other")
    for action in ("pause", "stop"):
        assert call(base, "updateLiveActivityTimer", {"activityId": activity, "action": action}, other) == "NOT_FOUND"
    assert call(base, "getLiveActivityPushToken", {"activityId": activity}, other) == "NOT_FOUND"
    # A token belongs to its owner. Sending another user's token grants no access.
    assert call(base, "registerLiveActivityPushToken", data, other) == "ALREADY_EXISTS"
    changed = {"activityId": activity, "contentState": state(1_700_000_000, methodName="Other"), "pushToken": data["token"]}
    assert call(base, "updateLiveActivity", changed, other) == "ALREADY_EXISTS"
    # Ids are scoped to their user: changes to another user's activity with the same id do not affect this one.
    assert call(base, "updateLiveActivity", changed | {"pushToken": secrets.token_hex(32)}, other)["success"]
    assert call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "stop"}, other)["success"]
    mine = call(base, "updateLiveActivityTimer", {"activityId": activity, "action": "pause"}, key)
    assert mine["success"] and mine["contentState"]["methodName"] != "Other"
    assert suite.screen(data["token"]).get("contentState", {}).get("methodName") != "Other"


def test_unknown_functions_are_not_found(base, key):
    assert post(base, "/deleteEverything", {"data": {}}, key)[0] == 404
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(base + "/updateLiveActivity", timeout=PATIENCE_S)
    assert refused.value.code == 405

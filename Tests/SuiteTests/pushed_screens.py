"""Pushes timers, rooms and unread lists in every form of dates, and reads what the simulated devices display.

`python pushed_screens.py FILE` renews the fixture of the Swift client from a suite that it starts.
"""

import json
import pathlib
import secrets
import sys
import tempfile
import urllib.request

from campanile import PATIENCE_S, Suite, eventually

FORMS = {"com.example.foundation": "foundation", "com.example.unix": "unix", "com.example.iso": "iso8601"}
SETTINGS = {"CAMPANILE_CONTENT_STATE_DATES": ",".join(f"{app}={form}" for app, form in FORMS.items())}


def raw_screen(suite, token):
    """The simulator's description of a screen, byte for byte."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{suite.endpoints['apns']['simulator']['control']}/v1/screens?key={token}",
        headers={"Authorization": "Bearer " + suite.endpoints["internalToken"]})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
        return reply.read().decode().strip()


def register(suite, key, app, activity):
    token = secrets.token_hex(32)
    suite.call("RegisterPushToken", {"kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": token, "app": app,
                                     "environment": "development", "activityId": activity}, key)
    return token


def started(suite, key, app):
    """Starts one activity of each kind. Returns (name, token, condition of the last state, activity id)."""
    place = {"app": app, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL"}
    timer = suite.call("StartTimer", place | {"methodName": "Focus \u00e0 \"1\"", "sessionType": "TIMER_SESSION_TYPE_COUNTDOWN",
                                              "duration": "1800.500s"}, key)["activity"]["id"]
    token = register(suite, key, app, timer)
    # A device shows its own first state; only changes are pushed.
    suite.call("PauseTimer", {"activityId": timer}, key)
    yield "timer", token, lambda state: "pausedAt" in state, timer
    suite.call("ResumeTimer", {"activityId": timer}, key)
    yield "timer", token, lambda state: "startedAt" in state and "pausedAt" not in state, timer
    room = secrets.token_hex(24)
    joined = suite.call("JoinRoom", place | {"roomId": room}, key)["activity"]["id"]
    token = register(suite, key, app, joined)
    for connected in (True, False):
        suite.call("ReportPeer", {"app": app, "roomId": room, "connected": connected}, key)
        phase = "connected" if connected else "waiting"
        yield "room", token, lambda state, phase=phase: state.get("phase") == phase, joined
    unread = suite.call("StartUnreadActivity", place | {"itemsMax": 3}, key)["activity"]["id"]
    yield "unread", register(suite, key, app, unread), lambda state: len(state.get("notifications", [])) == 3, unread


def await_screen(suite, token, condition, what):
    eventually(lambda: condition(suite.screen(token).get("contentState", {})), what)


def record(suite):
    """Returns lines of JSON: the form of dates, the kind, the activity or summary, and the screen as it was read."""
    key = suite.key("user/screens-" + secrets.token_hex(4))
    bucket = suite.call("CreateBucket", {"bucket": {"name": "Builds \u2713", "iconUrl": "https://example.org/i.png"}}, key)["bucket"]["id"]
    for number in range(4):
        suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": f"Build {number} \u00e8 /\\ \"ok\"",
                                                           **({"subtitle": "main"} if number % 2 else {})}}, key)
    lines = []
    for app, form in FORMS.items():
        for kind, token, condition, activity in started(suite, key, app):
            await_screen(suite, token, condition, f"{kind} of {app}")
            source = suite.call("GetUnreadSummary", {}, key)["summary"] if kind == "unread" else \
                suite.call("GetActivity", {"activityId": activity}, key)["activity"]
            lines.append(f'{{"form":"{form}","kind":"{kind}","source":{json.dumps(source)},"screen":{raw_screen(suite, token)}}}')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        running = Suite(pathlib.Path(folder) / "data", settings=SETTINGS)
        try:
            pathlib.Path(sys.argv[1]).write_text(record(running.wait_ready()))
        finally:
            running.stop()

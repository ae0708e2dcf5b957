"""The console's Devices and Activities pages in a real browser, against the real services and the simulated APNs."""

import datetime
import json
import re
import uuid

import pytest
from campanile import eventually
from console_browser import FROM_SOURCES, NARROW, WIDE, Visitor, admin, base, browser, expect, needs_chromium  # noqa: F401
from console_fleet import Device

pytestmark = needs_chromium

LARGE = WIDE | {"width": 1440, "height": 900}
HOSTILE = [
    '{}', '{"__proto__":{"a":1}}', '{"notifications":[null,7,{"title":{}}],"unreadCount":"<img src=x onerror=alert(1)>"}',
    '{"phase":"connected","roomId":{},"colorHex":"url(https://example.com)","title":"</script><script>alert(1)</script>"}',
    '{"startedAt":1e308,"duration":-1,"sessionType":[],"methodName":"\u202eevil"}', '{"a":' + "[" * 60 + "]" * 60 + "}",
    json.dumps({f"key{number}": "x" * 20 for number in range(80)}),
]


def after(**duration):
    return (datetime.datetime.now(datetime.UTC) + datetime.timedelta(**duration)).isoformat().replace("+00:00", "Z")


@pytest.fixture(scope="module")
def fleet(suite):
    """Phones that show each kind of state."""
    anna, bruno, giulia = Device(suite, "anna", "Anna’s iPhone"), Device(suite, "bruno", "Bruno’s iPhone"), Device(suite, "giulia", "Giulia’s iPhone")
    anna.timer, key = anna.show("StartTimer", methodName="Workout", sessionType="TIMER_SESSION_TYPE_COUNTDOWN", duration="1800s", startTime=after(minutes=-8))
    anna.displays(key, "Workout")
    bruno.room = "a1b2" * 12
    _, bruno.screen = bruno.show("JoinRoom", roomId=bruno.room)
    bruno.displays(bruno.screen, "waiting")
    bucket = giulia.call("CreateBucket", {"bucket": {"name": "Casa", "color": "#3B5BDB"}})["bucket"]["id"]
    alerts = giulia.alerts()
    _, unread = giulia.show("StartUnreadActivity", itemsMax=3, attributesType="ZentikLiveActivityAttributes")
    for title, subtitle in [("Backup finished", "server-3"), ("Parcel delivered", "Front door"), ("Someone is at the door", "Entrance")]:
        giulia.newest = publish(giulia, bucket, title, subtitle=subtitle, body="The camera has seen a person.",
                                attachments=[{"mediaType": "MEDIA_TYPE_IMAGE", "url": "https://example.org/door.jpg"}])
    giulia.displays(alerts, "Someone is at the door")
    giulia.displays(unread, "Someone is at the door")
    yield {"anna": anna, "bruno": bruno, "giulia": giulia}
    giulia.call("DeleteBucket", {"bucketId": bucket})


def tile(visitor, device):
    return visitor.page.locator(".tile", has_text=device.name)


def card(visitor, device):
    return tile(visitor, device).locator(".activity-card")


def spoken(visitor, device, text):
    """Waits until screen readers learn a text about a phone."""
    expect(tile(visitor, device).locator(".phone")).to_have_attribute("aria-label", re.compile(re.escape(text)))


def publish(device, bucket, title, **more):
    """Publishes a notification with an action to a device's user, and returns its id."""
    return device.call("CreateNotification", {"notification": {
        "bucketId": bucket, "title": title, "actions": [{"type": "ACTION_TYPE_NAVIGATE", "value": "https://example.org/cam", "title": "Open the camera"}],
        **more}})["notification"]["id"]


# Devices


@pytest.mark.parametrize("language", ["en", "it"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [LARGE, NARROW], ids=["wide", "narrow"])
def test_devices_are_accessible_and_silent(browser, base, admin, fleet, language, theme, size):
    with Visitor(browser, base, language, theme, size) as visitor:
        visitor.sign_in(admin)
        visitor.live()
        for view in ("lock", "home", "expanded", "minimal"):
            visitor.show(f"#/devices?view={view}")
            tile(visitor, fleet["giulia"]).locator(".watch").wait_for()
            visitor.page.locator(".faults").wait_for()
            visitor.photograph(f"devices-{view}")
            visitor.check_accessibility(f"devices, {view}")
        visitor.show("#/devices")
        tile(visitor, fleet["giulia"]).locator(".tile-caption button").click()
        visitor.page.locator(".device-panel .state-list li").first.wait_for()
        visitor.photograph("devices-open")
        visitor.check_accessibility("a device")
        visitor.check_width("a device")


def test_a_push_moves_the_screen(browser, base, admin, fleet):
    bruno = fleet["bruno"]
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        card(visitor, bruno).get_by_text("Waiting for peer").wait_for()
        spoken(visitor, bruno, "Waiting for peer. Room a1b2a1b2")
        for connected, text, color in [(True, "Peer connected", "rgb(52, 199, 89)"), (False, "Waiting for peer", "rgb(247, 201, 72)")]:
            bruno.call("ReportPeer", {"app": bruno.app, "roomId": bruno.room, "connected": connected})
            card(visitor, bruno).get_by_text(text).wait_for()
            expect(card(visitor, bruno).locator(".p-dot")).to_have_css("background-color", color)
            spoken(visitor, bruno, text)


def test_a_timer_runs_and_stands_still(browser, base, admin, fleet):
    anna = fleet["anna"]
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        clock = card(visitor, anna).locator(".p-clock")
        expect(clock).not_to_have_text(clock.inner_text())
        anna.call("PauseTimer", {"activityId": anna.timer})
        card(visitor, anna).get_by_text("Paused").wait_for()
        paused = clock.inner_text()
        visitor.page.wait_for_timeout(1500)
        expect(clock).to_have_text(paused)
        anna.call("ResumeTimer", {"activityId": anna.timer})
        card(visitor, anna).get_by_text("Pause", exact=True).wait_for()


def test_the_scrubber_leads_to_each_push(suite, browser, base, admin):
    device = Device(suite, "scrubbed")
    activity, key = device.show("StartActivity", contentStateJson='{"score":"0:0"}')
    for goals in range(1, 4):
        device.call("UpdateActivity", {"activityId": activity, "contentStateJson": json.dumps({"score": f"{goals}:0"})})
        device.displays(key, f"{goals}:0")
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        tile(visitor, device).locator(".tile-caption button").click()
        panel = visitor.page.locator(".device-panel")
        panel.locator(".state-list li").nth(2).wait_for()
        shown = panel.locator(".activity-card")
        expect(shown).to_contain_text("3:0")
        slider = panel.locator(".scrubber")
        slider.focus()
        slider.press("ArrowLeft")
        expect(shown).to_contain_text("2:0")
        expect(panel).to_contain_text("As it was at")
        # The wall stays live.
        expect(card(visitor, device)).to_contain_text("3:0")
        device.call("UpdateActivity", {"activityId": activity, "contentStateJson": '{"score":"4:0"}'})
        expect(card(visitor, device)).to_contain_text("4:0")
        # The state that is looked at stays.
        expect(shown).to_contain_text("2:0")
        panel.get_by_role("button", name="Follow the newest").click()
        expect(shown).to_contain_text("4:0")
        panel.locator(".state-list a").first.click()
        visitor.page.wait_for_url("**/#/trace/*")
        visitor.page.locator("main").get_by_text(device.user, exact=True).first.wait_for()


def test_stale_and_ended_looks(suite, browser, base, admin):
    device = Device(suite, "ageing")
    activity, key = device.show("StartActivity", contentStateJson='{"age":1}', staleTime=after(hours=1))
    device.displays(key, '"age"')
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        card(visitor, device).wait_for()
        expect(card(visitor, device).locator(".look-mark")).to_have_count(0)
        device.call("UpdateActivity", {"activityId": activity, "staleTime": after(seconds=2)})
        card(visitor, device).locator(".look-mark", has_text="Stale").wait_for()
        spoken(visitor, device, "Stale")
        visitor.check_accessibility("a stale activity")
        device.call("EndActivity", {"activityId": activity, "contentStateJson": '{"age":2}', "dismissalTime": after(hours=1)})
        card(visitor, device).locator(".look-mark", has_text="Ended").wait_for()
        visitor.check_accessibility("an ended activity")


def test_a_dismissed_activity_leaves_the_screen(suite, browser, base, admin):
    device = Device(suite, "dismissed")
    activity, key = device.show("StartActivity", contentStateJson='{"age":1}')
    device.displays(key, '"age"')
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        card(visitor, device).wait_for()
        # No push comes at the time of the dismissal.
        device.call("EndActivity", {"activityId": activity, "dismissalTime": after(seconds=2)})
        card(visitor, device).wait_for(state="detached")


def test_hostile_states_are_shown_as_text(suite, browser, base, admin):
    device = Device(suite, "hostile")
    activity, key = device.show("StartActivity", contentStateJson=HOSTILE[0])
    alerts = device.alerts()
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        tile(visitor, device).wait_for()
        tile(visitor, device).locator(".tile-caption button").click()
        for number, state in enumerate(HOSTILE[1:], 2):
            device.call("UpdateActivity", {"activityId": activity, "contentStateJson": state})
            expect(visitor.page.locator(".device-panel .state-list li")).to_have_count(number)
        text = "<img src=x onerror=alert(1)>\u202e"
        suite.call("SendAlert", {"userId": device.user, "alertId": uuid.uuid4().hex, "alert": {"title": text, "body": text},
                                 "payloadJson": '{"att":7,"act":[null,{"title":[]}],"tit":{},"nid":[]}'}, suite.endpoints["gateway"]["adminKey"])
        device.displays(alerts, "onerror")
        tile(visitor, device).locator(".banner").wait_for()
        expect(tile(visitor, device).locator(".watch-title")).to_contain_text(text[:20])
        expect(visitor.page.locator("main img, main script")).to_have_count(0)
        visitor.check_accessibility("hostile states")


def test_the_buttons_of_the_watch_work(browser, base, admin, fleet):
    giulia = fleet["giulia"]
    with Visitor(browser, base, expected=("404",)) as visitor:
        visitor.sign_in(admin, "#/devices")
        watch = tile(visitor, giulia).locator(".watch")
        watch.get_by_text("Someone is at the door").wait_for()
        # The name of the bucket shows that the notification has replaced the push.
        expect(watch.locator(".watch-app")).to_contain_text("Casa")
        order = watch.locator(".watch-screen > *").evaluate_all("nodes => nodes.map(node => node.className.split(' ')[0])")
        assert order == ["watch-app", "watch-title", "watch-subtitle", "watch-image", "watch-body", "watch-buttons", "watch-wide"]
        watch.get_by_role("button", name="Open the camera").click()
        visitor.page.get_by_text("The watch opens https://example.org/cam").wait_for()
        watch.get_by_role("button", name="Mark").click()
        eventually(lambda: giulia.call("GetNotification", {"notificationId": giulia.newest})["notification"].get("readTime"), "it is read")
        eventually(lambda: acted(giulia, giulia.newest) == 1, "the action is recorded")


def acted(device, notification):
    counts = device.call("GetNotificationEngagement", {"notificationId": notification})["engagement"].get("counts", {})
    return counts.get("actedCount", 0)


def test_the_buttons_of_other_users_report_with_the_receipt(suite, browser, base, admin):
    device = Device(suite, "carla")
    bucket = device.call("CreateBucket", {"bucket": {"name": "Ufficio"}})["bucket"]["id"]
    alerts = device.alerts()
    notification = publish(device, bucket, "The printer is empty")
    device.displays(alerts, "The printer is empty")
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        tile(visitor, device).locator(".watch").get_by_role("button", name="Open the camera").click()
        visitor.page.get_by_text("Open the camera: reported with the push’s receipt").wait_for()
        eventually(lambda: acted(device, notification) == 1, "the action is recorded")


def test_faults_are_applied_and_removed(suite, browser, base, admin):
    device = Device(suite, "faulty")
    activity, key = device.show("StartActivity", contentStateJson='{"n":0}')
    device.displays(key, '"n": 0')
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        faults = visitor.page.locator(".faults")
        faults.locator("[data-fault=unavailable]").click()
        faults.locator(".fault-list li", has_text="ServiceUnavailable").wait_for()
        device.call("UpdateActivity", {"activityId": activity, "contentStateJson": '{"n":1}'})
        # The push is tried again as long as the fault lasts.
        faults.get_by_text(re.compile(r"\b[1-9]\d* hit")).wait_for()
        assert '"n": 0' in json.dumps(suite.screen(key))
        faults.get_by_role("button", name="Remove the fault").first.click()
        faults.locator(".fault-list").wait_for(state="detached")
        card(visitor, device).get_by_text("1", exact=True).wait_for()
        faults.locator("[data-fault=unavailable]").click()
        faults.locator(".fault-list li").wait_for()
        visitor.check_accessibility("an active fault")
        faults.get_by_role("button", name="Remove the fault").click()
        faults.locator(".fault-list").wait_for(state="detached")


def test_a_device_is_disconnected_and_its_token_invalidated(suite, browser, base, admin):
    device = Device(suite, "offline")
    activity, key = device.show("StartActivity", contentStateJson='{"n":0}')
    device.displays(key, '"n": 0')
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/devices")
        tile(visitor, device).locator(".tile-caption button").click()
        panel = visitor.page.locator(".device-panel")
        panel.get_by_role("button", name="Disconnect").click()
        tile(visitor, device).locator(".offline-mark").wait_for()
        visitor.check_accessibility("a device that is not connected")
        panel.get_by_role("button", name="Connect", exact=True).click()
        tile(visitor, device).locator(".offline-mark").wait_for(state="detached")
        panel.get_by_role("button", name="Invalidate").click()
        panel.get_by_text("Refused: Unregistered").wait_for()


def test_empty_wall_explains_itself(start, browser):
    running = start("quiet").wait_ready()
    admin = running.run("keys", "create", "user/giulia", "--scope", "admin", "--secret-only", check=0).stdout.strip()
    with Visitor(browser, f"http://127.0.0.1:{running.endpoints['gateway']['http']}", expected=("501", "404")) as visitor:
        visitor.sign_in(admin, "#/devices")
        visitor.page.get_by_text("No device has been pushed to yet").wait_for()
        visitor.check_accessibility("an empty wall")
        visitor.photograph("devices-empty")
        visitor.page.route("**/*SimulatorService/ListScreens", lambda route: route.fulfill(
            status=501, content_type="application/json", body='{"code":"unimplemented","message":"no such service"}'))
        visitor.show("#/overview")
        visitor.page.locator(".overview h1").wait_for()
        visitor.show("#/devices")
        visitor.page.get_by_text("campanile up").wait_for()
        visitor.check_accessibility("no simulator")
        visitor.photograph("devices-absent")
        visitor.page.unroute("**/*SimulatorService/ListScreens")
        visitor.show("#/activities")
        visitor.page.get_by_text("No live activity").wait_for()
        visitor.check_accessibility("no activities")
        visitor.photograph("activities-empty")


# Activities


@pytest.mark.parametrize("language", ["en", "it"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [LARGE, NARROW], ids=["wide", "narrow"])
def test_activities_are_accessible_and_silent(suite, browser, base, language, theme, size):
    user = f"page-{uuid.uuid4().hex[:6]}"
    device = Device(suite, user)
    timer, _ = device.show("StartTimer", methodName="Workout", sessionType="TIMER_SESSION_TYPE_COUNTDOWN", duration="1800s")
    room, _ = device.show("JoinRoom", roomId="c3" * 24)
    own, _ = device.show("StartActivity", contentStateJson='{"score":"1:0"}')
    ended, _ = device.show("StartActivity", contentStateJson="{}")
    device.call("EndActivity", {"activityId": ended})
    key = suite.run("keys", "create", f"user/{user}", "--scope", "admin", "--secret-only", check=0).stdout.strip()
    with Visitor(browser, base, language, theme, size) as visitor:
        visitor.sign_in(key)
        for name, place in {"activities": "#/activities", "activities-ended": "#/activities?show=ended", "activities-timer": f"#/activities/{timer}",
                            "activities-room": f"#/activities/{room}", "activities-own": f"#/activities/{own}", "activities-missing": "#/activities/none"}.items():
            visitor.show(place)
            visitor.page.locator(".debug-result").wait_for(state="attached")
            if place.rpartition("/")[2] in (timer, room, own):
                visitor.page.locator(".activity-looks").wait_for()
            visitor.photograph(name)
            visitor.check_accessibility(name)
            visitor.check_width(name)
        visitor.show("#/activities")
        visitor.page.locator(".activities-page button.primary").click()
        visitor.page.locator("dialog[open]").wait_for()
        visitor.photograph("activities-start")
        visitor.check_accessibility("the form")


def test_activities_are_started_updated_and_ended(suite, browser, base):
    user = f"acts-{uuid.uuid4().hex[:6]}"
    device = Device(suite, user)
    with Visitor(browser, base, expected=("400",)) as visitor:
        page = visitor.sign_in(device.key, "#/activities").page
        page.get_by_role("button", name="Start an activity").click()
        page.locator("dialog").get_by_role("button", name="State of the app").click()
        # A refusal is shown at its field, and goes with the next attempt.
        environment = page.locator("dialog .field", has_text="Environment")
        environment.locator("input").fill("no such place")
        page.locator("dialog button.primary").click()
        environment.locator(".invalid:not(:empty)").wait_for()
        environment.locator("input").fill("development")
        page.locator("dialog textarea").fill('{"score":"0:0"}')
        page.locator("dialog button.primary").click()
        detail = page.locator(".activity-detail")
        detail.get_by_text("score").first.wait_for()
        activity = page.url.rpartition("/")[2]
        detail.locator("form textarea").fill('{"score":"1:0","half":2}')
        detail.get_by_role("button", name="Update").click()
        expect(detail.locator(".diff tr.is-changed").locator("th, td")).to_have_text(["score", '"1:0"', '"0:0"'])
        expect(detail.locator(".diff tr.is-added")).to_contain_text("half")
        # Changes of others arrive by the watch.
        device.call("UpdateActivity", {"activityId": activity, "contentStateJson": '{"score":"2:0","half":2}'})
        detail.locator(".diff tr.is-changed", has_text="2:0").wait_for()
        detail.get_by_role("button", name="Stop pushes").click()
        detail.get_by_role("button", name="Continue pushes").click()
        detail.get_by_role("button", name="Stop pushes").wait_for()
        detail.get_by_role("button", name="End and remove").click()
        detail.get_by_text("Ended").first.wait_for()
        page.locator(".segments").first.get_by_role("button", name="Ended").click()
        page.locator(f"tr[data-activity='{activity}']").wait_for()


def test_the_meter_agrees_with_the_service(suite, browser, base):
    device = Device(suite, f"meter-{uuid.uuid4().hex[:6]}")
    activity, _ = device.show("StartActivity", contentStateJson="{}", relevanceScore=50, staleTime=after(hours=1))
    with Visitor(browser, base, expected=("400",)) as visitor:
        page = visitor.sign_in(device.key, f"#/activities/{activity}").page
        meter, editor = page.locator(".activity-detail .payload-meter"), page.locator(".activity-detail form textarea")
        editor.fill('{"x":"' + "è" * 2100 + '"}')
        over = meter.locator(".meter-over")
        over.wait_for()
        said = over.inner_text()
        page.get_by_role("button", name="Update").click()
        meter.get_by_text("Refused by the service").wait_for()
        # The page and the service count the same.
        expect(over).to_contain_text(said)
        visitor.check_accessibility("a payload that is too large")
        visitor.photograph("activities-too-large")
        editor.fill('{"x":')
        page.get_by_text("This is not JSON.").wait_for()
        expect(page.get_by_role("button", name="Update")).to_be_disabled()
        editor.fill("{}")
        over.wait_for(state="detached")


def test_timers_and_rooms_are_controlled(suite, browser, base):
    device = Device(suite, f"drive-{uuid.uuid4().hex[:6]}")
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(device.key, "#/activities").page
        page.get_by_role("button", name="Start an activity").click()
        page.locator("dialog button.primary").click()
        detail = page.locator(".activity-detail")
        detail.get_by_role("button", name="Pause").click()
        detail.get_by_role("button", name="Resume").click()
        detail.get_by_role("button", name="Pause").wait_for()
        detail.get_by_role("button", name="Complete").click()
        detail.get_by_text("timer completed").first.wait_for()
        page.get_by_role("button", name="Start an activity").click()
        page.locator("dialog").get_by_role("button", name="Room", exact=True).click()
        page.locator("dialog button.primary").click()
        detail.get_by_role("button", name="Peer connected").click()
        detail.locator(".diff tr.is-changed", has_text="connected").first.wait_for()
        detail.get_by_role("button", name="Peer left").click()
        detail.get_by_role("button", name="Leave the room").click()
        detail.get_by_text("Ended").first.wait_for()


def test_the_six_debug_controls_work(suite, browser, base, admin):
    user = f"debug-{uuid.uuid4().hex[:6]}"
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(admin, "#/activities").page
        page.locator("input[name=debug-user]").fill(user)
        page.locator("input[name=debug-app]").fill(suite.endpoints["apns"]["topic"])
        result = page.locator(".debug-result")
        for name, text in [("status", "0 live"), ("start", "waiting"), ("connected", "connected"), ("waiting", "waiting"), ("status", "1 live"),
                           ("end", "has ended"), ("start", "waiting"), ("endAll", "1 activity ended")]:
            page.locator(f"[data-debug={name}]").click()
            result.get_by_text(text).wait_for()


@pytest.mark.skipif(FROM_SOURCES, reason="the files are not those of the gateway")
def test_pages_are_within_the_budget(browser, base, admin, fleet):
    with Visitor(browser, base) as visitor:
        visitor.sign_in(admin, "#/nowhere")
        # Devices include the frames, watches and renderers, which load with the first device.
        for place, bytes_max in {"activities": 15_000, "devices": 36_000}.items():
            visitor.check_bytes(place, bytes_max)

"""The web console: its connections, failures, sizes and view layer, and WebKit."""

import json
import os
import pathlib
import signal

import pytest
from campanile import PATIENCE_S, eventually
from console_browser import (FROM_SOURCES, CountingProxy, Visitor, admin, base, browser, bucket, demo, expect, key,  # noqa: F401
                             needs_chromium, publish)
from console_fleet import Device

pytestmark = needs_chromium


# Connections


def test_seven_tabs_share_one_stream_that_resumes(suite, browser, key, bucket):
    with CountingProxy(suite.endpoints["gateway"]["http"], b"WatchService/WatchMany") as proxy, \
            Visitor(browser, f"http://127.0.0.1:{proxy.port}", expected=("net::ERR", "Failed to fetch")) as visitor:
        visitor.sign_in(key, f"#/inbox/{bucket}")
        visitor.live()
        tabs = [visitor.page] + [visitor.tab() for _ in range(6)]
        for tab in tabs[1:]:
            visitor.open(f"#/inbox/{bucket}", tab)
            visitor.live(tab)
        shared = tabs[0].locator(".side .connection")
        expect(shared).to_have_attribute("title", "One connection for 7 tabs")
        publish(suite, key, bucket, "To all tabs")
        for tab in tabs:
            tab.get_by_text("To all tabs").wait_for()
        assert proxy.count == 1
        proxy.close()
        tabs[3].locator(".connection-bar", has_text="Reconnecting, last event").wait_for()
        visitor.page.locator(".side .dot.warn").wait_for()
        visitor.page.bring_to_front()
        visitor.photograph("reconnecting")
        publish(suite, key, bucket, "While away")
        proxy.is_open = True
        for tab in tabs:
            tab.get_by_text("While away").wait_for()
        for tab in tabs[1:]:
            tab.close()
        expect(shared).to_have_attribute("title", "One connection")


def test_a_killed_service_comes_back_without_a_reload(start, browser):
    running = start("killed", "--demo").wait_ready()
    key = json.loads((running.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    bucket = running.call("CreateBucket", {"bucket": {"name": "Killed"}}, key)["bucket"]["id"]
    with Visitor(browser, f"http://127.0.0.1:{running.endpoints['gateway']['http']}", expected=("503", "504")) as visitor:
        page = visitor.sign_in(key, "#/overview").page
        visitor.live()
        old = running.children()["notifications"]

        def without_notifications(route):
            response = route.fetch()
            body = response.json()
            for service in body["services"]:
                service.pop("serving" if service["name"] == "notifications" else "", None)
            route.fulfill(response=response, json=body)

        page.route("**/*.AccessService/GetCaller", without_notifications)
        page.locator(".service.down", has_text="notifications").wait_for()
        visitor.check_accessibility("a service that is down")
        visitor.photograph("service-down")
        page.unroute("**/*.AccessService/GetCaller")
        page.locator(".service.down").wait_for(state="detached")
        visitor.show(f"#/inbox/{bucket}")
        publish(running, key, bucket, "Before")
        page.get_by_text("Before").wait_for()
        os.kill(old, signal.SIGKILL)
        eventually(lambda: running.children().get("notifications") not in (None, old), "the service runs again")

        def published():
            result = running.run("call", "CreateNotification", json.dumps({"notification": {"bucketId": bucket, "title": "After"}}), key=key)
            return result.returncode == 0

        eventually(published, "a publication after the restart")
        page.get_by_text("After", exact=True).first.wait_for()


def test_a_gap_is_marked_and_the_list_is_read_again(suite, browser, key, bucket):
    """Without a SharedWorker the tab holds the stream itself, where the test can replace a response."""
    publish(suite, key, bucket, "First")
    with Visitor(browser, f"http://127.0.0.1:{suite.endpoints['gateway']['http']}", expected=("net::ERR", "Failed to fetch", "404")) as visitor:
        visitor.context.add_init_script("delete globalThis.SharedWorker;")
        page = visitor.page
        requests = []

        def answer(route):
            requests.append(route.request.post_data_buffer or b"")
            watches = json.loads(requests[-1][5:]).get("watches", [])
            if len(requests) != 2:
                return route.continue_()
            # The second stream refuses all tokens.
            events = [{"started": {"streamId": "none"}}] + [
                {"watchId": watch["id"], "failed": {"code": 11, "reason": "TOKEN_TOO_OLD", "message": "too old"}} for watch in watches]
            body = b"".join(flag + len(text).to_bytes(4, "big") + text
                            for flag, text in [(b"\0", json.dumps(event).encode()) for event in events] + [(b"\2", b"{}")])
            publish(suite, key, bucket, "In the gap")
            return route.fulfill(status=200, content_type="application/connect+json", body=body)

        page.route("**/campanile.gateway.v1.WatchService/WatchMany", answer)
        visitor.sign_in(key, f"#/inbox/{bucket}")
        visitor.live()
        publish(suite, key, bucket, "Second")
        page.get_by_text("Second").wait_for()
        visitor.context.set_offline(True)
        page.locator(".bar", has_text="offline").wait_for()
        visitor.check_accessibility("offline")
        visitor.photograph("offline")
        visitor.context.set_offline(False)
        # The network is back: the hub starts a new stream at once.
        page.locator(".gap", has_text="Changes were missed").wait_for()
        page.get_by_text("In the gap").wait_for()
        visitor.check_accessibility("a gap")
        visitor.photograph("gap")


def test_lists_resume_after_a_cut(suite, browser, admin):
    """Activities, their pushes and Devices: no change is missed, and no gap is marked."""
    device = Device(suite, "giulia", "Cut off")
    activity, screen = device.show("StartActivity", contentStateJson='{"score":"0:0"}')
    device.displays(screen, "0:0")
    with CountingProxy(suite.endpoints["gateway"]["http"], b"WatchService/WatchMany") as proxy, \
            Visitor(browser, f"http://127.0.0.1:{proxy.port}", expected=("net::ERR", "Failed to fetch", "404")) as visitor:
        page = visitor.sign_in(admin, "#/activities").page
        visitor.live()
        places = {f"#/activities/{activity}": page.locator(".activity-detail .diff"),
                  "#/devices": page.locator(".tile", has_text=device.name).locator(".activity-card")}
        for goals, (place, shown) in enumerate(places.items(), 1):
            visitor.show(place)
            expect(shown).to_contain_text(f"{goals - 1}:0")
            proxy.close()
            page.locator(".side .dot.warn").wait_for()
            device.call("UpdateActivity", {"activityId": activity, "contentStateJson": json.dumps({"score": f"{goals}:0"})})
            device.displays(screen, f"{goals}:0")
            proxy.is_open = True
            expect(shown).to_contain_text(f"{goals}:0")
            if "activities" in place:
                newest = suite.call("ListPushes", {"activityId": activity, "pageSize": 1}, admin)["pushes"][0]["apnsId"]
                page.locator(f".activity-detail a[href$='{newest}']").wait_for()
            expect(page.locator(".gap")).to_have_count(0)
            visitor.live()


def test_a_page_that_fails_leaves_the_others_working(browser, base, key):
    with Visitor(browser, base, expected=("404", "500", "the page has failed")) as visitor:
        visitor.page.route("**/pages/trace/trace.js", lambda route: route.fulfill(
            status=200, content_type="text/javascript", body="export const page = { path: 'trace', render() { throw new Error('planned'); } };"))
        visitor.page.route("**/*.NotificationsService/ListBuckets", lambda route: route.fulfill(
            status=500, content_type="application/json", body='{"code":"internal","message":"planned"}'))
        visitor.page.route("**/*.NotificationsService/ListNotifications", lambda route: route.fulfill(
            status=500, content_type="application/json", body='{"code":"internal","message":"planned"}'))
        visitor.sign_in(key, "#/overview")
        visitor.show("#/trace")
        visitor.page.get_by_text("This page has failed").wait_for()
        visitor.check_accessibility("a failed page")
        visitor.photograph("failed")
        visitor.show("#/inbox")
        visitor.page.get_by_text("This could not be loaded").wait_for()
        visitor.check_accessibility("a list that is not loaded")
        visitor.page.unroute("**/*.NotificationsService/ListNotifications")
        visitor.page.unroute("**/*.NotificationsService/ListBuckets")
        visitor.page.get_by_role("button", name="Try again").click()
        visitor.page.locator(".inbox-row").first.wait_for()


# Sizes


@pytest.mark.skipif(FROM_SOURCES, reason="the files are not those of the gateway")
def test_bytes_are_within_the_budgets(browser, base, key):
    with Visitor(browser, base) as visitor:
        visitor.sign_in(key, "#/nowhere")
        visitor.live()
        shell = visitor.sizes()
        total = sum(encoded for encoded, _ in shell.values())
        assert len([name for name, (encoded, decoded) in shell.items() if encoded < decoded]) >= 10, shell
        print(f"shell {total} bytes")
        assert 20_000 < total <= 45_000, shell
        for place in ("overview", "inbox", "trace"):
            visitor.check_bytes(place, 15_000)


# The view layer

VIEW = (pathlib.Path(__file__).parent / "console_view.js").read_text()


def test_view_layer_in_a_browser(browser, base):
    with Visitor(browser, base) as visitor:
        visitor.open()
        results = visitor.page.evaluate(VIEW, base)
    assert results["order"] == "row 5row 1row 2row 3row 4" and results["movesOfOne"] == 1 and results["sameNodes"]
    assert results["changed"] == "row 5row 2changedrow 4" and results["made"] == 5 and results["empty"] == 0
    assert results["nested"] == "n=7[7]" and results["shownOnce"] == 1 and results["hidden"] == "n=7none"
    # Chromium may leave the characters of an attribute's value as they are.
    assert results["hostile"].replace('"<b>"', '"&lt;b&gt;"') == '<a title="&lt;b&gt;">&lt;b&gt;text&lt;/b&gt;</a>'
    assert results["attribute"] == "<use></use>"
    assert (results["before"], results["after"]) == ("fine", "caught planned")
    assert results["height"] == 3_000_000 and results["middle"] and results["nodes"] < 80 and results["rendered"] < 60
    assert results["last"] == "99999:99999" and results["kept"] == 30 and results["inOrder"]


# WebKit


def test_console_works_in_webkit(suite, base, key, admin, bucket):
    from test_typescript import webkit
    device = Device(suite, "giulia", "WebKit")
    activity, screen = device.show("StartTimer", methodName="Workout", sessionType="TIMER_SESSION_TYPE_COUNTDOWN", duration="1800s")
    device.displays(screen, "Workout")
    with webkit() as driver:
        from selenium.webdriver.common.by import By

        def find(selector):
            return eventually(lambda: driver.find_elements(By.CSS_SELECTOR, selector), selector, PATIENCE_S)[0]

        driver.get(f"{base}/console/#/overview")
        find("input[name=key]").send_keys(admin)
        find("form button.primary").click()
        find(".overview h1")
        find(".side .connection .dot.good")
        for name, selector in {"inbox": ".inbox-row", "trace": ".trace h1", "activities": f"tr[data-activity='{activity}']",
                               f"activities/{activity}": ".activity-looks .p-clock", "devices": ".tile .phone .p-clock",
                               "overview": ".overview .services"}.items():
            driver.execute_script("location.hash = arguments[0]", f"#/{name}")
            find(selector)
        driver.execute_script("location.hash = arguments[0]", f"#/inbox/{bucket}")
        find(".inbox .empty")
        publish(suite, key, bucket, "Live in WebKit")
        eventually(lambda: "Live in WebKit" in find(".inbox-list").get_property("textContent"), "a new row")

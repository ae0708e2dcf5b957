"""The web console: its pages in a real browser, against the real gateway and services."""

import datetime
import re

import pytest
from campanile import eventually
from console_browser import CHROMIUM, NARROW, WIDE, Visitor, admin, base, browser, bucket, demo, key, publish  # noqa: F401

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
pytest.importorskip("playwright")
HOSTILE = "<img src=x onerror=alert(1)>\u202e\u2066 \u202e </script><script>alert(2)</script> {{x}} ${y}"


# Signing in


def test_link_signs_in_once_and_leaves_no_secret(suite, browser, base, key):
    link = suite.run("console", "--print", key=key, check=0).stdout.strip()
    assert "#link=csl_" in link
    with Visitor(browser, base) as visitor:
        visitor.page.goto(link)
        visitor.page.locator("main#main h1").wait_for()
        assert "csl_" not in visitor.page.url
        cookies = {cookie["name"]: cookie for cookie in visitor.context.cookies()}
        assert cookies["campanile_console"]["httpOnly"] and cookies["campanile_console"]["sameSite"] == "Strict"
        stored = visitor.page.evaluate("() => document.cookie + JSON.stringify({ ...localStorage })")
        assert "campanile.console.session" in stored and not re.search("c[cs][sl]_|cmp_", stored)
    with Visitor(browser, base, expected=("401",)) as visitor:
        visitor.page.goto(link)
        assert "used" in visitor.page.locator("[role=alert]").inner_text()
        visitor.check_accessibility("a used link")


def test_key_signs_in_and_a_wrong_one_does_not(browser, base, key):
    with Visitor(browser, base, expected=("401",)) as visitor:
        visitor.open("#/inbox/all?q=nothing")
        visitor.page.locator("input[name=key]").fill("cmp_" + "A" * 43)
        visitor.page.locator("form button.primary").click()
        visitor.page.locator("[role=alert]").wait_for()
        visitor.check_accessibility("the sign-in with an error")
        visitor.photograph("signin")
        visitor.page.locator("input[name=key]").fill(key)
        visitor.page.locator("form button.primary").click()
        visitor.page.locator(".inbox").wait_for()
        assert visitor.page.url.endswith("#/inbox/all?q=nothing")
        visitor.live()
        visitor.page.get_by_role("button", name="Sign out").click()
        visitor.page.locator("input[name=key]").wait_for()
        assert not [cookie for cookie in visitor.context.cookies() if cookie["value"]]


def test_lodge_member_signs_in_with_a_pin(browser, base, demo):
    name, pin = next(iter(demo["pins"].items()))
    with Visitor(browser, base, language="it") as visitor:
        visitor.open()
        visitor.page.get_by_role("button", name="Membro di loggia").click()
        visitor.page.locator("input[name=name]").fill(name)
        visitor.page.locator("input[name=pin]").fill(pin)
        visitor.page.locator("form button.primary").click()
        visitor.page.locator("main#main h1").wait_for()
        # Pages for other roles are absent.
        assert visitor.page.locator(".side nav a").all_inner_texts() == ["Panoramica"]


def test_expired_session_returns_to_the_same_place(browser, base, key, bucket):
    with Visitor(browser, base, expected=("401",)) as visitor:
        visitor.sign_in(key, f"#/inbox/{bucket}?unread=1")
        visitor.live()
        visitor.settle()
        visitor.context.clear_cookies()
        visitor.page.locator(".inbox-places a").first.click()
        visitor.page.get_by_text("Your session has ended").wait_for()
        place = visitor.page.url
        visitor.check_accessibility("an ended session")
        visitor.page.locator("input[name=key]").fill(key)
        visitor.page.locator("form button.primary").click()
        visitor.page.locator(".inbox").wait_for()
        assert visitor.page.url == place
        visitor.live()


# Every page

PLACES = {
    "overview": "#/overview", "overview-keys": "#/overview/keys", "inbox": "#/inbox", "inbox-trash": "#/inbox/trash",
    "inbox-scheduled": "#/inbox/scheduled", "inbox-quiet": "#/inbox/quiet", "inbox-empty-search": "#/inbox/all?q=zzzzzz",
    "inbox-missing": "#/inbox/all/n_AAAAAAAAAAAAAAAAAAAAAA", "trace": "#/trace",
    "trace-missing": "#/trace/n_AAAAAAAAAAAAAAAAAAAAAA", "nowhere": "#/nowhere",
}


@pytest.mark.parametrize("language", ["en", "it"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_pages_are_accessible_and_silent(suite, browser, base, admin, key, bucket, language, theme, size):
    first = publish(suite, key, bucket, "Backup failed", subtitle="server-3", body="The disk is full.\nFree some space.",
                    priority="PRIORITY_CRITICAL", attachments=[{"url": "https://example.com/a.png", "mediaType": "MEDIA_TYPE_IMAGE"}],
                    actions=[{"type": "ACTION_TYPE_NAVIGATE", "value": "https://example.com", "title": "Open"}])
    # Missing objects are 404, which Chromium reports.
    with Visitor(browser, base, language, theme, size, expected=("404",)) as visitor:
        visitor.sign_in(admin)
        visitor.live()
        places = PLACES | {"inbox-open": f"#/inbox/{bucket}/{first}", "trace-open": f"#/trace/{first}"}
        for name, place in places.items():
            visitor.show(place)
            visitor.page.locator("#main h1, #main h2").first.wait_for()
            visitor.photograph(name)
            visitor.check_accessibility(name)
            width = visitor.page.evaluate("() => document.documentElement.scrollWidth")
            assert width <= size["width"], (name, "scrolls sideways", width)


@pytest.mark.parametrize("language", ["en", "it"])
def test_dialogs_are_accessible(browser, base, key, language):
    with Visitor(browser, base, language, "dark") as visitor:
        visitor.sign_in(key, "#/inbox")
        for name, keys in {"palette": "Control+k", "help": "?"}.items():
            visitor.page.keyboard.press(keys)
            visitor.page.locator("dialog[open]").wait_for()
            visitor.photograph(name)
            visitor.check_accessibility(name)
            visitor.page.keyboard.press("Escape")
            visitor.page.locator("dialog").wait_for(state="detached")
        buttons = {"compose": visitor.page.locator(".inbox-places button.primary"), "bucket": visitor.page.locator(".places-head button"),
                   "preferences": visitor.page.locator(".who button").first}
        for name, button in buttons.items():
            button.click()
            visitor.page.locator("dialog[open]").wait_for()
            visitor.photograph(name)
            visitor.check_accessibility(name)
            visitor.page.keyboard.press("Escape")
            visitor.page.locator("dialog").wait_for(state="detached")


def test_what_a_caller_may_not_do_is_absent(suite, browser, base, key, bucket):
    publish(suite, key, bucket, "For readers")
    reader = suite.run("keys", "create", "user/giulia", "--scope", "notifications:read", "--secret-only", check=0).stdout.strip()
    with Visitor(browser, base) as visitor:
        visitor.sign_in(reader, "#/inbox")
        visitor.page.locator(".inbox-places a").first.wait_for()
        assert visitor.page.locator(".side nav a").all_inner_texts() == ["Overview", "Inbox", "Trace"]
        assert visitor.page.get_by_role("button", name="Compose").count() == 0
        visitor.show(f"#/inbox/{bucket}")
        visitor.page.get_by_text("For readers").wait_for()
        assert visitor.page.get_by_role("button", name="Mark all as read").count() == 0
        visitor.page.keyboard.press("j")
        visitor.page.locator(".detail h2", has_text="For readers").wait_for()
        # A call would be refused with 403, which fails the test.
        for pressed in "e#x":
            visitor.page.keyboard.press(pressed)
        tools = visitor.page.locator(".inbox-tools", has_text="1 selected")
        tools.wait_for()
        assert tools.get_by_role("button").all_inner_texts() == [""], "only the button that clears the selection"
        assert visitor.page.locator(".inbox-row:not(.read)", has_text="For readers").count() == 1


def test_only_the_live_list_is_marked_as_a_whole(browser, base, key, bucket):
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        page.get_by_role("button", name="Mark all as read").wait_for()
        for place in ("trash", "scheduled", f"{bucket}?q=disk"):
            visitor.show(f"#/inbox/{place}")
            page.get_by_role("button", name="Mark all as read").wait_for(state="detached")


def test_changes_while_the_inbox_opens_are_not_lost(suite, browser, base, key, bucket):
    with Visitor(browser, base) as visitor:
        visitor.sign_in(key, "#/overview")
        visitor.live()

        def late(route):
            """Publishes between the list's reading and its arrival."""
            response = route.fetch()
            publish(suite, key, bucket, "In between")
            route.fulfill(response=response)

        visitor.page.route("**/*.NotificationsService/ListNotifications", late, times=1)
        visitor.page.evaluate("place => { location.hash = place; }", f"#/inbox/{bucket}")
        visitor.page.locator(".inbox-row", has_text="In between").wait_for()


def test_palette_finds_pages_and_ids(browser, base, key):
    with Visitor(browser, base, expected=("404",)) as visitor:
        visitor.sign_in(key)
        visitor.page.keyboard.press("Control+k")
        visitor.page.keyboard.type("inb")
        visitor.page.keyboard.press("Enter")
        visitor.page.locator(".inbox").wait_for()
        visitor.page.keyboard.press("Control+k")
        visitor.page.keyboard.insert_text("n_AAAAAAAAAAAAAAAAAAAAAA")
        visitor.page.keyboard.press("Enter")
        visitor.page.get_by_text("There is no such notification").wait_for()
        assert visitor.page.url.endswith("#/trace/n_AAAAAAAAAAAAAAAAAAAAAA")
        visitor.page.locator("h1").click()
        visitor.page.keyboard.type("go")
        visitor.page.locator(".overview").wait_for()


# The inbox


def test_new_rows_appear_and_changes_can_be_undone(suite, browser, base, key, bucket):
    publish(suite, key, bucket, "Old one")
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        visitor.live()
        page.get_by_text("Old one").wait_for()
        publish(suite, key, bucket, "Fresh one", body="à 🔔")
        page.get_by_text("Fresh one").wait_for()
        assert page.locator(".inbox-row .title").all_inner_texts() == ["Fresh one", "Old one"]
        page.keyboard.press("j")
        page.locator(".detail h2", has_text="Fresh one").wait_for()
        page.keyboard.press("e")
        page.locator(".inbox-row.read", has_text="Fresh one").wait_for()
        page.locator(".toast button", has_text="Undo").click()
        page.locator(".inbox-row:not(.read)", has_text="Fresh one").wait_for()
        page.keyboard.press("#")
        page.locator(".inbox-row", has_text="Fresh one").wait_for(state="detached")
        page.locator(".toast", has_text="Deleted").locator("button", has_text="Undo").click()
        page.locator(".inbox-row", has_text="Fresh one").wait_for()
        page.keyboard.press("k")
        page.keyboard.press("x")
        page.locator(".inbox-tools", has_text="1 selected").wait_for()
        visitor.check_accessibility("a selection")
        page.locator(".inbox-row", has_text="Old one").get_by_role("checkbox").check()
        page.get_by_role("button", name="Mark as read").first.click()
        eventually(lambda: page.locator(".inbox-row.read").count() == 2, "two rows are read")
        unread = [bucket_ for bucket_ in suite.call("GetUnreadCounts", {}, key)["unreadCounts"].get("byBucket", {}) if bucket_ == bucket]
        assert not unread
        # Undoing leaves what was read before.
        publish(suite, key, bucket, "Third one")
        for title in ("Old one", "Third one"):
            page.locator(".inbox-row", has_text=title).get_by_role("checkbox").check()
        page.locator(".inbox-tools").get_by_role("button", name="Mark as read").click()
        page.locator(".inbox-row.read", has_text="Third one").wait_for()
        page.locator(".toast", has_text="2 marked as read").last.get_by_role("button", name="Undo").click()
        page.locator(".inbox-row:not(.read)", has_text="Third one").wait_for()
        assert page.locator(".inbox-row.read").count() == 2


def test_rows_that_come_while_reading_are_counted(suite, browser, base, key, bucket):
    entries = [{"notification": {"bucketId": bucket, "title": f"Row {index:03}"}} for index in range(80)]
    suite.call("BatchCreateNotifications", {"requests": entries}, key)
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        visitor.live()
        page.get_by_text("Row 079").wait_for()
        page.locator(".inbox-rows").evaluate("list => { list.scrollTop = 1120; }")
        page.get_by_text("Row 050").wait_for()
        before = page.locator(".inbox-row", has_text="Row 055").bounding_box()
        publish(suite, key, bucket, "Another")
        publish(suite, key, bucket, "And another")
        page.get_by_role("button", name="2 new").wait_for()
        assert page.locator(".inbox-row", has_text="Row 055").bounding_box() == before
        page.get_by_role("button", name="2 new").click()
        page.get_by_text("And another").wait_for()
        page.get_by_role("button", name="2 new").wait_for(state="detached")


def test_search_compose_and_schedule(suite, browser, base, key, bucket):
    publish(suite, key, bucket, "Backup failed")
    publish(suite, key, bucket, "Coffee is ready")
    with Visitor(browser, base, expected=("400",)) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        page.keyboard.press("/")
        page.keyboard.type("backup")
        page.get_by_text("Coffee is ready").wait_for(state="detached")
        assert page.locator(".inbox-row").count() == 1 and "q=backup" in page.url
        page.get_by_role("button", name="Compose").click()
        dialog = page.locator("dialog[open]")
        dialog.get_by_label("Title", exact=True).fill("Scheduled one")
        dialog.get_by_label("Deliver at").fill("2099-01-01T08:00")
        dialog.get_by_role("button", name="Schedule").click()
        dialog.locator(".field", has_text="Deliver at").locator(".invalid:not(:empty)").wait_for()
        soon = datetime.datetime.now() + datetime.timedelta(days=30)
        dialog.get_by_label("Deliver at").fill(soon.strftime("%Y-%m-%dT%H:%M"))
        dialog.get_by_role("button", name="Schedule").click()
        page.locator(".inbox-row", has_text="Scheduled one").click()
        page.locator(".detail h2", has_text="Scheduled one").wait_for()
        page.locator(".detail-tools button.danger").click()
        page.locator(".inbox-row", has_text="Scheduled one").wait_for(state="detached")


def test_quiet_hours_are_drawn_and_changed(browser, base, demo):
    key = demo["users"]["user/marco"]["key"] if "user/marco" in demo["users"] else list(demo["users"].values())[-1]["key"]
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, "#/inbox/quiet").page
        page.get_by_role("button", name="Add a window").click()
        page.locator(".windows li", has_text="22:00–07:00").wait_for()
        assert page.locator(".week .quiet-part").count() == 14
        page.get_by_role("button", name="Remove Every day 22:00–07:00").click()
        page.get_by_text("There are no quiet hours.").wait_for()


def test_hostile_texts_are_only_texts(suite, browser, base, key, bucket):
    long = "W" * 10_000
    identifier = publish(suite, key, bucket, HOSTILE[:200], subtitle=HOSTILE[:200], body=HOSTILE + long,
                         attachments=[{"url": "https://example.com/%3Cscript%3E", "name": HOSTILE[:200], "mediaType": "MEDIA_TYPE_IMAGE"}],
                         actions=[{"type": "ACTION_TYPE_NAVIGATE", "value": "https://example.com", "title": HOSTILE[:60]}])
    for size in (WIDE, NARROW):
        with Visitor(browser, base, size=size) as visitor:
            requests = []
            visitor.page.on("request", lambda request, requests=requests: requests.append(request.url))
            visitor.page.on("dialog", lambda dialog: pytest.fail("a script ran"))
            page = visitor.sign_in(key, f"#/inbox/{bucket}/{identifier}").page
            title = page.locator(".detail h2").inner_text()
            assert title.startswith("<img src=x onerror=alert(1)>") and "\u202e" not in title and "\u2066" not in title
            assert page.evaluate("() => document.documentElement.scrollWidth") <= size["width"]
            visitor.show(f"#/trace/{identifier}")
            page.locator(".timeline").wait_for()
            visitor.photograph("hostile")
            # The remote image is not loaded by itself.
            assert all(url.startswith((base, "blob:", "data:")) for url in requests), requests


# The trace


def test_trace_judges_and_follows(suite, browser, base, admin, key, bucket):
    identifier = publish(suite, key, bucket, "Traced")
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(admin, f"#/trace/{identifier}").page
        page.locator(".verdict").wait_for()
        text = eventually(lambda: (page.locator(".verdict strong").inner_text() if "not known yet" not in page.locator(".verdict strong").inner_text()
                                   else None), "a verdict")
        assert "delivered" not in page.locator("main").inner_text().lower()
        suite.call("MarkNotificationsRead", {"notificationIds": [identifier]}, key)
        assert text.startswith("Accepted")
        page.locator(".timeline a", has_text="Push").first.click()
        page.locator(".timeline .step", has_text="APNs answered").wait_for()
        visitor.check_accessibility("a push")
        visitor.photograph("trace-push")

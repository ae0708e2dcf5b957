"""The web console: its pages in a real browser, against the real gateway and services."""

import datetime
import re
import uuid

import pytest
from campanile import eventually
from console_browser import (NARROW, WIDE, Visitor, admin, base, browser, bucket, demo, expect, key,  # noqa: F401
                             needs_chromium, publish)

pytestmark = needs_chromium
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
        expect(visitor.page.locator("[role=alert]")).to_contain_text("has been used")
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
        expect(visitor.page.locator(".side nav a")).to_have_text(["Panoramica"])


def test_expired_session_returns_to_the_same_place(browser, base, key, bucket):
    with Visitor(browser, base, expected=("401",)) as visitor:
        visitor.sign_in(key, f"#/inbox/{bucket}?unread=1")
        visitor.live()
        visitor.settle()
        visitor.context.clear_cookies()
        visitor.page.locator(".inbox-places a").first.click()
        visitor.page.get_by_text("Your session has ended").wait_for()
        visitor.check_accessibility("an ended session")
        visitor.page.locator("input[name=key]").fill(key)
        visitor.page.locator("form button.primary").click()
        visitor.page.locator(".inbox").wait_for()
        expect(visitor.page).to_have_url(f"{base}/console/#/inbox/all")
        visitor.live()


def test_dialogs_close_when_the_session_ends(browser, base, key):
    with Visitor(browser, base, expected=("401",)) as visitor:
        page = visitor.sign_in(key, "#/inbox").page
        visitor.live()
        page.locator(".inbox-places button.primary").click()
        page.locator("dialog[open]").wait_for()
        page.evaluate("() => fetch('session', { method: 'DELETE', headers: { 'x-campanile-console': '1' } }).then(() => {})")
        page.get_by_text("Your session has ended").wait_for()
        expect(page.locator("dialog")).to_have_count(0)


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
            visitor.check_width(name)


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
        expect(visitor.page.locator(".side nav a")).to_have_text(["Overview", "Inbox", "Trace"])
        expect(visitor.page.get_by_role("button", name="Compose")).to_have_count(0)
        visitor.show(f"#/inbox/{bucket}")
        visitor.page.get_by_text("For readers").wait_for()
        expect(visitor.page.get_by_role("button", name="Mark all as read")).to_have_count(0)
        visitor.page.keyboard.press("j")
        visitor.page.locator(".detail h2", has_text="For readers").wait_for()
        calls = []
        visitor.page.on("request", lambda request: calls.append(request.url))
        # The keys that mark, delete and select.
        for pressed in "e#x":
            visitor.page.keyboard.press(pressed)
        tools = visitor.page.locator(".inbox-tools", has_text="1 selected")
        tools.wait_for()
        # Only the button that clears the selection.
        expect(tools.get_by_role("button")).to_have_count(1)
        expect(visitor.page.locator(".inbox-row:not(.read)", has_text="For readers")).to_have_count(1)
        assert not [url for url in calls if "Mark" in url or "Delete" in url]


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
        expect(visitor.page).to_have_url(f"{base}/console/#/trace/n_AAAAAAAAAAAAAAAAAAAAAA")
        visitor.page.locator("h1").click()
        visitor.page.keyboard.type("go")
        visitor.page.locator(".overview").wait_for()


# The inbox


def test_new_rows_appear_and_changes_can_be_undone(suite, browser, base, key, bucket):
    def unread():
        return suite.call("GetUnreadCounts", {}, key)["unreadCounts"].get("byBucket", {}).get(bucket, 0)

    publish(suite, key, bucket, "Old one")
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        visitor.live()
        page.get_by_text("Old one").wait_for()
        publish(suite, key, bucket, "Fresh one", body="à 🔔")
        page.get_by_text("Fresh one").wait_for()
        expect(page.locator(".inbox-row .title")).to_have_text(["Fresh one", "Old one"])
        assert unread() == 2
        page.keyboard.press("j")
        page.locator(".detail h2", has_text="Fresh one").wait_for()
        page.keyboard.press("e")
        page.locator(".inbox-row.read", has_text="Fresh one").wait_for()
        page.locator(".toast button", has_text="Undo").click()
        page.locator(".inbox-row:not(.read)", has_text="Fresh one").wait_for()
        page.keyboard.press("#")
        page.locator(".inbox-row", has_text="Fresh one").wait_for(state="detached")
        page.locator(".toast", has_text="Deleted").locator("button", has_text="Undo").click()
        # The row may disappear once more until the service has undone the deletion.
        eventually(lambda: unread() == 2, "the service has undone the deletion")
        page.locator(".inbox-row", has_text="Fresh one").wait_for()
        page.keyboard.press("k")
        page.locator('.inbox-row[data-current="true"]', has_text="Fresh one").wait_for()
        page.keyboard.press("x")
        page.locator(".inbox-tools", has_text="1 selected").wait_for()
        visitor.check_accessibility("a selection")
        page.locator(".inbox-row", has_text="Old one").get_by_role("checkbox").check()
        page.locator(".inbox-tools", has_text="2 selected").get_by_role("button", name="Mark as read").click()
        expect(page.locator(".inbox-row.read")).to_have_count(2)
        page.locator(".toast", has_text="2 marked as read").get_by_role("button", name="Dismiss").click()
        eventually(lambda: unread() == 0, "the service has marked both")
        # Undoing leaves what was read before.
        publish(suite, key, bucket, "Third one")
        for title in ("Old one", "Third one"):
            page.locator(".inbox-row", has_text=title).get_by_role("checkbox").check()
        page.locator(".inbox-tools").get_by_role("button", name="Mark as read").click()
        page.locator(".inbox-row.read", has_text="Third one").wait_for()
        page.locator(".toast", has_text="2 marked as read").get_by_role("button", name="Undo").click()
        page.locator(".inbox-row:not(.read)", has_text="Third one").wait_for()
        eventually(lambda: unread() == 1, "the service has undone one mark")
        expect(page.locator(".inbox-row.read")).to_have_count(2)
        page.get_by_role("button", name="Mark all as read").click()
        expect(page.locator(".inbox-row.read")).to_have_count(3)
        page.locator(".toast", has_text="Marked as read").last.get_by_role("button", name="Undo").click()
        page.locator(".inbox-row:not(.read)", has_text="Third one").wait_for()
        eventually(lambda: unread() == 1, "the service has undone the mark of all")
        expect(page.locator(".inbox-row.read")).to_have_count(2)


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
        eventually(lambda: page.locator(".inbox-row", has_text="Row 055").bounding_box() == before, "the row is where it was")
        page.get_by_role("button", name="2 new").click()
        page.get_by_text("And another").wait_for()
        page.get_by_role("button", name="2 new").wait_for(state="detached")


def test_a_list_that_has_grown_long_is_read_again(suite, browser, base, key, bucket):
    publish(suite, key, bucket, "First")
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        visitor.live()
        row = page.locator(".inbox-row")
        expect(row).to_have_attribute("aria-setsize", "1")
        for number in range(6):
            entry = {"notification": {"bucketId": bucket, "title": f"Part {number}", "priority": "PRIORITY_NO_PUSH"}}
            suite.call("BatchCreateNotifications", {"requests": [entry] * 1000}, key)
        row.filter(has_text="Part 5").first.wait_for()
        # Rows that are not loaded follow the last one: the size is not known.
        expect(row.first).to_have_attribute("aria-setsize", "-1")


def test_search_compose_and_schedule(suite, browser, base, key, bucket):
    publish(suite, key, bucket, "Backup failed")
    publish(suite, key, bucket, "Coffee is ready")
    with Visitor(browser, base, expected=("400",)) as visitor:
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        page.keyboard.press("/")
        page.keyboard.type("backup")
        expect(page.locator(".inbox-row .title")).to_have_text(["Backup failed"])
        expect(page).to_have_url(f"{base}/console/#/inbox/{bucket}?q=backup")
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
        for title in ("Later", "Much later"):
            publish(suite, key, bucket, title, deliverTime=soon.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
        visitor.show("#/inbox/trash")
        visitor.show("#/inbox/scheduled")
        for title in ("Later", "Much later"):
            page.locator(".inbox-row", has=page.get_by_text(title, exact=True)).get_by_role("checkbox").check()
        # Scheduled notifications can only be cancelled.
        tools = page.locator(".inbox-tools", has_text="2 selected")
        expect(tools.get_by_role("button")).to_have_count(2)
        page.keyboard.press("e")
        tools.get_by_role("button", name="Cancel").click()
        page.locator(".toast", has_text="2 cancelled").wait_for()
        page.locator(".inbox-row", has_text="ater").first.wait_for(state="detached")


def test_a_form_is_sent_once(suite, browser, base, key):
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, "#/inbox").page
        page.locator(".places-head button").click()
        name = f"Once {uuid.uuid4().hex[:6]}"
        page.locator("dialog").get_by_label("Name").fill(name)
        page.locator("dialog").get_by_role("button", name="Create").dblclick()
        page.locator("dialog").wait_for(state="detached")
        expect(page.locator(".bucket-list a", has_text=name)).to_have_count(1)
        made = [bucket["id"] for bucket in suite.call("ListBuckets", {"pageSize": 1000}, key)["buckets"] if bucket["name"] == name]
        for identifier in made:
            suite.call("DeleteBucket", {"bucketId": identifier}, key)
        assert len(made) == 1


def test_the_overview_reads_only_while_it_is_seen(browser, base, key):
    with Visitor(browser, base) as visitor:
        page = visitor.page
        page.clock.install()
        visitor.sign_in(key, "#/overview")
        calls = []
        page.on("request", lambda request: calls.append(request.url))

        def reads(seconds):
            """Lets time pass, and returns whether the page has read the services meanwhile."""
            calls.clear()
            page.clock.run_for(seconds * 1000)
            page.evaluate("() => fetch('?last').then(() => {})")
            eventually(lambda: any("?last" in url for url in calls), "the last request")
            return any("GetCaller" in url for url in calls)

        assert reads(6)
        page.evaluate("() => Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })")
        assert not reads(60)
        page.evaluate("() => { delete document.visibilityState; }")
        assert reads(6)
        page.evaluate("() => { location.hash = '#/nowhere'; }")
        page.get_by_text("There is no such page").wait_for()
        assert not reads(60)


def test_quiet_hours_are_drawn_and_changed(browser, base, demo):
    key = demo["users"]["user/marco"]["key"] if "user/marco" in demo["users"] else list(demo["users"].values())[-1]["key"]
    with Visitor(browser, base) as visitor:
        page = visitor.sign_in(key, "#/inbox/quiet").page
        page.get_by_role("button", name="Add a window").click()
        page.locator(".windows li", has_text="22:00–07:00").wait_for()
        expect(page.locator(".week .quiet-part")).to_have_count(14)
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
            title = page.locator(".detail h2")
            expect(title).to_contain_text("<img src=x onerror=alert(1)>")
            assert not {"\u202e", "\u2066"} & set(title.inner_text())
            visitor.check_width("a hostile notification")
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
        expect(page.locator(".verdict strong")).to_contain_text(re.compile("^Accepted"))
        assert "delivered" not in page.locator("main").inner_text().lower()
        page.locator(".timeline a", has_text="Push").first.click()
        page.locator(".timeline .step", has_text="APNs answered").wait_for()
        visitor.check_accessibility("a push")
        visitor.photograph("trace-push")

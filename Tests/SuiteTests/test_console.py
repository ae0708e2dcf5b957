"""The web console: its pages in a real browser, against the real gateway and services."""

import datetime
import json
import os
import signal
import uuid

import pytest
from campanile import PATIENCE_S, eventually
from console_browser import CHROMIUM, FROM_SOURCES, NARROW, WIDE, CountingProxy, Visitor, chromium

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
pytest.importorskip("playwright")
HOSTILE = "<img src=x onerror=alert(1)>\u202e\u2066 ‮ </script><script>alert(2)</script> {{x}} ${y}"


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def base(suite):
    return f"http://127.0.0.1:{suite.endpoints['gateway']['http']}"


@pytest.fixture(scope="module")
def demo(suite):
    return json.loads((suite.folder / "demo.json").read_text())


@pytest.fixture(scope="module")
def key(demo):
    return demo["users"]["user/giulia"]["key"]


@pytest.fixture(scope="module")
def admin(suite):
    arguments = [argument for scope in ("admin",) for argument in ("--scope", scope)]
    return suite.run("keys", "create", "user/giulia", *arguments, "--secret-only", check=0).stdout.strip()


@pytest.fixture
def bucket(suite, key):
    """A bucket of its own for each test."""
    created = suite.call("CreateBucket", {"bucket": {"name": f"Test {uuid.uuid4().hex[:6]}", "color": "#3B5BDB"}}, key)["bucket"]["id"]
    yield created
    suite.call("DeleteBucket", {"bucketId": created}, key)


def publish(suite, key, bucket, title, **more):
    notification = {"bucketId": bucket, "title": title, **more}
    return suite.call("CreateNotification", {"notification": notification}, key)["notification"]["id"]


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
        assert visitor.page.evaluate("() => JSON.stringify([document.cookie, { ...localStorage }])").count("c") and \
            not visitor.page.evaluate("() => /cs[l_]|cmp_/.test(document.cookie + JSON.stringify({ ...localStorage }))")
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
        # What a member may not do is absent.
        assert visitor.page.locator(".side nav a").all_inner_texts()[0] == "Panoramica"


def test_expired_session_returns_to_the_same_place(browser, base, key, bucket):
    with Visitor(browser, base, expected=("401",)) as visitor:
        visitor.sign_in(key, f"#/inbox/{bucket}?unread=1")
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


def test_what_a_caller_may_not_do_is_absent(suite, browser, base):
    reader = suite.run("keys", "create", "user/giulia", "--scope", "notifications:read", "--secret-only", check=0).stdout.strip()
    with Visitor(browser, base) as visitor:
        visitor.sign_in(reader, "#/inbox")
        visitor.page.locator(".inbox-places a").first.wait_for()
        assert visitor.page.locator(".side nav a").all_inner_texts() == ["Overview", "Inbox", "Trace"]
        assert visitor.page.get_by_role("button", name="Compose").count() == 0


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
        assert text.startswith(("Accepted by APNs", "No device", "A device", "The user"))
        suite.call("MarkNotificationsRead", {"notificationIds": [identifier]}, key)
        if text.startswith("Accepted"):
            page.locator(".timeline a", has_text="Push").first.click()
            page.locator(".timeline .step", has_text="APNs answered").wait_for()
            visitor.check_accessibility("a push")
            visitor.photograph("trace-push")


# Connections


def test_seven_tabs_share_one_stream_that_resumes(suite, browser, key, bucket):
    with CountingProxy(suite.endpoints["gateway"]["http"], b"WatchService/WatchMany") as proxy:
        with Visitor(browser, f"http://127.0.0.1:{proxy.port}", expected=("net::ERR", "Failed to fetch")) as visitor:
            visitor.sign_in(key, f"#/inbox/{bucket}")
            visitor.live()
            tabs = [visitor.page] + [visitor.tab() for _ in range(6)]
            for tab in tabs[1:]:
                visitor.open(f"#/inbox/{bucket}", tab)
                visitor.live(tab)
            eventually(lambda: "7" in (tabs[0].locator(".side .connection").get_attribute("title") or ""), "the worker counts seven tabs")
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
            eventually(lambda: "One connection" in (tabs[0].locator(".side .connection").get_attribute("title") or "")
                       and "7" not in tabs[0].locator(".side .connection").get_attribute("title"), "closed tabs are forgotten")


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
    sizes = "() => performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))" \
            ".filter(entry => /console/.test(entry.name)).map(entry => [entry.name, entry.encodedBodySize, entry.decodedBodySize])"
    with Visitor(browser, base) as visitor:
        visitor.sign_in(key, "#/nowhere")
        shell = visitor.page.evaluate(sizes)
        names = [name.rpartition("/web/")[2] for name, *_ in shell]
        total = sum(encoded for _, encoded, _ in shell)
        compressed = [entry for entry in shell if entry[1] < entry[2]]
        assert len(compressed) >= 10, shell
        paint = visitor.page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
        print(f"shell {total} bytes, first paint {paint} ms")
        assert total <= 50_000, (total, names)
        for place in ("overview", "inbox", "trace"):
            before = {name for name, *_ in visitor.page.evaluate(sizes)}
            visitor.show(f"#/{place}")
            added = sum(encoded for name, encoded, _ in visitor.page.evaluate(sizes) if name not in before)
            print(f"{place} {added} bytes")
            assert added <= 18_000, (place, added)


# The view layer

VIEW = """
async (base) => {
  const script = document.querySelector("script[type=module]").src.replace("app.js", "");
  const { each, flush, h, show, signal, svg, virtualList, boundary } = await import(script + "view.js");
  const results = {};
  const host = document.createElement("div");
  document.body.append(host);
  const rows = signal([1, 2, 3, 4, 5].map((id) => ({ id, text: "row " + id })));
  let made = 0;
  host.append(h("ul", null, each(rows, ({ id }) => id, (item) => { made++; return h("li", null, () => item.value.text); })));
  const list = host.firstChild, nodes = [...list.children];
  const moves = [];
  new MutationObserver((records) => moves.push(...records)).observe(list, { childList: true });
  rows.value = [rows.value[4], ...rows.value.slice(0, 4)];
  flush();
  await new Promise((resolve) => setTimeout(resolve));
  results.order = list.textContent;
  results.movesOfOne = moves.filter(({ addedNodes }) => addedNodes.length).length;
  results.sameNodes = [...list.children].every((node) => nodes.includes(node));
  rows.value = rows.value.map((row) => row.id === 3 ? { ...row, text: "changed" } : row).filter(({ id }) => id !== 1);
  flush();
  results.changed = list.textContent;
  results.made = made;
  rows.value = [];
  flush();
  results.empty = list.children.length;

  const count = signal(0), isShown = signal(true);
  let shown = 0;
  const part = h("p", null, "n=", count, show(isShown, () => { shown++; return [() => "[", () => count.value, "]"]; }, () => "none"));
  const text = part.childNodes[2];
  count.value = 7;
  flush();
  results.nested = part.textContent;
  results.shownOnce = shown;
  isShown.value = false;
  flush();
  results.hidden = part.textContent;

  const hostile = h("a", { href: "javascript:alert(1)", title: "<b>" }, "<b>text</b>");
  results.hostile = hostile.outerHTML;
  results.attribute = svg("use", { href: "data:text/html,x" }).outerHTML;
  const failing = signal(0), fenced = h("div", null, boundary(() => h("i", null, () => { if (failing.value) throw new Error("planned"); return "fine"; }), (error) => "caught " + error.message));
  results.before = fenced.textContent;
  failing.value = 1;
  flush();
  await Promise.resolve();
  flush();
  results.after = fenced.textContent;

  const many = signal(Array.from({ length: 100000 }, (_, id) => ({ id })));
  let rendered = 0;
  const big = virtualList({ rows: many, rowPx: 30, key: ({ id }) => id, props: { style: { "block-size": "600px" } },
    row: (item, index) => { rendered++; return h("div", { role: "listitem", style: { "block-size": "30px" } }, () => index.value + ":" + item.value.id); } });
  host.append(big);
  const frames = async (n = 3) => { for (let i = 0; i < n; i++) await new Promise(requestAnimationFrame); };
  await frames();
  results.height = big.scrollHeight;
  big.scrollTop = 30 * 50000;
  await frames();
  const visible = () => [...big.querySelectorAll("[role=listitem]")].map((node) => node.textContent);
  results.middle = visible().includes("50000:50000");
  results.nodes = big.querySelectorAll("*").length;
  big.scrollTop = big.scrollHeight;
  await frames();
  results.last = visible().at(-1);
  const top = big.scrollTop;
  many.value = [{ id: "new" }, ...many.value];
  await frames();
  results.kept = big.scrollTop - top;
  results.rendered = rendered;
  results.inOrder = visible().every((row, index, all) => index === 0 || parseInt(row) === parseInt(all[index - 1]) + 1);
  host.remove();
  return results;
}
"""


def test_view_layer_in_a_browser(browser, base):
    with Visitor(browser, base) as visitor:
        visitor.open()
        results = visitor.page.evaluate(VIEW, base)
    assert results["order"] == "row 5row 1row 2row 3row 4" and results["movesOfOne"] == 1 and results["sameNodes"]
    assert results["changed"] == "row 5row 2changedrow 4" and results["made"] == 5 and results["empty"] == 0
    assert results["nested"] == "n=7[7]" and results["shownOnce"] == 1 and results["hidden"] == "n=7none"
    assert results["hostile"] == '<a title="&lt;b&gt;">&lt;b&gt;text&lt;/b&gt;</a>' or "javascript" not in results["hostile"]
    assert "data:" not in results["attribute"]
    assert (results["before"], results["after"]) == ("fine", "caught planned")
    assert results["height"] == 3_000_000 and results["middle"] and results["nodes"] < 80 and results["rendered"] < 60
    assert results["last"] == "99999:99999" and results["kept"] == 30 and results["inOrder"]


# WebKit


def test_console_works_in_webkit(suite, base, key):
    from test_typescript import webkit
    with webkit() as driver:
        from selenium.webdriver.common.by import By

        def find(selector):
            return eventually(lambda: driver.find_elements(By.CSS_SELECTOR, selector), selector, PATIENCE_S)[0]

        driver.get(f"{base}/console/#/overview")
        find("input[name=key]").send_keys(key)
        find("form button.primary").click()
        find(".overview h1")
        find(".side .connection .dot.good")
        for name, selector in {"inbox": ".inbox-row", "trace": ".trace h1", "overview": ".overview .services"}.items():
            driver.execute_script("location.hash = arguments[0]", f"#/{name}")
            find(selector)
        bucket = suite.call("CreateBucket", {"bucket": {"name": "WebKit"}}, key)["bucket"]["id"]
        driver.execute_script("location.hash = arguments[0]", f"#/inbox/{bucket}")
        find(".inbox .empty")
        publish(suite, key, bucket, "Live in WebKit")
        eventually(lambda: "Live in WebKit" in find(".inbox-list").get_property("textContent"), "a new row")
        suite.call("DeleteBucket", {"bucketId": bucket}, key)

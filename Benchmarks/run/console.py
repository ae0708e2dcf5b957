"""Measures the web console in Chromium: first paint, scrolling, a flood of events, and the way of a push to the screen. See scripts/bench."""

import contextlib
import http.client
import json
import pathlib
import statistics
import tempfile
import threading
import time

from bench import NOTIFICATIONS, run
from campanile import Suite
from console_browser import Visitor, chromium
from console_fleet import Device

PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
# Scrolls one screen in each frame, and returns the frames in a second and the longest time between two.
SCROLL = """seconds => new Promise((resolve) => {
  const list = document.querySelector(".inbox-rows"), times = [performance.now()];
  const frame = (now) => {
    times.push(now);
    list.scrollTop = (list.scrollTop + list.clientHeight) % list.scrollHeight;
    if (now - times[0] < seconds * 1000) return requestAnimationFrame(frame);
    const gaps = times.slice(1).map((time, index) => time - times[index]);
    resolve([(times.length - 1) * 1000 / (times.at(-1) - times[0]), Math.max(...gaps)]);
  };
  requestAnimationFrame(frame);
})"""
# Resolves with the time at which a text appears in a part of the page.
APPEARS = """([selector, text]) => new Promise((resolve) => {
  const look = () => {
    if (![...document.querySelectorAll(selector)].some((node) => node.textContent.includes(text))) return;
    observer.disconnect();
    requestAnimationFrame(() => resolve(Date.now()));
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  look();
})"""


@contextlib.contextmanager
def console():
    """Runs a suite and a browser. Yields both, with the console's address and an administrator's key."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        suite = Suite(pathlib.Path(folder) / "data").wait_ready()
        try:
            key = suite.run("keys", "create", "user/bench", "--scope", "admin", "--secret-only", check=0).stdout.strip()
            yield suite, browser, f"http://127.0.0.1:{suite.endpoints['gateway']['http']}", key
        finally:
            suite.stop()


def painted(visitor):
    return visitor.page.wait_for_function(PAINT).json_value()


def paint(rows, _):
    """The baseline is a line of text from the gateway: what the browser and the machine need for any page."""
    with console() as (_, browser, base, key):
        plain = []
        for _ in range(9):
            with Visitor(browser, base, expected=("404",)) as visitor:
                visitor.page.goto(f"{base}/nothing")
                plain.append(painted(visitor))
        baseline = statistics.median(plain)
        with Visitor(browser, base) as visitor:
            visitor.sign_in(key, "#/overview")
            state = visitor.context.storage_state()
        for name, options in (("the sign-in", {}), ("the overview", {"storage_state": state})):
            cold, warm = [], []
            for _ in range(9):
                with Visitor(browser, base, **options) as visitor:
                    for times in (cold, warm):
                        visitor.open("#/overview")
                        visitor.page.locator("h1").first.wait_for()
                        times.append(painted(visitor))
                        visitor.page.goto("about:blank")
            rows.add(f"first paint of {name}, without a cache", statistics.median(cold), "ms", baseline, at_most=300)
            rows.add(f"first paint of {name}, from the cache", statistics.median(warm), "ms", baseline, at_most=300)


def scroll(rows, arguments):
    """Scrolls a list that a single response has filled."""
    listed = [{"id": f"n_{100_000 - number:022}", "bucketId": "b_1", "title": f"Notification {number}", "body": "The disk of server-3 is full.",
               "createTime": "2026-01-01T12:00:00Z", "deliveryState": "DELIVERY_STATE_SENT"} for number in range(100_000)]
    body = json.dumps({"notifications": listed})
    with console() as (_, browser, base, key), Visitor(browser, base) as visitor:
        visitor.page.route("**/*.NotificationsService/ListNotifications",
                           lambda route: route.fulfill(status=200, content_type="application/json", body=body))
        visitor.sign_in(key, "#/inbox")
        visitor.page.get_by_text("Notification 0", exact=True).wait_for()
        rate, longest = visitor.page.evaluate(SCROLL, arguments.seconds)
    rows.add("scrolling 100,000 rows of the inbox, a screen a frame", rate, "frame/s", at_least=50)
    rows.add("  longest time between two frames", longest, "ms")


def flood(rows, arguments):
    """Publishes 1,000 notifications a second to the open inbox, 50 in a call."""
    with console() as (suite, browser, base, key), Visitor(browser, base) as visitor:
        bucket = suite.call("CreateBucket", {"bucket": {"name": "Flood"}}, key)["bucket"]["id"]
        page = visitor.sign_in(key, f"#/inbox/{bucket}").page
        visitor.live()
        metrics = visitor.context.new_cdp_session(page)
        metrics.send("Performance.enable")

        def read():
            values = {each["name"]: each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]}
            return values["ThreadTime"], values["JSHeapUsedSize"]

        published = []

        def publish():
            link = http.client.HTTPConnection("127.0.0.1", suite.endpoints["gateway"]["http"])
            body = json.dumps({"requests": [{"notification": {"bucketId": bucket, "title": "Event"}}] * 50})
            begin = time.monotonic()
            while time.monotonic() < begin + arguments.seconds:
                link.request("POST", f"/{NOTIFICATIONS}BatchCreateNotifications", body,
                             {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
                response = link.getresponse()
                response.read()
                published.append(response.status == 200)
                time.sleep(max(0, begin + len(published) / 20 - time.monotonic()))

        thread = threading.Thread(target=publish)
        (busy, _), begin = read(), time.monotonic()
        thread.start()
        highest = 0
        while thread.is_alive():
            page.wait_for_timeout(500)
            highest = max(highest, read()[1])
        elapsed = time.monotonic() - begin
        rows.add(f"events a second, for {arguments.seconds} s", sum(published) * 50 / elapsed, "1/s", at_least=900)
        rows.add("  processor time of the page's main thread", (read()[0] - busy) * 100 / elapsed, "%", at_most=35)
        rows.add("  highest heap of the page", highest / 1e6, "MB", at_most=60)


def push(rows, _):
    """Changes a Live Activity, and waits until the wall of devices shows it."""
    with console() as (suite, browser, base, key), Visitor(browser, base) as visitor:
        device = Device(suite, "bench")
        activity, token = device.show("StartActivity", contentStateJson='{"score":"start"}')
        device.displays(token, "start")
        visitor.sign_in(key, "#/devices")
        visitor.page.locator(".activity-card", has_text="start").wait_for()
        link = http.client.HTTPConnection("127.0.0.1", suite.endpoints["gateway"]["http"])
        times = []
        for number in range(21):
            text = f"goal {number}."
            visitor.page.evaluate(f"wanted => {{ globalThis.appeared = ({APPEARS})(wanted); }}", [".activity-card", text])
            # Activities coalesces the changes of one second, because the timestamp of a payload has seconds.
            time.sleep(1.5)
            begin = time.time()
            link.request("POST", "/campanile.activities.v1.ActivitiesService/UpdateActivity",
                         json.dumps({"activityId": activity, "contentStateJson": json.dumps({"score": text})}),
                         {"Content-Type": "application/json", "Authorization": f"Bearer {device.key}"})
            link.getresponse().read()
            times.append(visitor.page.evaluate("() => globalThis.appeared") - begin * 1000)
        rows.add("from a call to the changed screen, through the simulated APNs", statistics.median(times), "ms", at_most=200)
        rows.add("  the slowest of 21", max(times), "ms")


if __name__ == "__main__":
    run(__doc__, {"paint": paint, "scroll": scroll, "flood": flood, "push": push}, seconds=(30, "duration of scrolling and of the flood"))

"""The web console in Debian's Chromium, driven by Playwright, with checks that hold on every page."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import threading
import uuid

import pytest
from campanile import PATIENCE_S, ROOT

expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=PATIENCE_S * 1000)

CHROMIUM = shutil.which("chromium")
# For work on the console: pages get the files of the sources instead of the embedded ones. The SharedWorker does not.
FROM_SOURCES = os.environ.get("CONSOLE_FROM_SOURCES") == "1"
SCREENSHOTS = os.environ.get("CONSOLE_SCREENSHOTS")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
# Reports of the security policy, and errors that no handler has caught, reach the console as messages.
COLLECT = """
addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
addEventListener("error", (event) => console.error(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => console.error(`rejection: ${event.reason}`));
"""
# The event arrives after the shell's own listener has shown the place.
GO = """place => new Promise((resolve) => {
  if (location.hash === place) return resolve();
  addEventListener("hashchange", resolve, { once: true });
  location.hash = place;
})"""
SIZES = """() => Object.fromEntries(performance.getEntriesByType("resource").concat(performance.getEntriesByType("navigation"))
  .filter(({ name }) => name.includes("/console/")).map((entry) => [entry.name, [entry.encodedBodySize, entry.decodedBodySize]]))"""


@contextlib.contextmanager
def chromium():
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A browser's user with cookies and preferences of their own. Use it as a context manager: its end checks the messages."""

    def __init__(self, browser, base, language="en", theme="light", size=WIDE, expected=(), **options):
        self.base = base
        self.expected = expected
        self.messages = []
        locale = {"en": "en-GB", "it": "it-IT"}[language]
        self.context = browser.new_context(viewport=size, locale=locale, color_scheme=theme, reduced_motion="reduce",
                                           timezone_id="Europe/Rome", **options)
        self.context.set_default_timeout(PATIENCE_S * 1000)
        self.context.add_init_script(COLLECT)
        if FROM_SOURCES:
            self.context.route("**/console/*/web/**", self.from_sources)
        self.name = f"{theme}-{'narrow' if size == NARROW else 'wide'}-{language}"
        self.page = self.tab()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        unexpected = [text for text in self.messages if not any(each in text for each in self.expected)]
        if failure:
            with contextlib.suppress(Exception):
                self.photograph(f"failure-{os.getpid()}")
        self.context.close()
        assert failure or not unexpected, unexpected

    @staticmethod
    def from_sources(route):
        file = ROOT / "Sources" / "Console" / "Web" / route.request.url.partition("/web/")[2].partition("?")[0]
        route.fulfill(path=file) if file.exists() else route.continue_()

    def tab(self):
        page = self.context.new_page()
        page.on("console", lambda message: self.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        return page

    def open(self, place="", page=None):
        (page or self.page).goto(f"{self.base}/console/{place}")

    def sign_in(self, key, place="#/overview"):
        self.open(place)
        self.page.locator("input[name=key]").fill(key)
        self.page.locator("form button.primary").click()
        self.page.locator("main#main h1, main#main .fill").first.wait_for()
        return self

    def show(self, place):
        """Goes to a place without loading the console again, and waits until nothing loads."""
        self.page.evaluate(GO, place)
        self.settle()

    def settle(self):
        self.page.wait_for_function("() => !document.querySelector('[aria-busy=true]') && document.querySelector('main')?.textContent")

    def live(self, page=None):
        (page or self.page).locator(".side .connection .dot.good").wait_for(state="attached")

    def sizes(self):
        """Returns the files of the console that this page has loaded, with their bytes as sent and as unpacked."""
        return self.page.evaluate(SIZES)

    def check_bytes(self, place, bytes_max):
        """Goes to a page, and compares the bytes that it adds with a budget."""
        before = self.sizes()
        self.show(f"#/{place}")
        added = sum(encoded for name, (encoded, _) in self.sizes().items() if name not in before)
        print(f"{place} {added} bytes")
        assert 0 < added <= bytes_max, (place, added)

    def check_width(self, where):
        width = self.page.evaluate("() => document.documentElement.scrollWidth")
        assert width <= self.page.viewport_size["width"], (where, "scrolls sideways", width)

    def check_accessibility(self, where):
        from axe_playwright_python.sync_playwright import Axe
        options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}
        result = Axe().run(self.page, options=options)
        found = [(violation["id"], node["html"][:200], node.get("failureSummary", "")[:300])
                 for violation in result.response["violations"] for node in violation["nodes"][:3]]
        assert not found, (where, found)

    def photograph(self, name):
        if SCREENSHOTS:
            folder = pathlib.Path(SCREENSHOTS)
            folder.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=folder / f"{name}-{self.name}.png")


class CountingProxy:
    """Forwards connections to a port, counts requests by a text in them, and can be cut and closed like a network."""

    def __init__(self, port, wanted):
        self.target, self.wanted = port, wanted
        self.count, self.is_open = 0, True
        self.ends = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()

    def cut(self):
        for end in list(self.ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.is_open = False
        self.cut()

    def accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            if not self.is_open:
                caller.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.target))
            self.ends |= {caller, server}
            threading.Thread(target=self.forward, args=(caller, server, True), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, caller, False), daemon=True).start()

    def forward(self, source, sink, counts):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if counts and self.wanted in data:
                    self.count += data.count(self.wanted)
                sink.sendall(data)
        for end in (source, sink):
            self.ends.discard(end)
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


# Fixtures, which each file of tests imports


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
    return suite.run("keys", "create", "user/giulia", "--scope", "admin", "--secret-only", check=0).stdout.strip()


@pytest.fixture
def bucket(suite, key):
    """A bucket of its own for each test."""
    created = suite.call("CreateBucket", {"bucket": {"name": f"Test {uuid.uuid4().hex[:6]}", "color": "#3B5BDB"}}, key)["bucket"]["id"]
    yield created
    suite.call("DeleteBucket", {"bucketId": created}, key)


def publish(suite, key, bucket, title, **more):
    """Publishes a notification and returns its id."""
    notification = {"bucketId": bucket, "title": title, **more}
    return suite.call("CreateNotification", {"notification": notification}, key)["notification"]["id"]

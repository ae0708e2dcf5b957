"""The gateway called by a browser's own `fetch` and `EventSource`."""

import functools
import http.server
import json
import shutil
import threading

import pytest
from campanile import PATIENCE_S

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromium-driver are not installed")

FETCH = """
const [path, options, done] = [arguments[0], arguments[1], arguments[arguments.length - 1]];
fetch(path, options).then(async r => done({status: r.status, etag: r.headers.get("etag"), body: await r.text()}),
                          e => done({failed: String(e)}));
"""
# Opens a stream, publishes once it has started, and returns the events up to that of the publication.
WATCH = """
const [bucket, key, done] = [arguments[0], arguments[1], arguments[arguments.length - 1]];
const seen = [];
const source = new EventSource(`/notifications/v1/notifications:watch?bucketId=${bucket}&access_token=${key}`);
source.onerror = () => { source.close(); done({failed: "the stream broke", seen}); };
source.onmessage = event => {
  const message = JSON.parse(event.data);
  seen.push({id: event.lastEventId, message});
  if (message.started) {
    fetch("/notifications/v1/notifications", {method: "POST", headers: {authorization: `Bearer ${key}`, "content-type": "application/json"},
      body: JSON.stringify({notification: {bucketId: bucket, title: "from a browser"}})});
  }
  if (message.change?.notificationCreated) { source.close(); done({seen}); }
};
"""


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_script_timeout(PATIENCE_S)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def key(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


@pytest.fixture(scope="module")
def base(suite):
    return f"http://127.0.0.1:{suite.endpoints['gateway']['http']}"


def test_fetch_and_event_source_work(browser, base, key):
    browser.get(base + "/openapi.json")
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    answer = browser.execute_async_script(FETCH, "/notifications/v1/buckets", {
        "method": "POST", "headers": headers, "body": json.dumps({"bucket": {"name": "Browser"}})})
    assert answer["status"] == 200 and answer["etag"]
    bucket = json.loads(answer["body"])["bucket"]["id"]
    watched = browser.execute_async_script(WATCH, bucket, key)
    assert "failed" not in watched, watched
    last = watched["seen"][-1]
    assert last["message"]["change"]["notificationCreated"]["title"] == "from a browser"
    assert last["id"]
    assert browser.execute_async_script(FETCH, f"/notifications/v1/buckets/{bucket}", {"method": "DELETE", "headers": headers})["status"] == 200
    assert browser.execute_async_script(FETCH, "/notifications/v1/buckets", {})["status"] == 401


def test_pages_of_other_origins_cannot_read_responses(browser, base, key, tmp_path):
    (tmp_path / "index.html").write_text("<!doctype html><title>elsewhere</title>")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        browser.get(f"http://127.0.0.1:{elsewhere.server_port}/index.html")
        options = {"headers": {"authorization": f"Bearer {key}"}}
        assert "failed" in browser.execute_async_script(FETCH, base + "/notifications/v1/buckets", options)
        elsewhere.shutdown()

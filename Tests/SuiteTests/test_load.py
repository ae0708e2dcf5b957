"""`campanile load` against a running suite: its counts match those of the server."""

import csv
import http.server
import io
import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
import urllib.request
import xml.etree.ElementTree

import pytest
from campanile import CLI, environment


@pytest.fixture(scope="module")
def key(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


def load(suite, *arguments, key=None, check=0):
    result = suite.run("load", *arguments, key=key)
    assert result.returncode == check, (arguments, result.returncode, result.stdout[-2000:], result.stderr)
    return result


def requests_of(suite, service, method):
    """The number of calls of a method that a service has started, from its metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{suite.endpoints[service]['http']}/metrics") as reply:
        text = reply.read().decode()
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines()
               if line.startswith("campanile_server_started_total{") and f'method="{method}"' in line)


def test_count_matches_the_calls_of_the_service(suite, key):
    before = requests_of(suite, "notifications", "ListBuckets")
    result = load(suite, "ListBuckets", '{"pageSize":{{random 1 9}}}', "--count", "777", "--concurrency", "16",
                  "--connections", "4", "--output", "json", key=key)
    report = json.loads(result.stdout)
    assert report["calls"] == 777 and report["statuses"] == {"OK": {"calls": 777}}
    assert result.stderr == "", "a pipe gets no progress line"
    assert requests_of(suite, "notifications", "ListBuckets") - before == 777


def test_open_loop_sends_its_schedule(suite, key):
    report = json.loads(load(suite, "ListBuckets", "--rate", "50..250", "--duration", "2s", "--warm-up", "100ms",
                             "--arrivals", "uniform", "--output", "json", key=key).stdout)
    assert abs(report["calls"] + report["droppedCount"] - 300) <= 1
    assert report["latency"]["percentilesMs"]["99"] >= report["uncorrectedLatency"]["percentilesMs"]["50"] > 0
    assert report["pace"] == "open loop, 50 to 250/s, uniform arrivals"


def test_everything_created_is_there_once(suite):
    key = suite.key("user/load")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "load"}}, key)["bucket"]["id"]
    request = json.dumps({"notification": {"bucketId": bucket, "title": "n {{sequence}}"}, "requestId": "{{uuid}}"})

    def create(*arguments):
        return json.loads(load(suite, "CreateNotification", request, "--output", "json", *arguments, key=key).stdout)

    seed = create("--count", "300", "--concurrency", "8")["seed"]
    # Another run has other identifiers. The same seed yields the same ones, so its requests are repeats.
    other = create("--count", "1")
    assert other["seed"] != seed and other["errors"] == 0
    assert create("--count", "300", "--seed", str(seed))["errors"] == 0
    listed = suite.call("ListNotifications", {"bucketId": bucket, "pageSize": 1000}, key)["notifications"]
    assert sorted(one["title"] for one in listed) == sorted([f"n {number}" for number in range(300)] + ["n 0"])


def test_thresholds_decide_the_exit_code(suite, key):
    common = ["ListBuckets", "--count", "50", "--threshold"]
    load(suite, *common, "errors<1%,p99<60s,rate>0.1", key=key)
    missed = load(suite, *common, "errors<1%,p50<1us", key=key, check=1)
    assert "missed p50<1us: it is " in missed.stderr and "calls" in missed.stdout
    assert "has no known metric" in load(suite, *common, "p77<1ms", key=key, check=64).stderr


def test_report_has_several_formats_and_can_be_compared(suite, key, tmp_path):
    arguments = ["ListBuckets", "--count", "200", "--concurrency", "4", "--output"]
    rows = list(csv.reader(io.StringIO(load(suite, *arguments, "csv", key=key).stdout)))
    assert ["calls", "200", ""] in rows and rows[0] == ["metric", "value", "unit"]
    page = load(suite, *arguments, "html", key=key).stdout
    assert "<script" not in page and "src=" not in page
    for plot in re.findall(r"<svg.*?</svg>", page, re.S):
        xml.etree.ElementTree.fromstring(plot)
    files = []
    for name in ("before", "after"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(load(suite, *arguments, "json", key=key).stdout)
    compared = subprocess.run([CLI, "load", "compare", *map(str, files)], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^calls/s .*\(\d+\.\d\dx\)$", compared, re.M) and "before" in compared.splitlines()[0]
    both = subprocess.run([CLI, "load", "compare", *map(str, files), "--output", "html"], capture_output=True, text=True, check=True)
    assert both.stdout.count("<polyline") >= 2
    files[1].write_text("{}")
    refused = subprocess.run([CLI, "load", "compare", *map(str, files)], capture_output=True, text=True)
    assert refused.returncode == 64 and "after.json" in refused.stderr


def test_failures_are_reported_with_their_reason(suite, key):
    report = json.loads(load(suite, "GetNotification", '{"notificationId":"n_none"}', "--count", "20", "--output", "json", key=key).stdout)
    assert report["errors"] == 20 and report["statuses"]["NOT_FOUND"]["calls"] == 20
    assert report["statuses"]["NOT_FOUND"]["message"]


def test_watches_stay_open_until_the_run_ends(suite, key):
    report = json.loads(load(suite, "WatchNotifications", "--concurrency", "20", "--duration", "1s", "--output", "json", key=key).stdout)
    assert report["statuses"] == {"OK": {"calls": 20}}
    assert report["messagesSent"] == 20 and report["messagesReceived"] >= 20, "each watch begins with its position"


class Told(http.server.BaseHTTPRequestHandler):
    """An HTTP server that records the headers it receives."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.told.append(dict(self.headers))
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("more", [[], ["--as", "user/giulia"]])
def test_the_suites_secrets_go_to_the_suite_only(suite, more):
    arguments = ["campanile.notifications.v1.NotificationsService/ListBuckets", "--count", "3", "--concurrency", "1", "--output", "json"]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Told) as server:
        server.told = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            report = json.loads(load(suite, *arguments, *more, "--http", f"http://127.0.0.1:{server.server_port}").stdout)
        finally:
            server.shutdown()
    assert report["calls"] == 3 and len(server.told) == 3
    told = json.dumps(server.told)
    assert "authorization" not in told.lower()
    assert suite.endpoints["gateway"]["adminKey"] not in told and suite.endpoints["internalToken"] not in told
    # The gateway does receive the credential.
    port = suite.endpoints["gateway"]["http"]
    report = json.loads(load(suite, *arguments, "--http", f"http://127.0.0.1:{port}").stdout)
    assert "UNAUTHENTICATED" not in report["statuses"]


@pytest.mark.parametrize("arguments, told", [
    (["ListBuckets", "--concurrency", "0"], "--concurrency"),
    (["ListBuckets", "--rate", "fast"], "--rate"),
    (["ListBuckets", "--rate", "1..5", "--count", "3"], "--duration"),
    (["ListBuckets", '{"a":{{what}}}'], "sequence, random"),
    (["ListBuckets", "[]"], "JSON object"),
    (["ListBuckets", "--messages", "3"], "--messages: applies only to streams"),
    (["NoSuchMethod"], "NoSuchMethod"),
    (["ListBuckets", "--http", "http://127.0.0.1:1"], "package.Service/Method"),
    (["a.B/C", "--http", "ftp://127.0.0.1:1"], "https://"),
    (["a.B/C", "--http", "http://127.0.0.1:1", "--tls"], "https://"),
])
def test_wrong_usage_is_reported(suite, key, arguments, told):
    assert told in load(suite, *arguments, key=key, check=64).stderr


def test_ctrl_c_ends_with_a_report_and_terminal_shows_progress(suite, key):
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [CLI, "load", "ListBuckets", "--duration", "10m", "--output", "json", "--data-dir", str(suite.folder)],
        stdout=subprocess.PIPE, stderr=terminal, stdin=subprocess.DEVNULL, text=True,
        env=environment() | {"CAMPANILE_KEY": key})
    os.close(terminal)
    try:
        seen = b""
        limit = time.monotonic() + 60
        while b"s left" not in seen.partition(b"p99")[2]:
            assert time.monotonic() < limit, seen
            seen += os.read(reader, 4096)
        process.send_signal(signal.SIGINT)
        report = json.loads(process.communicate(timeout=60)[0])
    finally:
        process.kill()
        process.wait()
        os.close(reader)
    assert process.returncode == 0 and report["wasInterrupted"] and report["calls"] > 0

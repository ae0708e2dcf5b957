"""One trace from a call at the gateway to the push at APNs, as an OpenTelemetry receiver gets it."""

import json
import re
import secrets
import urllib.error
import urllib.request

import pytest
from campanile import PATIENCE_S, Suite, eventually
from otlp_receiver import Receiver
from test_devices import ACTIVITY, DEVICE, Phone

NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"
UNREAD = "campanile.activities.v1.UnreadService/"


@pytest.fixture(scope="module")
def receiver():
    # The first batch is refused once and must be sent again.
    made = Receiver(answers=[503])
    yield made
    made.close()


@pytest.fixture(scope="module")
def traced(tmp_path_factory, receiver):
    running = Suite(
        tmp_path_factory.mktemp("traced") / "data",
        settings={"CAMPANILE_OTLP_ENDPOINT": receiver.url, "CAMPANILE_TRACE_RATIO": "0", "CAMPANILE_SLOW_CALL_MS": "1"})
    try:
        yield running.wait_ready()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def phone(traced):
    return Phone(traced, "traced")


def context(flags="01"):
    return secrets.token_hex(16), secrets.token_hex(8), flags


def header(made):
    return "traceparent: 00-{}-{}-{}".format(*made)


def only(spans, service, name):
    (found,) = [span for span in spans if (span.service, span.name) == (f"campanile-{service}", name)]
    return found


def test_a_call_is_one_trace_down_to_the_push(traced, receiver, phone):
    made = context()
    notification = traced.call(
        "CreateNotification", {"notification": {"bucketId": phone.bucket, "title": "Porta aperta"}}, phone.key,
        "-H", header(made), "-H", "tracestate: vendor=1")["notification"]

    # Each process exports its own spans, in any order: two of the call, and six of the pushes of alert and activity.
    spans = eventually(lambda: len(receiver.of(made[0])) >= 8 and receiver.of(made[0]), f"all spans are exported: {made[0]}")
    gateway = only(spans, "gateway", NOTIFICATIONS + "CreateNotification")
    created = only(spans, "notifications", NOTIFICATIONS + "CreateNotification")
    assert (gateway.parent, created.parent) == (made[1], gateway.id)
    assert gateway.kind == created.kind == "SPAN_KIND_SERVER"
    assert gateway.attributes["campanile.backend"] == "notifications"
    assert re.fullmatch(r"127\.0\.0\.1:[0-9]+", gateway.attributes["server.address"])
    assert gateway.attributes["enduser.id"] == created.attributes["enduser.id"] == "user/traced"
    # Both processes use the same request id for the call.
    assert gateway.attributes["campanile.request_id"] == created.attributes["campanile.request_id"]
    assert re.fullmatch("[0-9a-f]{16}-[0-9a-f]{16}", created.attributes["campanile.request_id"])
    pushes = {DEVICE: ("alert", "SendAlert"), ACTIVITY: ("outbox unread-summary", "PutUnreadSummary")}
    for token, (relay, method) in pushes.items():
        relayed = only(spans, "notifications", relay)
        taken = only(spans, "activities", UNREAD + method)
        assert (relayed.parent, taken.parent) == (created.id, relayed.id)
        (push,) = [span for span in spans if span.name == "APNs" and span.parent == taken.id]
        assert push.kind == "SPAN_KIND_CLIENT" and push.attributes["http.response.status_code"] == "200"
        assert push.attributes["apns-id"] in [apns_id for apns_id, _ in traced.pushed(token)]
    assert len(spans) == 8 and not any(span.failed for span in spans), spans
    # The delivery log records a push of the same trace.
    record = phone.explained_as(notification, "PUSHED")
    assert record["pushId"] in [span.attributes.get("apns-id") for span in spans]


def test_http_propagates_traces_and_client_errors_are_no_failures(traced, receiver, phone):
    made = context()
    request = urllib.request.Request(
        f"http://127.0.0.1:{traced.endpoints['gateway']['http']}/{NOTIFICATIONS}GetNotification",
        data=json.dumps({"notificationId": "n_none"}).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {phone.key}",
                 "Traceparent": "00-{}-{}-{}".format(*made)})
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=PATIENCE_S)
    spans = eventually(lambda: len(receiver.of(made[0])) == 2 and receiver.of(made[0]), "two spans")
    gateway = only(spans, "gateway", NOTIFICATIONS + "GetNotification")
    assert gateway.parent == made[1] and not gateway.failed
    assert gateway.attributes["rpc.response.status_code"] in ("NOT_FOUND", "INVALID_ARGUMENT")


def test_unsampled_calls_are_not_exported(traced, receiver, phone):
    unsampled, wrong, last = context("00"), context(), context()
    traced.call("GetUnreadCounts", {}, phone.key, "-H", header(unsampled))
    traced.call("GetUnreadCounts", {}, phone.key, "-H", "traceparent: 00-{}-{}".format(*wrong))
    traced.call("GetUnreadCounts", {}, phone.key)
    traced.call("GetUnreadCounts", {}, phone.key, "-H", header(last))
    eventually(lambda: len(receiver.of(last[0])) == 2, "the last call is exported")
    assert receiver.of(unsampled[0]) == receiver.of(wrong[0]) == []
    with receiver.lock:
        # With a ratio of 0 no call begins a trace of its own.
        assert all(span.parent for span in receiver.spans)


def test_log_lines_name_the_call(traced, receiver, phone):
    made = context()
    # Writes wait for the disk, so they exceed the slow-call threshold of 1 ms.
    def logged():
        traced.call(
            "CreateNotification", {"notification": {"bucketId": phone.bucket, "title": "Segreto"}}, phone.key,
            "-H", header(made))
        return [line for line in traced.text().splitlines() if "a slow call" in line and made[0] in line]

    line = eventually(logged, "a slow call is logged with its trace")[0]
    for key in ("requestId", "principal", "method", "durationMs", "queueMs", "handlerMs", "encodeMs"):
        assert f"{key}=" in line.replace("\x1b[0m", ""), line
    assert "Segreto" not in traced.text()


def test_metrics_count_spans_and_pushes(traced, receiver, phone):
    def metrics(part):
        ready = json.loads((traced.folder / "run" / f"{part}.ready.json").read_text())
        port = ready.get("admin", ready["http"])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as reply:
            lines = [line for line in reply.read().decode().splitlines() if not line.startswith("#")]
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}

    eventually(
        lambda: metrics("activities")['campanile_apns_results_total{reason="",status="200"}'] >= 2, "pushes are counted")
    found = metrics("gateway")
    assert found['campanile_trace_spans_total{result="exported"}'] >= 2
    assert found['campanile_trace_spans_total{result="dropped"}'] == 0
    assert found['campanile_gateway_backend_serving{backend="notifications"}'] == 1
    assert found['campanile_gateway_backend_breaker{backend="notifications"}'] == 0
    assert 0 < found["campanile_data_free_bytes"] <= found["campanile_data_size_bytes"]
    # A user is not an administrator.
    assert traced.run("call", "ListApiKeys", "{}", key=phone.key).returncode != 0
    assert metrics("gateway")['campanile_gateway_refused_calls_total{reason="SCOPE_MISSING"}'] == 1


def test_drain_exports_the_last_spans(start, receiver):
    """A drain exports pending spans. A suite whose receiver is unreachable logs this, and no call waits for it."""
    suite = start("ending", settings={"CAMPANILE_OTLP_ENDPOINT": receiver.url, "CAMPANILE_TRACE_RATIO": "1"}).wait_ready()
    key = suite.key("user/ending")
    made = context()
    suite.call("GetUnreadCounts", {}, key, "-H", header(made))
    assert suite.stop() == 0
    assert len(receiver.of(made[0])) == 2
    away = start("away", settings={"CAMPANILE_OTLP_ENDPOINT": "http://127.0.0.1:9", "CAMPANILE_TRACE_RATIO": "1"}).wait_ready()
    away.call("GetUnreadCounts", {}, away.key("user/away"))
    eventually(lambda: "traces cannot be exported" in away.text(), "the failure is logged")
    assert away.stop() == 0

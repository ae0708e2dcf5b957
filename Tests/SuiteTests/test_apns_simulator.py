"""The simulated APNs with third-party clients: aioapns, h2 and curl."""

import asyncio
import json
import os
import ssl
import stat
import subprocess
import time
import uuid

import aioapns
import h2.errors
import h2.events
import pytest
from apns import BUNDLE, H2, LIVE, Key, Simulator, aioapns_led_to, fields, update
from campanile import eventually

TOKEN = "ab" * 32
# RFC 9113 section 6.
HEADERS, GOAWAY, END_STREAM = 1, 7, 1


@pytest.fixture(scope="module")
def key():
    return Key()


@pytest.fixture(scope="module")
def simulator(tmp_path_factory, key):
    running = Simulator(tmp_path_factory.mktemp("simulator"), keys=[key])
    yield running
    assert running.stop() == 0


@pytest.fixture(autouse=True)
def forgotten(request):
    if "simulator" in request.fixturenames:
        request.getfixturevalue("simulator").control("POST", "/reset")


@pytest.fixture
def link(simulator):
    link = H2(simulator)
    yield link
    link.close()


def aio_send(simulator, key, requests):
    """Pushes with unmodified aioapns and returns its results."""
    async def run():
        client = aioapns.APNs(
            key=key.private_pem, key_id=key.key_id, team_id=key.team_id, topic=LIVE, ssl_context=simulator.context(),
            max_connection_attempts=3)
        try:
            return await asyncio.gather(*(client.send_notification(request) for request in requests))
        finally:
            client.pool.close()

    with aioapns_led_to(simulator.port):
        return asyncio.run(run())


def request(state, token=TOKEN, timestamp=None, **members):
    return aioapns.NotificationRequest(
        device_token=token, message=json.loads(update(state, timestamp)), push_type=aioapns.PushType.LIVEACTIVITY,
        priority=5, **members)


# --- aioapns


def test_aioapns_pushes_and_the_state_is_displayed(simulator, key):
    requests = [request({"n": n}, token=f"{n:064x}") for n in range(200)]
    results = aio_send(simulator, key, requests)
    assert all(result.is_successful for result in results)
    screens = simulator.screens()
    assert {int(token, 16): screen["contentState"]["n"] for token, screen in screens.items()} == {n: n for n in range(200)}


def test_aioapns_reads_reasons_and_timestamps(simulator, key):
    simulator.control("POST", "/tokens", {"token": TOKEN, "bundleId": BUNDLE, "kind": "activity"})
    simulator.control("POST", f"/tokens/{TOKEN}/reject", {"reason": "Unregistered", "timestampMs": 1_700_000_000_123})
    (gone, large) = aio_send(simulator, key, [request({}), request({"x": "y" * 5000}, token="cd")])
    assert (gone.status, gone.description, gone.timestamp) == ("410", "Unregistered", 1_700_000_000_123)
    assert (large.status, large.description) == ("413", "PayloadTooLarge")


def test_aioapns_with_another_key_is_refused(simulator):
    (result,) = aio_send(simulator, Key(), [request({})])
    assert (result.status, result.description) == ("403", "InvalidProviderToken")


# --- h2: every rule that a request can break


@pytest.mark.parametrize("changes,status,reason", [
    ({}, 200, None),
    ({"_path": "/3/nothing/ab"}, 404, "BadPath"),
    ({"_method": "GET"}, 405, "MethodNotAllowed"),
    ({"_path": "/3/device/"}, 400, "MissingDeviceToken"),
    ({"_path": "/3/device/xyz"}, 400, "BadDeviceToken"),
    ({"authorization": None}, 403, "MissingProviderToken"),
    ({"authorization": "bearer nonsense"}, 403, "InvalidProviderToken"),
    ({"apns_id": "not-a-uuid"}, 400, "BadMessageId"),
    ({"apns_expiration": "soon"}, 400, "BadExpirationDate"),
    ({"apns_priority": "11"}, 400, "BadPriority"),
    ({"apns_collapse_id": "c" * 65}, 400, "BadCollapseId"),
    ({"apns_topic": None}, 400, "MissingTopic"),
    ({"apns_topic": BUNDLE}, 400, "BadTopic"),
    ({"apns_push_type": "resume"}, 400, "InvalidPushType"),
])
def test_broken_rules_are_refused_with_their_reason(link, key, changes, status, reason):
    answer = link.ask(fields(key, **changes), update({}))
    assert answer[0] == status
    assert answer[2] == ({"reason": reason} if reason else None)
    uuid.UUID(answer[1]["apns-id"])


def test_repeated_fields_are_refused(link, key):
    answer = link.ask(fields(key) + [("apns-topic", LIVE)], update({}))
    assert (answer[0], answer[2]) == (400, {"reason": "DuplicateHeaders"})


def test_age_of_provider_tokens_is_checked(simulator, key):
    for age, reason in ((3500, None), (3700, "ExpiredProviderToken"), (-600, "InvalidProviderToken")):
        link = H2(simulator)
        answer = link.ask(fields(key, authorization=key.authorization(time.time() - age)), update({}))
        assert (answer[2] or {}).get("reason") == reason
        link.close()


def test_new_and_unrelated_provider_tokens_are_refused(simulator, link, key):
    assert link.ask(fields(key, authorization=key.authorization(time.time() - 1000)), update({}))[0] == 200
    answer = link.ask(fields(key), update({}))
    assert (answer[0], answer[2]) == (429, {"reason": "TooManyProviderTokenUpdates"})
    other = Key("OTHERKEY12")
    simulator.control("POST", "/keys", other.public)
    assert link.ask(fields(other), update({}))[2] == {"reason": "UnrelatedKeyIdInToken"}
    simulator.control("DELETE", "/keys/OTHERKEY12")


def test_empty_and_large_payloads_are_refused(link, key):
    assert link.ask(fields(key))[2] == {"reason": "PayloadEmpty"}
    envelope = len(update({"x": ""}))
    assert link.ask(fields(key), update({"x": "y" * (4096 - envelope)}))[0] == 200
    assert link.ask(fields(key), update({"x": "y" * (4097 - envelope)}))[2] == {"reason": "PayloadTooLarge"}


def test_apns_id_is_returned(link, key):
    given = str(uuid.uuid4())
    assert link.ask(fields(key, apns_id=given), update({}))[1]["apns-id"] == given


def test_clients_without_alpn_are_served(simulator, key):
    link = H2(simulator, alpn=False)
    assert link.ask(fields(key), update({}))[0] == 200
    link.close()


def test_content_state_is_verbatim_and_never_goes_back(simulator, link, key):
    for state, timestamp in (({"n": 1, "è": [1.5, None]}, 100), ({"n": 0}, 99)):
        assert link.ask(fields(key), update(state, timestamp))[0] == 200
    screen = simulator.screen(TOKEN)
    assert screen["contentState"] == {"n": 1, "è": [1.5, None]} and screen["discards"] == {"OLD_TIMESTAMP": 1}
    link.ask(fields(key), update({"n": 2}, 101, event="end"))
    link.ask(fields(key), update({"n": 3}, 102))
    screen = simulator.screen(TOKEN)
    assert screen["isEnded"] and screen["contentState"] == {"n": 2} and screen["discards"]["AFTER_END"] == 1


# --- faults


def test_scripted_responses_are_sent(simulator, link, key):
    simulator.fault("answer", reason="TooManyRequests", retryAfterSeconds=7, count=1)
    simulator.fault("answer", reason="ServiceUnavailable", count=2)
    answer = link.ask(fields(key), update({}))
    assert (answer[0], answer[1]["retry-after"], answer[2]) == (429, "7", {"reason": "TooManyRequests"})
    assert [link.ask(fields(key), update({}))[0] for _ in range(3)] == [503, 503, 200]


def test_goaway_names_the_last_stream(simulator, link, key):
    simulator.fault("goaway", count=1, match={"pathPrefix": "/3/device/aa"})
    simulator.fault("delay", minMs=300, maxMs=300, match={"pathPrefix": "/3/device/bb"})
    first = link.open(fields(key, token="bb"), update({}))
    last = link.open(fields(key, token="aa"), update({}))
    lost = link.open(fields(key, token="cc"), update({}))
    frames = list(link.frames())
    (told,) = [payload for kind, _, _, payload in frames if kind == GOAWAY]
    ended = {stream for kind, flags, stream, _ in frames if kind == HEADERS and flags & END_STREAM}
    assert int.from_bytes(told[:4], "big") == last and int.from_bytes(told[4:8], "big") == h2.errors.ErrorCodes.NO_ERROR
    # The earlier stream still gets its response. The later one gets none and was not processed.
    assert ended == {first, last} and lost not in ended
    assert set(simulator.screens()) == {"aa", "bb"}


@pytest.mark.parametrize("processed,code", [(False, "REFUSED_STREAM"), (True, "INTERNAL_ERROR")])
def test_reset_of_a_stream_keeps_the_connection(simulator, link, key, processed, code):
    simulator.fault("reset", processed=processed, count=1)
    event = link.ask(fields(key), update({"n": 1}))
    assert isinstance(event, h2.events.StreamReset) and event.error_code == h2.errors.ErrorCodes[code]
    assert (TOKEN in simulator.screens()) == processed
    # The connection stays open.
    assert link.ask(fields(key), update({"n": 2}))[0] == 200


def test_connection_closes_in_mid_stream(simulator, link, key):
    simulator.fault("close", processed=True, count=1)
    assert link.ask(fields(key), update({"n": 1})) is None
    assert simulator.screen(TOKEN)["contentState"] == {"n": 1}


def test_stalled_stream_does_not_block_others(simulator, link, key):
    simulator.fault("stall", count=1)
    link.open(fields(key), update({}))
    assert link.ask(fields(key), update({}))[0] == 200
    assert simulator.statistics()["stalls"] == 1


def test_connections_end_on_demand(simulator, link, key):
    assert link.ask(fields(key), update({}))[0] == 200
    simulator.control("POST", "/connections/goaway")
    seen = []
    while True:
        data, events = link.events()
        seen += [type(event).__name__ for event in events]
        if not data:
            break
    assert "ConnectionTerminated" in seen


@pytest.mark.parametrize("fault", ["refuse", "untrusted"])
def test_tls_failures_are_simulated_and_counted(simulator, key, fault):
    simulator.control("PATCH", "/settings", {"tlsFault": fault})
    with pytest.raises((ssl.SSLError, ConnectionError)):
        H2(simulator)
    eventually(lambda: simulator.statistics()["tlsFailures"] >= 1, "the failure is counted")
    simulator.control("PATCH", "/settings", {"tlsFault": "none"})
    link = H2(simulator)
    assert link.ask(fields(key), update({}))[0] == 200
    link.close()


# --- channels


def test_channel_is_created_used_and_deleted(simulator, link, key):
    path = f"/1/apps/{BUNDLE}/channels"
    plain = [(name, value) for name, value in fields(key, _path=path) if not name.startswith("apns-")]
    status, headers, _ = link.ask(plain, json.dumps({"message-storage-policy": 1, "push-type": "LiveActivity"}))
    channel = headers["apns-channel-id"]
    assert status == 201
    get = [(name, "GET" if name == ":method" else value) for name, value in plain]
    assert link.ask(get + [("apns-channel-id", channel)])[2] == {"message-storage-policy": 1, "push-type": "LiveActivity"}
    broadcast = fields(key, _path=f"/4/broadcasts/apps/{BUNDLE}", apns_topic=None, apns_channel_id=channel,
                       apns_expiration=str(int(time.time()) + 60))
    given = str(uuid.uuid4())
    answer = link.ask(broadcast + [("apns-request-id", given)], update({"goals": 2}))
    assert answer[0] == 200 and answer[1]["apns-request-id"] == given and "apns-id" not in answer[1]
    assert simulator.screens()[f"channel/{channel}"]["contentState"] == {"goals": 2}
    delete = [(name, "DELETE" if name == ":method" else value) for name, value in plain]
    assert link.ask(delete + [("apns-channel-id", channel)])[0] == 204
    assert link.ask(broadcast, update({}))[2] == {"reason": "ChannelNotRegistered"}


# --- devices


def start(**members):
    return json.dumps({"aps": {"event": "start", "timestamp": int(time.time()), "content-state": {}, "attributes-type": "A",
                               "attributes": {}, "alert": {"title": "t"}, **members}})


def alert_fields(key, **more):
    return fields(key, apns_push_type="alert", apns_topic=BUNDLE, apns_priority="10", **more)


@pytest.mark.parametrize("members, source", [({"input-push-token": 1}, "token"), ({}, "nothing")])
def test_start_selects_the_source_of_updates(simulator, link, key, members, source):
    """Starting and updating Live Activities with ActivityKit push notifications: `input-push-token`."""
    assert link.ask(fields(key), start(**members))[0] == 200
    assert simulator.screen(TOKEN)["updateSource"] == source
    body = {"token": "cd" * 32, "bundleId": BUNDLE, "kind": "activity", "startToken": TOKEN}
    if source == "token":
        assert simulator.control("POST", "/tokens", body)["kind"] == "activity"
    else:
        # Nothing can update this activity, because its device gets no token.
        with pytest.raises(Exception, match="409|NO_UPDATE_TOKEN"):
            simulator.control("POST", "/tokens", body)


def test_start_with_an_unknown_channel_is_not_displayed(simulator, link, key):
    assert link.ask(fields(key), start(**{"input-push-channel": "AAAA"}))[0] == 200
    screen = simulator.screen(TOKEN)
    assert screen["starts"] == 0 and screen["discards"] == {"NO_CHANNEL": 1}


def test_budget_withholds_urgent_updates(simulator, link, key):
    """Apple documents no numbers, so that budgets are off unless they are set."""
    simulator.control("PATCH", "/settings", {"updatesPerHour": 2})
    try:
        for number in range(3):
            assert link.ask(fields(key, apns_priority="10"), update({"n": number}, int(time.time()) + number))[0] == 200
        screen = simulator.screen(TOKEN)
        assert screen["contentState"] == {"n": 1} and screen["discards"] == {"WITHHELD": 1}
    finally:
        simulator.control("PATCH", "/settings", {"updatesPerHour": 0})


@pytest.mark.parametrize("expiration, displaced", [("0", 0), ("later", 1)])
def test_one_notification_per_bundle_id_is_stored(simulator, link, key, expiration, displaced):
    """Sending notification requests to APNs: "APNs stores only one notification per bundle ID"."""
    later = str(int(time.time()) + 60)
    for token, kind in ((TOKEN, "device"), ("cd" * 32, "activity")):
        simulator.control("POST", "/tokens", {"token": token, "bundleId": BUNDLE, "kind": kind, "device": "phone"})
    simulator.control("POST", "/devices/phone/disconnect")
    assert link.ask(alert_fields(key, apns_expiration=later), json.dumps({"aps": {"alert": "hello"}}))[0] == 200
    other = fields(key, _path="/3/device/" + "cd" * 32, apns_expiration=later if expiration == "later" else expiration)
    assert link.ask(other, update({"n": 1}))[0] == 200
    assert TOKEN not in simulator.screens()
    assert simulator.control("POST", "/devices/phone/connect")["delivered"] == 1
    assert simulator.statistics()["displaced"] == displaced
    assert (TOKEN in simulator.screens()) == (not displaced)


@pytest.mark.parametrize("kind", ["widgets", "controls"])
def test_widgets_and_controls_reload(simulator, link, key, kind):
    """Updating widgets with WidgetKit push notifications; Updating controls locally and remotely."""
    to = fields(key, apns_push_type=kind, apns_topic=f"{BUNDLE}.push-type.{kind}", apns_priority="10")
    assert link.ask(to, json.dumps({"aps": {"content-changed": True}}))[0] == 200
    assert simulator.screen(TOKEN)["reloads"] == 1


# --- the process


def test_curl_is_served(simulator, key):
    arguments = ["curl", "-sS", "--http2", "--cacert", simulator.trust, "-w", " %{http_code} %{http_version}", "-d", update({}),
                 f"https://localhost:{simulator.port}/3/device/abcd"]
    for name, value in fields(key):
        if not name.startswith(":"):
            arguments += ["-H", f"{name}: {value}"]
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=True)
    assert result.stdout == " 200 2"


def test_http1_is_refused(simulator):
    result = subprocess.run(
        ["curl", "-sS", "--http1.1", "--cacert", simulator.trust, f"https://localhost:{simulator.port}/"],
        capture_output=True, text=True, timeout=30)
    assert result.returncode != 0


def test_generated_certificate_is_private_and_kept(tmp_path, key):
    first = Simulator(tmp_path, keys=[key])
    trust = open(first.trust).read()
    mode = stat.S_IMODE(os.stat(tmp_path / "apns-simulator" / "key.pem").st_mode)
    first.stop()
    second = Simulator(tmp_path)
    assert open(second.trust).read() == trust and mode == 0o600
    link = H2(second)
    assert link.ask(fields(key), update({}))[0] == 200
    link.close()
    second.stop()


def test_killed_simulator_restores_its_screens(tmp_path, key):
    running = Simulator(tmp_path, keys=[key])
    link = H2(running)
    for number in range(20):
        assert link.ask(fields(key, token=f"{number:04x}"), update({"n": number}, 100))[0] == 200
    before = running.screens()
    running.kill()
    link.close()
    running.start()
    assert running.screens() == before and len(before) == 20
    running.stop()


def test_drain_completes_open_requests(tmp_path, key):
    running = Simulator(tmp_path, keys=[key])
    running.fault("delay", minMs=500, maxMs=500)
    link = H2(running)
    stream = link.open(fields(key), update({}))
    eventually(lambda: running.statistics()["requests"] == 1, "the request has arrived")
    running.process.terminate()
    assert (HEADERS, stream) in {(kind, of) for kind, _, of, _ in link.frames()}
    assert running.process.wait(20) == 0
    assert running.start().screen(TOKEN)["updates"] == 1
    running.stop()
    link.close()


def test_control_beyond_loopback_needs_a_token(tmp_path):
    from campanile import BIN, environment
    result = subprocess.run(
        [str(BIN / "campanile-apns-simulator"), "--host", "0.0.0.0", "--port", "0", "--data-dir", str(tmp_path)],
        capture_output=True, text=True, timeout=30, env=environment())
    assert result.returncode == 78 and "refusing to listen on 0.0.0.0 without a credential" in result.stderr


def test_error_names_the_invalid_key(tmp_path):
    from campanile import BIN, environment
    (tmp_path / "bad.json").write_text('{"teamId":"T","keyId":"K","publicKeyPem":"x"}')
    result = subprocess.run(
        [str(BIN / "campanile-apns-simulator"), "--port", "0", "--data-dir", str(tmp_path), "--keys-dir", str(tmp_path)],
        capture_output=True, text=True, timeout=30, env=environment())
    assert result.returncode == 1 and "key K" in result.stderr

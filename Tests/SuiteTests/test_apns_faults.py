"""Faults between the service and APNs lose nothing: every activity's last state arrives, and none goes backwards."""

import json
import math
import os
import time

import pytest
from activities import Activities, Load, ask, reason
from apns import BUNDLE, Key, Simulator
from campanile import eventually

# Number of times the service is killed under load; use more on an otherwise idle machine.
KILLS = int(os.environ.get("CAMPANILE_TEST_KILLS", "5"))


@pytest.fixture
def key():
    return Key()


@pytest.fixture
def simulator(tmp_path, key):
    running = Simulator(tmp_path / "simulator", keys=[key])
    yield running
    running.stop()


@pytest.fixture
def service(tmp_path, simulator, key):
    running = Activities(tmp_path / "service", simulator, [(key, [BUNDLE])])
    yield running
    running.stop()


def under_load(service, simulator, seconds=3, **options):
    """Updates for a while, checks the outcome and returns the load."""
    load = Load(service, BUNDLE, **options)
    with load:
        time.sleep(seconds)
    load.check(simulator)
    assert sum(load.acknowledged.values()) > len(load.ids)
    return load


def test_all_states_arrive_without_faults(service, simulator):
    load = under_load(service, simulator, seconds=2)
    assert not load.refusals
    assert set(simulator.statistics()["answers"]) == {"200"}


def test_states_survive_refusals_of_a_fifth_of_all_pushes(service, simulator):
    simulator.fault("answer", reason="ServiceUnavailable", probability=0.2)
    under_load(service, simulator)
    assert simulator.statistics()["answers"]["503 ServiceUnavailable"] > 10


def test_states_survive_goaway_every_hundred_pushes(service, simulator):
    simulator.fault("goaway", every=100)
    under_load(service, simulator)
    assert simulator.statistics()["goAways"] >= 2


@pytest.mark.parametrize("processed", [False, True])
def test_states_survive_stream_resets(service, simulator, processed):
    simulator.fault("reset", every=7, processed=processed)
    under_load(service, simulator)
    assert simulator.statistics()["resets"] >= 5


@pytest.mark.parametrize("processed", [False, True])
def test_states_survive_connections_closed_in_mid_stream(service, simulator, processed):
    simulator.fault("close", every=50, processed=processed)
    under_load(service, simulator)
    assert simulator.statistics()["closes"] >= 3


def test_states_survive_too_many_requests(service, simulator):
    simulator.fault("answer", reason="TooManyRequests", retryAfterSeconds=1, count=20)
    under_load(service, simulator)
    assert simulator.statistics()["answers"]["429 TooManyRequests"] == 20


def test_states_survive_tls_failures(service, simulator):
    load = Load(service, BUNDLE)
    with load:
        time.sleep(0.5)
        for fault in ("refuse", "untrusted"):
            simulator.control("PATCH", "/settings", {"tlsFault": fault})
            simulator.control("POST", "/connections/close")
            time.sleep(1)
        simulator.control("PATCH", "/settings", {"tlsFault": "none"})
        time.sleep(0.5)
    load.check(simulator)
    assert simulator.statistics()["tlsFailures"] >= 2


def test_states_survive_kills_of_the_simulator(service, simulator):
    load = Load(service, BUNDLE)
    with load:
        for _ in range(3):
            time.sleep(0.7)
            simulator.kill()
            time.sleep(0.5)
            simulator.start()
    load.check(simulator)


def test_wrong_key_of_one_app_does_not_affect_another(tmp_path, simulator, key):
    unknown = Key("UNKNOWN123")
    service = Activities(tmp_path / "service", simulator, [(key, [BUNDLE]), (unknown, ["com.example.rooms"])])
    try:
        good = Load(service, BUNDLE, prefix="aa")
        bad = Load(service, "com.example.rooms", prefix="bb", activities=10, threads=1)
        with good, bad:
            time.sleep(3)
        good.check(simulator)
        answers = simulator.statistics()["answers"]
        assert answers["403 InvalidProviderToken"] >= 1
        assert not any(token.startswith("bb") for token in simulator.screens())
    finally:
        service.stop()


def test_states_survive_a_service_killed_under_load(service, simulator):
    load = Load(service, BUNDLE)
    with load:
        for number in range(KILLS):
            time.sleep(0.3 + 0.1 * (number % 5))
            service.kill()
            service.start()
        time.sleep(0.5)
    load.check(simulator)


def test_killed_service_does_not_renew_its_provider_token_too_often(service, simulator):
    simulator.control("PATCH", "/settings", {"tokenRenewalScope": "key"})
    load = Load(service, BUNDLE)
    with load:
        for _ in range(3):
            time.sleep(0.5)
            service.kill()
            service.start()
        time.sleep(0.5)
    load.check(simulator)
    assert "429 TooManyProviderTokenUpdates" not in simulator.statistics()["answers"]


def test_full_disk_refuses_updates_and_loses_none(tmp_path, simulator, key):
    """A file size limit simulates a full disk: updates that cannot be stored are refused; stored ones are pushed."""
    service = Activities(tmp_path / "service", simulator, [(key, [BUNDLE])])
    load = Load(service, BUNDLE)
    pid = str(service.ready["pid"])
    try:
        with load:
            time.sleep(1)
            # Below the current file sizes, because the write-ahead log is reused from its start and need not grow.
            os.system(f"prlimit --pid {pid} --fsize=65536:unlimited")
            eventually(lambda: load.refusals, "writes are refused")
            time.sleep(1)
            os.system(f"prlimit --pid {pid} --fsize=unlimited")
            before = dict(load.acknowledged)
            eventually(lambda: all(load.acknowledged[token] > before[token] for token in load.ids), "writes succeed again")
        load.check(simulator)
    finally:
        service.stop()


def test_burst_ends_on_the_last_states(tmp_path, simulator, key):
    """10,000 updates to 100 activities within a second cause at most 300 pushes at the default spacing.

    Each further second on a busy machine permits one more push for each activity.
    """
    service = Activities(tmp_path / "service", simulator, [(key, [BUNDLE])], spacing_ms=1000)
    try:
        load = Load(service, BUNDLE, activities=100, threads=1)
        begun = time.monotonic()
        with service.link() as link:
            for number in range(1, 101):
                results = ask(link, "ActivitiesService/BatchUpdateActivities", {"requests": [
                    {"activityId": id, "contentStateJson": f'{{"n":{number}}}'} for id in load.ids.values()]})
                assert all("receipt" in result for result in results["results"])
        seconds = math.ceil(time.monotonic() - begun)
        load.acknowledged = {token: 100 for token in load.ids}
        load.check(simulator)
        assert simulator.statistics()["answers"] == {"200": simulator.statistics()["requests"]}
        assert simulator.statistics()["requests"] <= 100 * (2 + seconds)
    finally:
        service.stop()


@pytest.mark.parametrize("policy", ["MESSAGE_STORAGE_POLICY_NONE", "MESSAGE_STORAGE_POLICY_MOST_RECENT"])
def test_channels_of_both_policies_take_broadcasts_and_updates(service, simulator, policy):
    with service.link() as link:
        def operate(method, params):
            answer = link.call(f"campanile.activities.v1.{method}", params, metadata={
                "campanile-principal": "user/operator", "campanile-scopes": "admin"}, timeoutMs=30_000)
            assert "error" not in answer, answer
            return answer["result"]
        scope = {"app": BUNDLE, "environment": "sandbox"}
        create = {**scope, "storagePolicy": policy, "requestId": "once"}
        channel = operate("BroadcastChannelsService/CreateBroadcastChannel", create)["channel"]
        assert operate("BroadcastChannelsService/CreateBroadcastChannel", create)["channel"] == channel
        assert operate("BroadcastChannelsService/ListBroadcastChannels", scope)["channels"] == [channel]
        assert operate("BroadcastChannelsService/GetBroadcastChannel", {**scope, "channelId": channel["id"]})["channel"] == channel

        def shown(state):
            screen = f"channel/{channel['id']}"
            eventually(lambda: simulator.screens().get(screen, {}).get("contentState") == state, "the state is displayed")
        activity = operate("ActivitiesService/StartActivity", {
            **scope, "origin": "ACTIVITY_ORIGIN_LOCAL", "contentStateJson": '{"n":0}', "channelId": channel["id"]})["activity"]
        operate("ActivitiesService/UpdateActivity", {"activityId": activity["id"], "contentStateJson": '{"n":1}'})
        shown({"n": 1})
        payload = {"aps": {"timestamp": int(time.time()) + 60, "event": "update", "content-state": {"n": 2}}}
        sent = operate("BroadcastChannelsService/SendBroadcast", {
            **scope, "channelId": channel["id"], "payloadJson": json.dumps(payload)})["apnsId"]
        shown({"n": 2})
        # The simulator got the id of the push as apns-request-id.
        assert sent in [push["id"] for push in simulator.control("GET", "/pushes?after=0")["pushes"]]

        def accepted():
            push = operate("PushDeliveryService/GetPush", {"apnsId": sent})["push"]
            return push["status"] == "PUSH_STATUS_ACCEPTED" and push
        push = eventually(accepted, "the push is accepted")
        assert push["httpStatus"] == 200 and push["pushType"] == "APNS_PUSH_TYPE_LIVE_ACTIVITY" and "latency" in push
        operate("BroadcastChannelsService/DeleteBroadcastChannel", {**scope, "channelId": channel["id"]})
        missing = link.call("campanile.activities.v1.BroadcastChannelsService/GetBroadcastChannel", {**scope, "channelId": channel["id"]},
                            metadata={"campanile-principal": "user/operator", "campanile-scopes": "admin"})
        assert reason(missing) == "CHANNEL_NOT_FOUND"


def test_rejected_token_is_retired_unless_registered_later(service, simulator):
    load = Load(service, BUNDLE, activities=2, threads=1)
    gone, again = sorted(load.ids)
    with service.link() as link:
        for token in load.ids:
            load.update(link, token)
        load.check(simulator)
        now = int(time.time() * 1000)
        simulator.control("POST", f"/tokens/{gone}/reject", {"timestampMs": now})
        # The token became invalid before it was registered here, so the rejection is about its earlier use.
        simulator.control("POST", f"/tokens/{again}/reject", {"timestampMs": now - 3_600_000})
        for token in load.ids:
            load.update(link, token)
        eventually(lambda: simulator.statistics()["answers"].get("410 Unregistered", 0) >= 2, "both are refused")

        def retired():
            tokens = ask(link, "PushTokensService/ListPushTokens", {"includeRetired": True})["tokens"]
            return {token["activityId"]: token.get("retireReason") for token in tokens}

        eventually(lambda: retired()[load.ids[gone]], "the token is retired")
        assert retired()[load.ids[again]] is None

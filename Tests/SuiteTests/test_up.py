"""`campanile up` starts, supervises and stops the suite."""

import json
import os
import random
import signal
import socket
import stat
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from apns import Simulator
from campanile import BIN, CLI, alive, environment, eventually


def test_endpoints_file_lists_every_service(suite):
    path = suite.folder / "endpoints.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(suite.endpoints) == {"gateway", "notifications", "activities", "sync", "attendance", "internalToken", "apns"}
    assert suite.endpoints["gateway"]["adminKey"].startswith("cmp_")
    for name in ("gateway", "notifications", "activities"):
        for kind in ("rpc", "http"):
            with socket.create_connection(("127.0.0.1", suite.endpoints[name][kind]), 5):
                pass


def test_endpoints_include_the_signing_key(suite):
    apns = suite.endpoints["apns"]
    assert set(apns) == {"teamId", "keyId", "publicKeyPem", "topic", "simulator"}
    assert apns["publicKeyPem"].startswith("-----BEGIN PUBLIC KEY-----")
    private = suite.folder / "apns" / f"AuthKey_{apns['keyId']}.p8"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


def test_executables_accept_several_endpoints():
    result = subprocess.run(
        [str(BIN / "campanile-activities"), "--apns-endpoint", "sandbox=h:1", "--apns-endpoint", "mine=h:2", "--print-config"],
        capture_output=True, text=True, env=environment(), timeout=30, check=True)
    assert "sandbox=h:1,mine=h:2" in result.stdout


def live_activity(suite, token, environment="development"):
    """Starts an activity, registers its token and updates it through the gateway, as an app and its server do."""
    key, app = suite.key("user/live"), suite.endpoints["apns"]["topic"]
    activity = suite.call("StartActivity", {
        "app": app, "environment": environment, "origin": "ACTIVITY_ORIGIN_LOCAL", "contentStateJson": '{"phase":"waiting"}',
        "attributesType": "Room", "attributesJson": '{"roomId":"r"}'}, key)["activity"]
    suite.call("RegisterPushToken", {
        "kind": "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", "token": token, "app": app, "environment": environment,
        "installationId": "phone", "activityId": activity["id"]}, key)
    suite.call("UpdateActivity", {"activityId": activity["id"], "contentStateJson": '{"phase":"connected"}'}, key)


def test_activity_is_displayed_by_the_simulated_device(suite):
    live_activity(suite, "ab" * 32)
    port = suite.endpoints["apns"]["simulator"]["control"]
    # The control API requires the suite's internal token.
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/statistics", timeout=10)
    assert refused.value.code == 401
    eventually(lambda: suite.screen("ab" * 32).get("contentState") == {"phase": "connected"}, "the state is displayed")


def test_another_apns_replaces_the_simulator(start, tmp_path):
    other = Simulator(tmp_path / "other")
    try:
        suite = start("data", "--apns-endpoint", f"sandbox=localhost:{other.port}", "--apns-trust", other.trust).wait_ready()
        assert "apns-simulator" not in suite.children() and "simulator" not in suite.endpoints["apns"]
        other.control("POST", "/keys", suite.endpoints["apns"])
        for token, environment in (("ab" * 32, "sandbox"), ("cd" * 32, "production")):
            live_activity(suite, token, environment)
            eventually(lambda: other.screens().get(token, {}).get("contentState") == {"phase": "connected"}, environment)
    finally:
        other.stop()


@pytest.mark.parametrize("arguments,words", [
    (["--apns-endpoint", "sandbox"], "must be ENVIRONMENT=HOST:PORT"),
    (["--apns-trust", "/dev/null"], "needs --apns-endpoint"),
    (["--apns-endpoint", "sandbox=h:1", "--apns-trust", "/nonexistent"], "cannot read /nonexistent"),
])
def test_wrong_apns_options_are_refused(tmp_path, arguments, words):
    result = subprocess.run(
        [CLI, "up", "--data-dir", str(tmp_path / "data"), "--port-base", "0", *arguments], capture_output=True, text=True,
        env=environment(), timeout=60)
    assert result.returncode == 64 and words in result.stderr


def test_secrets_are_private_and_not_in_the_log(suite):
    for name in ("internal-token", "admin-key", "demo.json"):
        assert stat.S_IMODE((suite.folder / name).stat().st_mode) == 0o600
    log = suite.text()
    assert suite.endpoints["gateway"]["adminKey"] not in log
    assert suite.endpoints["internalToken"] not in log


def test_secrets_are_not_on_a_command_line(suite):
    for pid in suite.children().values():
        words = open(f"/proc/{pid}/cmdline", encoding="utf-8").read()
        assert suite.endpoints["gateway"]["adminKey"] not in words
        assert suite.endpoints["internalToken"] not in words


def test_second_up_is_refused(suite):
    second = subprocess.run(
        [CLI, "up", "--data-dir", str(suite.folder), "--port-base", "0"], capture_output=True, text=True,
        env=environment(), timeout=30)
    assert second.returncode == 64
    assert f"already running on {suite.folder} (process {suite.process.pid})" in second.stderr
    assert (suite.folder / "endpoints.json").exists()
    suite.run("health", check=0)


def test_log_lines_name_their_process(suite):
    lines = [line for line in suite.text().splitlines() if " | " in line]
    assert {line.split(" | ")[0].strip() for line in lines} >= {"gateway", "notifications"}
    assert "\x1b" not in suite.text()


def test_dead_process_is_restarted_on_its_port(start):
    suite = start().wait_ready()
    key = suite.key("user/restart")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "kept"}}, key)["bucket"]
    for name in ("notifications", "activities", "apns-simulator", "gateway"):
        before = suite.children()
        os.kill(before[name], signal.SIGKILL)
        eventually(lambda: suite.children().get(name, before[name]) != before[name], f"{name} is restarted")
        for other in set(before) - {name}:
            assert suite.children()[other] == before[other] and alive(before[other])

        def answers():
            result = suite.run("call", "GetBucket", json.dumps({"bucketId": bucket["id"]}), key=key)
            return result.returncode == 0

        eventually(answers, f"a response after the death of {name}")
    assert "starting it again" in suite.text()
    assert json.loads((suite.folder / "endpoints.json").read_text()) == suite.endpoints


def test_sigterm_ends_everything_and_removes_the_endpoints(start):
    suite = start().wait_ready()
    children = suite.children()
    assert set(children) == {*suite.endpoints} - {"internalToken", "apns"} | {"apns-simulator"}
    assert all(alive(pid) for pid in children.values())
    began = time.monotonic()
    assert suite.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < 16
    assert not any(alive(pid) for pid in children.values())
    assert not (suite.folder / "endpoints.json").exists()
    again = start().wait_ready()
    assert again.endpoints["gateway"]["adminKey"] == suite.endpoints["gateway"]["adminKey"]


def test_open_watch_does_not_delay_shutdown(start):
    suite = start().wait_ready()
    key = suite.key("user/watcher")
    watch = subprocess.Popen(
        [CLI, "watch", "WatchNotifications", "--data-dir", str(suite.folder)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment() | {"CAMPANILE_KEY": key})
    assert "started" in json.loads(watch.stdout.readline())
    assert suite.stop(signal.SIGINT) == 0
    watch.communicate(timeout=30)
    # 14 is UNAVAILABLE, which the gateway sends when it stops.
    assert watch.returncode in (1, 14)


def test_children_do_not_outlive_a_killed_up(start):
    suite = start().wait_ready()
    children = suite.children()
    suite.stop(signal.SIGKILL)
    for name, pid in children.items():
        eventually(lambda: not alive(pid), f"{name} has ended")
    # The remains of the killed suite do not disturb the next one.
    start().wait_ready().run("health", check=0)


def test_second_signal_ends_everything_at_once(start):
    suite = start().wait_ready()
    children = suite.children()
    # A frozen process does not drain.
    os.kill(children["gateway"], signal.SIGSTOP)
    suite.process.send_signal(signal.SIGTERM)
    eventually(lambda: "stopping" in suite.text(), "the first signal was handled")
    assert suite.stop(signal.SIGTERM) == 143
    for name, pid in children.items():
        eventually(lambda: not alive(pid), f"{name} has ended")


def test_frozen_process_is_killed_in_the_end(start):
    suite = start().wait_ready()
    children = suite.children()
    os.kill(children["notifications"], signal.SIGSTOP)
    assert suite.stop(signal.SIGTERM) == 0
    assert not any(alive(pid) for pid in children.values())
    assert "killing processes that did not stop: notifications" in suite.text()


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def test_taken_port_fails_the_start_with_a_reason(start, tmp_path):
    # Below the ports that the system hands out, which other tests take meanwhile.
    for base in random.sample(range(12_000, 32_000), 50):
        # The gateway's port is taken; the other ports of the suite are free.
        if not all(is_free(base + offset) for offset in (0, 1, 2, 3, 4, 80, 90, 101, 102, 103, 104, 190)):
            continue
        with socket.create_server(("127.0.0.1", base)):
            result = subprocess.run(
                [CLI, "up", "--data-dir", str(tmp_path / "taken"), "--port-base", str(base)], capture_output=True,
                text=True, env=environment(), timeout=60)
        break
    assert result.returncode == 64
    assert "gateway exited 3 times before it was ready" in result.stderr
    assert not (tmp_path / "taken" / "endpoints.json").exists()


def test_missing_executables_are_named(tmp_path):
    alone = tmp_path / "campanile"
    os.link(os.path.realpath(CLI), alone) if os.stat(CLI).st_dev == tmp_path.stat().st_dev else alone.write_bytes(open(CLI, "rb").read())
    alone.chmod(0o755)
    result = subprocess.run(
        [str(alone), "up", "--data-dir", str(tmp_path / "data")], capture_output=True, text=True, env=environment())
    assert result.returncode == 64
    assert "campanile-notifications does not exist" in result.stderr

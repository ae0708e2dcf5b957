"""The programs of Examples, run against a suite as their readers would."""
import os
import pathlib
import subprocess

from campanile import BIN, PATIENCE_S, environment, eventually


def gateway(suite):
    return f"127.0.0.1:{suite.endpoints['gateway']['rpc']}"


def run(name, *arguments, **variables):
    return subprocess.run(
        [pathlib.Path(BIN) / name, *arguments], env=environment() | variables, text=True, capture_output=True, timeout=PATIENCE_S)


def test_hello_serves_and_calls_its_own_service():
    result = run("hello")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [
        "Hello, Ada!", "3", "2", "1", "INVALID_ARGUMENT (FIELD_INVALID): name: must be given"]


def test_watch_prints_every_change(suite, tmp_path):
    key = suite.key("user/watcher")
    with open(tmp_path / "out", "w") as out:
        watch = subprocess.Popen(["stdbuf", "-oL", pathlib.Path(BIN) / "watch", gateway(suite)], stdout=out, env=environment() | {"CAMPANILE_KEY": key})
    try:
        eventually(lambda: "0 unread" in (tmp_path / "out").read_text(), "the watch's start")
        bucket = suite.call("CreateBucket", {"bucket": {"name": "Home"}}, key)["bucket"]["id"]
        made = suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": "Hello"}}, key)["notification"]["id"]
        suite.call("DeleteNotification", {"notificationId": made}, key)
        eventually(lambda: (tmp_path / "out").read_text().splitlines()[1:] == ["new: Hello", f"deleted: {made}"], "both changes")
    finally:
        watch.kill()
        watch.wait(PATIENCE_S)


def test_live_activity_reaches_the_device(suite):
    result = run("live-activity", gateway(suite), CAMPANILE_KEY=suite.key("user/courier"))
    assert result.returncode == 0, result.stdout + result.stderr
    started, *rest = result.stdout.splitlines()
    assert rest == ["2 stops left", "1 stops left", "0 stops left", "ended"]
    token = started.split()[-1]

    def states():
        return [push["aps"]["content-state"].get("stopsLeft") for _, push in suite.pushed(token)]

    eventually(lambda: states()[-1:] == [0] and suite.pushed(token)[-1][1]["aps"]["event"] == "end", "the end on the device")


def test_missing_keys_are_reported():
    for name in ("watch", "live-activity"):
        result = run(name)
        assert result.returncode == 64 and "CAMPANILE_KEY" in result.stdout, name

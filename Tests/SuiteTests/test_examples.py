"""The programs of Examples, run against a suite as their readers would."""
import json
import os
import pathlib
import subprocess

from campanile import BIN, PATIENCE_S, ROOT, environment, eventually

# The package in Examples, which scripts/test builds.
EXAMPLES = ROOT / "Examples" / ".build" / "debug"


def gateway(suite):
    return f"127.0.0.1:{suite.endpoints['gateway']['rpc']}"


def run(name, *arguments, folder=pathlib.Path(BIN), **variables):
    return subprocess.run(
        [folder / name, *arguments], env=environment() | variables, text=True, capture_output=True, timeout=PATIENCE_S)


def lines(name):
    result = run(name, folder=EXAMPLES)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_hello_serves_and_calls_its_own_service():
    assert lines("hello") == [
        "Hello, Ada!", "3", "2", "1", "INVALID_ARGUMENT (FIELD_INVALID): name: must be given"]


def test_the_tutorial_has_the_code_of_its_result():
    text = (ROOT / "Sources/CampanileRPC/CampanileRPC.docc/BuildingAService.md").read_text()
    code = "\n".join(path.read_text() for path in (ROOT / "Examples/service").iterdir())
    blocks = [block.split("\n", 1)[1].strip() for block in text.split("```")[1::2]]
    assert [block[:20] for block in blocks if block in code] == [
        'syntax = "proto3";\n\n', '{"descriptorSet": "H', "import CampanileBase", "struct Serving: Serv"]


def test_the_service_of_the_tutorial_describes_itself_and_ends_by_a_signal(tmp_path):
    with open(tmp_path / "out", "w") as out:
        service = subprocess.Popen(["stdbuf", "-oL", EXAMPLES / "service", "0"], stdout=out, stderr=out)

    def campanile(*words):
        return run("campanile", *words, "--address", address)

    try:
        eventually(lambda: "listening on" in (tmp_path / "out").read_text(), "the service's start")
        address = (tmp_path / "out").read_text().splitlines()[0].removeprefix("listening on ")
        assert "hello.v1.HelloService/CountDown" in campanile("list").stdout
        assert "// Greet returns a greeting." in campanile("describe", "Greet").stdout
        assert json.loads(campanile("call", "Greet", '{"name":"Ada"}').stdout) == {"greeting": "Hello, Ada!"}
        assert campanile("call", "Greet", "{}").returncode == 3
        assert json.loads(campanile("health").stdout)["statuses"][""] == {"status": "SERVING"}
        service.terminate()
        assert service.wait(PATIENCE_S) == 0
    finally:
        service.kill()
    assert "code=INVALID_ARGUMENT" in (tmp_path / "out").read_text()


def test_people_in_a_chat_hear_one_another():
    assert lines("chat") == [
        "ada hears: ada joined", "ada hears: grace joined", "grace hears: grace joined", "ada hears: grace: Hello, Ada!",
        "grace hears: grace: Hello, Ada!", "ALREADY_EXISTS (NAME_TAKEN): ada is in the room already",
        "ada hears: the call has ended", "grace hears: ada left", "grace hears: the call has ended"]


def test_files_are_transferred_in_parts_with_a_checksum():
    assert lines("file-transfer") == [
        "uploaded 3000000 bytes", "downloaded the same bytes: true",
        "DATA_LOSS (CHECKSUM_DIFFERS): the bytes of short do not have this SHA-256",
        "NOT_FOUND (FILE_NOT_FOUND): there is no file short"]


def test_interceptors_authenticate_and_propagate_deadlines():
    text = lines("interceptor")
    assert text[:2] == ["reserving bell within the caller's two seconds: true", "user/ada ordered bell"]
    assert text[2].startswith("DEADLINE_EXCEEDED") and text[3:] == [
        "UNAUTHENTICATED (KEY_UNKNOWN): the key in x-key is unknown"]


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

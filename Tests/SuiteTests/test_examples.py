"""The programs of Examples, run against a suite as their readers would."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest
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


def test_the_examples_tests_pass():
    tests = EXAMPLES / "campanile-examplesPackageTests.xctest"
    done = subprocess.run([tests, "--testing-library", "swift-testing"], text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and "Test run with 4 tests" in done.stdout + done.stderr, done.stdout + done.stderr


def generate(*arguments):
    """Runs the plugin GenerateCampanile in the package of Examples, in the environment of its build."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = ["bash", "-c", '. scripts/lib/common.sh && swift_run package --package-path Examples "$@"', "-",
               "--allow-writing-to-package-directory", "generate-campanile", *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, text=True, capture_output=True, timeout=900)


def test_code_to_be_committed_is_generated_and_checked():
    committed = {path.name: path.read_text() for path in (ROOT / "Examples/server/Generated").iterdir()}
    # A service with the same contract, whose own code the build generates.
    folder = ROOT / "Examples/service/Generated"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir()
        (folder / "former.swift").touch()
        done = generate("--target", "service")
        assert done.returncode == 0, done.stderr
        assert {path.name: path.read_text() for path in folder.iterdir()} == committed
        assert generate("--target", "service", "--check").returncode == 0
        (folder / "hello.swift").write_text("")
        changed = generate("--target", "service", "--check")
        assert changed.returncode != 0 and changed.stderr.count("hello.swift is not what its protos generate") == 1, changed.stderr
    finally:
        shutil.rmtree(folder, ignore_errors=True)


OPTIONS = "campanile-generator.json"
CHAT = ROOT / "Examples/chat"
ADDED = [OPTIONS, "added.proto", "Generated"]


def remove_added():
    for name in ADDED[:2]:
        (CHAT / name).unlink(missing_ok=True)
    shutil.rmtree(CHAT / ADDED[2], ignore_errors=True)


@pytest.fixture
def add():
    """A function that adds a file to the target `chat` until the test ends."""
    # git names only files that it ignores and does not track: a former run may have left them.
    ignored = subprocess.run(["git", "check-ignore", *ADDED], cwd=CHAT, text=True, capture_output=True).stdout.split()
    assert ignored == ADDED

    def write(name, text):
        assert name in ADDED
        with open(CHAT / name, "x") as file:
            file.write(text)

    remove_added()
    try:
        yield write
    finally:
        remove_added()


def test_every_option_of_a_target_reaches_the_generator(add, tmp_path):
    (tmp_path / "shared.proto").write_text('syntax = "proto3";\npackage shared.v1;\nmessage Money { int64 cents = 1; }\n')
    options = {"visibility": "package", "modules": {"shared.v1": "SharedMessages"}, "descriptorSet": "AddedSet",
               "imports": [os.path.relpath(tmp_path, CHAT)]}
    add(OPTIONS, json.dumps(options))
    add("added.proto", """syntax = "proto3";
package added.v1;
import "shared.proto";
message Order { shared.v1.Money price = 1; }
""")
    done = generate("--target", "chat")
    assert done.returncode == 0, done.stdout + done.stderr
    swift = (CHAT / "Generated/added.swift").read_text()
    assert "package import SharedMessages\n" in swift and "\npackage struct Order: ProtoMessage {" in swift
    assert "package enum AddedSet {" in (CHAT / "Generated/AddedSet.swift").read_text()
    assert not (CHAT / "Generated/shared.swift").exists()


@pytest.mark.parametrize("name, text, message", [
    (OPTIONS, '{"visibility": "public"', ": not valid JSON: Unexpected end of file"),
    (OPTIONS, '["public"]', ": must contain a JSON object"),
    (OPTIONS, '{"modules": {"visibility": "Shared"},\n  "visibility": "open"}', ':2:3: visibility must be "public", '),
    (OPTIONS, '{"modules": {},\n "visability": "public"}', ":2:2: unknown field visability; known are visibility, "),
    (OPTIONS, '{"modules": {"shared.v1": "Two words"}}', ":1:2: modules must be an object of module names"),
    (OPTIONS, '{"imports": ["../none"]}', ":1:2: imports has the folder ../none, which does not exist"),
    (OPTIONS, '{"descriptorSet": 1}', ":1:2: descriptorSet must be the name of a Swift type"),
    ("added.proto", 'syntax = "proto3";\nmessage Order {\n  Kin kin = 1;\n}\n', ':3:3: "Kin" is not defined.'),
    ("added.proto", 'syntax = "proto3";\nimport "missing.proto";\n', ':2:1: Import "missing.proto" was not found or had errors.'),
    ("added.proto", 'syntax = "proto3";\npackage added.v1;\nenum Kind {\n  KIND_NONE = 0;\n  KIND_NONE_VALUE = 1;\n}\n',
     ":5:3: added.v1.KIND_NONE_VALUE: its Swift name, noneValue, is "),
])
def test_errors_of_a_targets_files_have_their_position(add, name, text, message):
    add(name, text)
    done = generate("--target", "chat", "--check")
    assert done.returncode != 0, "the plugin accepted it"
    assert name + message in done.stdout + done.stderr, done.stdout + done.stderr


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


def test_interceptors_authenticate_repeat_and_propagate_deadlines():
    text = lines("interceptor")
    assert text[:3] == ["refusing Reserve", "reserving bell within the caller's two seconds: true", "user/ada ordered bell"]
    # The first reservation is refused and repeated; the last call reaches no stock.
    size = 2 * len('{"item":"bell"}') + len('{"item":"clock"}')
    assert text[3].startswith("DEADLINE_EXCEEDED") and text[4:] == [
        "UNAUTHENTICATED (KEY_UNKNOWN): the key in x-key is unknown", f"{size} bytes of requests to shop.v1.StockService/Reserve"]


def test_a_gateway_passes_calls_on_to_the_server_that_is_left():
    assert lines("gateway") == [
        "Hello, Ada!", "Ciao, Ada!", "3", "2", "1", "INVALID_ARGUMENT (FIELD_INVALID): name: must be given"]


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

"""The commands that call a running suite."""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import pty
import re
import signal
import sqlite3
import subprocess
import sys

import pytest
from campanile import BIN, CLI, ROOT, Suite, environment, eventually
from wire_marks import on_sqlite


@pytest.fixture(scope="module")
def giulia(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


def test_sample_matches_the_output_of_its_script():
    script = ROOT / "Sources/CampanileCLI/Resources/make_sample.py"
    subprocess.run([sys.executable, str(script), "--check"], check=True)


def test_sample_is_loaded_for_each_user(suite):
    sample = json.loads((ROOT / "Sources/CampanileCLI/Resources/sample.json").read_text())
    users = json.loads((suite.folder / "demo.json").read_text())["users"]
    for user in sample["users"]:
        key = users[user["principal"]]["key"]
        notifications = user["notifications"]["notifications"]
        buckets = suite.call("ListBuckets", {"pageSize": 1000}, key)["buckets"]
        expected = {
            bucket["name"]: (sum(n["bucketId"] == bucket["id"] for n in notifications),
                             sum(n["bucketId"] == bucket["id"] and "readAt" not in n for n in notifications))
            for bucket in user["buckets"]["buckets"]}
        assert {b["name"]: (b.get("notificationCount", 0), b.get("unreadCount", 0)) for b in buckets} == expected
        listed = suite.call("ListNotifications", {"pageSize": 1000}, key)["notifications"]
        assert [n["title"] for n in listed] == [n["title"] for n in notifications]
        assert [n.get("body") for n in listed] == [n.get("body") for n in notifications]


def test_phones_and_lodge_of_the_sample_are_loaded(suite, giulia):
    phone = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["phone"]
    total = suite.call("GetUnreadCounts", {}, giulia)["unreadCounts"]["total"]
    eventually(
        lambda: suite.screen(phone["activityToken"]).get("contentState", {}).get("unreadCount") == total, "the count is shown")
    sample = json.loads((ROOT / "Sources/CampanileCLI/Resources/sample.json").read_text())["lodge"]
    members, records = (list(csv.DictReader(io.StringIO(sample[name]))) for name in ("members", "attendance"))
    summaries = suite.call("ListMemberSummaries", {}, giulia)["summaries"]
    shown = {one["name"]: one["statistics"].get("presentCount", 0) for one in summaries}
    assert shown == {member["name"]: sum(
        (record["member_name"], record["status"]) == (member["name"], "present") for record in records) for member in members}


def test_loading_again_changes_nothing(start):
    phones = set()
    for _ in range(2):
        suite = start("twice", "--demo").wait_ready()
        marco = json.loads((suite.folder / "demo.json").read_text())["users"]["user/marco"]
        key = marco["key"]
        phones.add(json.dumps(marco["phone"]))
        assert len(suite.call("ListPushTokens", {}, key)["tokens"]) == 2
        assert len(suite.call("ListActivities", {"includeEnded": True}, key)["activities"]) == 1
        assert len(suite.call("ListMeetings", {"pageSize": 1000}, key)["meetings"]) == 42
        buckets = suite.call("ListBuckets", {}, key)["buckets"]
        assert [b["name"] for b in buckets] == ["CI & Code review", "Log", "Server alerts"]
        assert sum(b["notificationCount"] for b in buckets) == 200
        assert suite.stop() == 0
    assert len(phones) == 1


def test_call_takes_json_file_and_standard_input(suite, giulia, tmp_path):
    request = {"unreadOnly": True, "pageSize": 2}
    (tmp_path / "request.json").write_text(json.dumps(request))
    replies = [
        suite.run("call", "ListNotifications", json.dumps(request), key=giulia, check=0).stdout,
        suite.run("call", "ListNotifications", f"@{tmp_path}/request.json", key=giulia, check=0).stdout,
        suite.run("call", "NotificationsService/ListNotifications", "-", input=json.dumps(request), key=giulia, check=0).stdout,
    ]
    assert replies[0] == replies[1] == replies[2]
    assert replies[0].count("\n") == 1 and len(json.loads(replies[0])["notifications"]) == 2


def run_on_terminal(suite, key, *arguments, **variables):
    """Everything that a command writes to a terminal."""
    controller, terminal = pty.openpty()
    variables = {"TERM": "xterm", "CAMPANILE_KEY": key} | variables
    subprocess.run(
        [CLI, *arguments, "--data-dir", str(suite.folder)], stdout=terminal, stderr=terminal, env=environment() | variables,
        check=True)
    os.close(terminal)
    text = b""
    try:
        while part := os.read(controller, 65536):
            text += part
    except OSError:
        pass
    os.close(controller)
    return text.decode()


def test_output_is_pretty_when_asked_and_coloured_on_a_terminal(suite, giulia):
    pretty = suite.run("call", "GetUnreadCounts", "--output", "pretty", key=giulia, check=0).stdout
    assert pretty.startswith('{\n  "unreadCounts": {\n') and "\x1b" not in pretty

    def on_terminal(**variables):
        return run_on_terminal(suite, giulia, "call", "GetUnreadCounts", **variables)

    coloured = on_terminal()
    assert "\x1b[36m" in coloured and "\r\n" in coloured
    assert "\x1b" not in on_terminal(NO_COLOR="1")
    assert json.loads(re.sub(r"\x1b\[[0-9;]*m", "", coloured)) == json.loads(pretty)


def test_a_title_gives_no_orders_to_a_terminal(suite):
    key = suite.key("user/terminal")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
    # 8-bit controls, which some terminals accept: they clear the screen, set the clipboard or reverse the text.
    orders = [0x1B, 0x7F, 0x80, 0x85, 0x9B, 0x9C, 0x9D, 0x9F, 0x61C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069]
    title = "x" + "".join(f"{chr(order)}2J" for order in orders)
    made = suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": title, "body": "b"}}, key)["notification"]
    assert made["title"] == title
    for form in ([], ["--output", "pretty"], ["--output", "json"]):
        shown = run_on_terminal(
            suite, key, "call", "GetNotification", json.dumps({"notificationId": made["id"]}), *form, NO_COLOR="1")
        assert not [order for order in orders if chr(order) in shown], shown
        assert "\\u009b2J" in shown and "\\u202e2J" in shown
        assert json.loads(shown)["notification"]["title"] == title


@pytest.mark.parametrize("method, request_, code, words", [
    ("GetNotification", {"notificationId": "n_" + "0" * 22}, 5, ["NOT_FOUND"]),
    ("GetNotification", {"notificationIdd": "x"}, 64, ["notificationIdd", "did you mean notificationId?"]),
    ("CreateNotification", {"notification": {"priority": "PRIORITY_LOUD"}}, 64, ["notification.priority", "PRIORITY_LOUD"]),
    ("CreateNotification", {"notification": {"title": ""}}, 3, ["INVALID_ARGUMENT", "field", "title"]),
    ("ListNotifications", {"pageSize": "many"}, 3, ["INVALID_ARGUMENT", "pageSize"]),
])
def test_exit_code_is_the_status_and_the_error_names_the_field(suite, giulia, method, request_, code, words):
    result = suite.run("call", method, json.dumps(request_), key=giulia, check=code)
    assert result.stdout == ""
    for word in words:
        assert word.lower() in result.stderr.lower()


def test_unknown_names_are_sent_if_the_caller_wants_it(suite, giulia):
    request_ = {"notificationId": "n_" + "0" * 22, "later": {"a": [1]}}
    assert "NOT_FOUND" in suite.run("call", "GetNotification", json.dumps(request_), "--allow-unknown", key=giulia, check=5).stderr
    request_ = {"notification": {"title": "t", "priority": "PRIORITY_LOUD"}}
    refused = suite.run("call", "CreateNotification", json.dumps(request_), "--allow-unknown", key=giulia, check=3).stderr
    assert "ENUM_UNKNOWN" in refused and "notification.priority" in refused
    assert "later: " in suite.run("watch", "WatchNotifications", '{"later":1}', key=giulia, check=64).stderr


def test_errors_explain_wrong_requests_and_names(suite, giulia):
    assert "not a valid JSON object" in suite.run("call", "ListBuckets", "{", key=giulia, check=3).stderr
    typo = suite.run("call", "GetNotfication", "{}", key=giulia, check=64).stderr
    assert "did you mean campanile.notifications.v1.NotificationsService/GetNotification?" in typo
    suite.run("call", "ListBuckets", "@/nonexistent", key=giulia, check=64)


def test_wrong_keys_are_unauthenticated(suite):
    suite.run("call", "ListBuckets", key="cmp_" + "A" * 43, check=16)


def test_deadline_ends_a_watch(suite, giulia):
    result = suite.run("watch", "WatchNotifications", "{}", "--timeout", "300ms", key=giulia, check=4)
    assert "started" in result.stdout and "DEADLINE_EXCEEDED" in result.stderr


def test_nothing_listening_is_unavailable(suite):
    assert "UNAVAILABLE" in suite.run("call", "ListBuckets", "--address", "127.0.0.1:1", check=14).stderr


def test_service_is_called_directly_as_a_user(suite):
    bucket = suite.call("CreateBucket", {"bucket": {"name": "direct"}}, None, "--target", "notifications", "--as", "user/direct")
    address = f"127.0.0.1:{suite.endpoints['notifications']['rpc']}"
    listed = suite.call("ListBuckets", None, None, "--address", address, "--as", "user/direct")
    assert [b["id"] for b in listed["buckets"]] == [bucket["bucket"]["id"]]
    token_file = str(suite.folder / "internal-token")
    other = suite.run(
        "call", "ListBuckets", "--address", address, "--internal-token-file", token_file, "--as", "user/other", check=0)
    assert json.loads(other.stdout).keys() == {"resumeToken"}


def test_principal_in_a_callers_header_is_ignored(suite, giulia):
    own = suite.call("ListBuckets", {}, giulia)
    assert suite.call("ListBuckets", {}, giulia, "-H", "campanile-principal: user/marco") == own


def test_watch_shows_events_and_ends_cleanly(suite):
    key = suite.key("user/watching")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
    watch = subprocess.Popen(
        [CLI, "watch", "WatchNotifications", "{}", "--data-dir", str(suite.folder)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=environment() | {"CAMPANILE_KEY": key})
    assert "started" in json.loads(watch.stdout.readline())
    for number in range(3):
        suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": f"è {number} 🔔"}}, key)
        event = json.loads(watch.stdout.readline())
        assert event["change"]["notificationCreated"]["title"] == f"è {number} 🔔"
    watch.send_signal(signal.SIGINT)
    out, err = watch.communicate(timeout=30)
    assert (watch.returncode, out, err) == (0, "", "")
    suite.run("watch", "ListBuckets", key=key, check=64)


def test_list_and_describe_need_no_protos(suite):
    methods = [json.loads(line) for line in suite.run("list", check=0).stdout.splitlines()]
    names = {m["method"] for m in methods}
    for name in ("campanile.notifications.v1.NotificationsService/GetNotification",
                 "campanile.gateway.v1.AccessService/CreateApiKey", "grpc.health.v1.Health/Check"):
        assert name in names
    watch = next(m for m in methods if m["method"].endswith("/WatchNotifications"))
    assert watch["serverStreaming"] and not watch["clientStreaming"]
    text = suite.run("describe", "CreateNotification", check=0).stdout
    assert "rpc CreateNotification(CreateNotificationRequest) returns (CreateNotificationResponse)" in text
    assert "message campanile.notifications.v1.CreateNotificationRequest {" in text
    assert "Notification notification = 1;" in text
    assert "map<string, int32> by_bucket = 2;" in suite.run("describe", "UnreadCounts", check=0).stdout
    assert "service campanile.notifications.v1.NotificationsService {" in suite.run("describe", check=0).stdout
    suite.run("describe", "Nothing", check=64)


def test_health_reports_services(suite):
    assert json.loads(suite.run("health", check=0).stdout)["statuses"][""] == {"status": "SERVING"}
    one = suite.run("health", "campanile.notifications.v1.NotificationsService", "--target", "notifications", check=0)
    assert json.loads(one.stdout) == {"status": "SERVING"}
    assert suite.run("health", "no.such.Service").returncode in (5, 14)


def test_keys_are_created_listed_and_revoked(suite):
    made = json.loads(suite.run("keys", "create", "user/keys", "--scope", "notifications:read", "--description", "è", "--expires", "1h", check=0).stdout)
    key, secret = made["apiKey"], made["secret"]
    assert key["principal"] == "user/keys" and key["scopes"] == ["notifications:read"] and "expireTime" in key
    suite.run("call", "ListBuckets", key=secret, check=0)
    suite.run("call", "CreateBucket", '{"bucket":{"name":"x"}}', key=secret, check=7)
    suite.run("keys", "list", key=secret, check=7)
    listed = suite.run("keys", "list", check=0).stdout
    assert key["id"] in listed and secret not in listed
    suite.run("keys", "revoke", key["id"], check=0)
    suite.run("call", "ListBuckets", key=secret, check=16)
    assert key["id"] not in suite.run("keys", "list", check=0).stdout
    assert key["id"] in suite.run("keys", "list", "--all", check=0).stdout


def test_keys_are_rotated(suite):
    old = json.loads(suite.run("keys", "create", "user/rotated", "--scope", "notifications:read", check=0).stdout)
    new = suite.run("keys", "rotate", old["apiKey"]["id"], "--overlap", "1h", "--secret-only", check=0).stdout.strip()
    for secret in [old["secret"], new]:
        suite.run("call", "ListBuckets", key=secret, check=0)
    newest = json.loads(suite.run("keys", "rotate", old["apiKey"]["id"], "--overlap", "0s", check=0).stdout)
    assert newest["apiKey"]["scopes"] == ["notifications:read"] and "expireTime" not in newest["apiKey"]
    suite.run("call", "ListBuckets", key=old["secret"], check=16)
    suite.run("call", "ListBuckets", key=newest["secret"], check=0)
    suite.run("keys", "rotate", "k_nothing", check=5)


@on_sqlite
def test_backup_of_a_running_suite_is_complete(suite, giulia, tmp_path):
    content = base64.b64encode(b'{"kept":true}').decode()
    suite.run("call", "RegisterDevice", '{"device":{"id":"backup","role":"DEVICE_ROLE_WRITER"}}', key=giulia, check=0)
    put = json.dumps({"deviceId": "backup", "put": {
        "name": "kept.json", "recordType": "Note", "inlineContent": content, "mustNotExist": True}})
    sha256 = json.loads(suite.run("call", "PutAsset", put, key=giulia, check=0).stdout)["asset"]["sha256"]
    lines = suite.run("backup", "--to", str(tmp_path / "copies"), check=0).stdout.splitlines()
    reports = [json.loads(line) for line in lines]
    # The backup of Sync's database includes the contents that the database refers to.
    [contents] = [report for report in reports if "contents" in report]
    reports.remove(contents)
    folder = pathlib.Path(contents["path"])
    files = [path for path in (folder / "contents").glob("*/*")]
    assert len(files) == contents["contents"] >= 1 and sum(path.stat().st_size for path in files) == contents["sizeBytes"]
    assert sha256 in {path.name for path in files} and folder.stat().st_mode & 0o077 == 0
    assert folder.name == pathlib.Path(next(r["path"] for r in reports if "/sync-" in r["path"])).stem.replace("sync-", "sync-contents-")
    names = {pathlib.Path(r["path"]).name.split("-")[0] for r in reports}
    assert names == {"activities", "attendance", "gateway", "notifications", "sync"}
    for report in reports:
        path = pathlib.Path(report["path"])
        assert hashlib.sha256(path.read_bytes()).hexdigest() == report["sha256"]
        assert path.stat().st_size == report["sizeBytes"] and path.stat().st_mode & 0o077 == 0
        with sqlite3.connect(path) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    suite.run("backup", "--to", "/proc/nowhere", check=64)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_generated(shell):
    script = subprocess.run([CLI, "--generate-completion-script", shell], capture_output=True, text=True, check=True).stdout
    assert "campanile" in script and len(script.splitlines()) > 20


def test_bash_completes_methods_of_the_running_suite(suite, giulia):
    script = subprocess.run([CLI, "--generate-completion-script", "bash"], capture_output=True, text=True, check=True).stdout
    words = f"campanile call --data-dir {suite.folder} GetNot"
    asked = f"""
{script}
COMP_WORDS=({words}); COMP_CWORD=4; COMP_LINE="{words}"; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9; COMP_KEY=9
cur=GetNot; prev=call
_campanile campanile GetNot call
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    env = environment() | {"PATH": f"{pathlib.Path(CLI).parent}:{os.environ['PATH']}"}
    reply = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, env=env).stdout
    assert "GetNotification" in reply.split()


def test_closed_pipe_is_not_an_error(suite, giulia):
    command = f'"{CLI}" call ListNotifications \'{{"pageSize":1000}}\' --data-dir "{suite.folder}" | head -c 10'
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True,
        env=environment() | {"CAMPANILE_KEY": giulia})
    assert result.stderr == "" and result.returncode in (0, 141)


def test_readme_example_has_ten_lines_of_python(suite, giulia):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) == 1 and len(blocks[0].strip().splitlines()) <= 10
    code = blocks[0].replace("7400", str(suite.endpoints["gateway"]["rpc"])).replace("cmp_…", giulia)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(suite.call("GetUnreadCounts", {}, giulia)["unreadCounts"]["total"])


def tool(*arguments, check):
    """Runs a command that works on files only."""
    result = subprocess.run([CLI, *map(str, arguments)], text=True, capture_output=True, env=environment())
    assert result.returncode == check, (arguments, result.returncode, result.stdout, result.stderr)
    return result


@on_sqlite
def test_backup_is_verified_and_restored(suite, giulia, tmp_path):
    copies, restored = tmp_path / "copies", tmp_path / "restored"
    suite.run("backup", "--to", str(copies), check=0)
    later = suite.call("CreateBucket", {"bucket": {"name": "After the backup"}}, giulia)["bucket"]["id"]
    verified = json.loads(tool("verify", "--from", copies, check=0).stdout)
    assert verified["result"] == "whole" and verified["files"] >= 5
    # A folder in use is never overwritten, and a damaged backup is not restored at all.
    assert "not empty" in tool("restore", "--from", copies, "--to", suite.folder, check=64).stderr
    database = next(copies.glob("notifications-*.sqlite"))
    original = database.read_bytes()
    database.write_bytes(original[:5000] + bytes([original[5000] ^ 1]) + original[5001:])
    assert "hash" in tool("verify", "--from", copies, check=1).stderr
    tool("restore", "--from", copies, "--to", restored, check=1)
    assert not restored.exists() or not list(restored.iterdir())
    database.write_bytes(original)
    tool("restore", "--from", copies, "--to", restored, check=0)
    tool("restore", "--from", copies, "--to", restored, check=64)
    for name in ["activities", "attendance", "gateway", "notifications", "sync"]:
        path = restored / f"{name}.sqlite"
        assert path.read_bytes() == next(copies.glob(f"{name}-2*.sqlite")).read_bytes() and path.stat().st_mode & 0o077 == 0
    other = Suite(restored)
    try:
        # The keys are those of the backup; later changes are missing.
        there = [bucket["id"] for bucket in other.wait_ready().call("ListBuckets", {}, giulia)["buckets"]]
        assert there and later not in there
    finally:
        other.stop()


@on_sqlite
def test_doctor_finds_a_running_suite_healthy(suite):
    # The test created the folder with a mode that the doctor reports.
    suite.folder.chmod(0o700)
    findings = [json.loads(line) for line in suite.run("doctor", "--offline", "--data-dir", str(suite.folder)).stdout.splitlines()]
    by_check = {}
    for finding in findings:
        by_check.setdefault(finding["check"], []).append(finding)
    assert {finding["severity"] for finding in by_check["databases"] + by_check["file modes"] + by_check["ports"]} == {"good"}
    assert len(by_check["ports"]) == 5 and "signing keys" in by_check


@on_sqlite
@pytest.mark.parametrize("part", ["activities", "attendance", "gateway", "notifications", "sync"])
def test_migrations_are_planned_without_being_run(suite, tmp_path, part):
    def plan(folder):
        return subprocess.run([str(BIN / f"campanile-{part}"), "--plan-migrations", "--data-dir", str(folder)], text=True,
                              capture_output=True, env=environment(), check=True).stdout
    assert re.match(r"0 steps are done; to do: store-0001", plan(tmp_path)) and not list(tmp_path.iterdir())
    assert re.fullmatch(r"\d+ steps are done; nothing to do\n", plan(suite.folder))

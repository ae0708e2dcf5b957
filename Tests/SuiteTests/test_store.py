"""The suite on a PostgreSQL server, and its databases on the way there and back."""

import json
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest
from campanile import BIN, CLI, PATIENCE_S, environment, eventually
from postgresql_server import Server
from wire_marks import on_sqlite
from wire_store import DATABASES


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    for database in DATABASES:
        server.create(database)
    yield server
    server.stop()


def address(server, schema="public"):
    return f"postgresql://postgres@/?host={server.folder}&options=-c%20search_path%3D{schema}"


def schema(server, name):
    for database in DATABASES:
        server.script(database, f"CREATE SCHEMA {name};\n")
    return address(server, name)


def run(*arguments):
    return subprocess.run([CLI, *map(str, arguments)], text=True, capture_output=True, env=environment(), timeout=5 * PATIENCE_S)


def key_of_giulia(suite):
    return json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]


def events(suite, token=""):
    """The events of a watch in a second, or since a resume token."""
    done = suite.run("watch", "WatchNotifications", json.dumps({"resumeToken": token}), "--timeout", "1s", key=key_of_giulia(suite))
    return [json.loads(line) for line in done.stdout.splitlines()]


def found(suite, key):
    """Everything that a search finds. The index is built anew, which may change the order of one millisecond."""
    notifications, token = [], ""
    while True:
        page = suite.call("SearchNotifications", {"query": "a", "pageSize": 100, "pageToken": token}, key)
        notifications += page["notifications"]
        token = page.get("nextPageToken")
        if not token:
            return sorted(notifications, key=lambda notification: notification["id"])


def contents(suite):
    """The answers of every service to a user."""
    key = key_of_giulia(suite)
    return {
        "notifications": suite.call("ListNotifications", {"pageSize": 100}, key),
        "found": found(suite, key),
        "buckets": suite.call("ListBuckets", {}, key),
        "activities": suite.call("ListActivities", {}, key),
        "members": suite.call("ListMembers", {"pageSize": 1000}, suite.endpoints["gateway"]["adminKey"]),
    }


def lists(suite):
    """The answers without the positions, which the writes of other users advance."""
    return {name: {key: value for key, value in answer.items() if key != "resumeToken"} if isinstance(answer, dict) else answer
            for name, answer in contents(suite).items()}


def titles(suite, key):
    """The titles of all notifications of a user, sorted."""
    found, token = [], ""
    while token is not None:
        page = suite.call("ListNotifications", {"pageSize": 1000, "pageToken": token}, key)
        found += [notification["title"] for notification in page["notifications"]]
        token = page.get("nextPageToken")
    return sorted(found)


@on_sqlite
def test_a_suite_moves_to_a_server_and_back(server, start, tmp_path):
    folder = tmp_path / "data"
    suite = start("data", "--demo").wait_ready()
    token = events(suite)[0]["resumeToken"]
    bucket = suite.call("ListBuckets", {}, key_of_giulia(suite))["buckets"][0]["id"]
    suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": "after the token"}}, key_of_giulia(suite))
    missed = events(suite, token)
    assert "after the token" in json.dumps(missed[-1])
    before = contents(suite)
    assert len(before["notifications"]["notifications"]) > 3 and before["found"]
    suite.stop()
    there = schema(server, "moved")
    moved = run("move", "--from", folder, "--to", there)
    assert moved.returncode == 0, moved.stderr
    assert len(re.findall(r"rows moved, and compared with their source", moved.stderr + moved.stdout)) == len(DATABASES)
    again = run("move", "--from", folder, "--to", there)
    assert again.returncode != 0 and "the target has data" in again.stderr
    for file in folder.glob("*.sqlite*"):
        file.unlink()
    suite = start("data", "--store", there).wait_ready()
    assert contents(suite) == before
    assert events(suite, token) == missed
    assert not list(folder.glob("*.sqlite"))
    suite.stop()
    moved = run("move", "--from", there, "--to", folder)
    assert moved.returncode == 0, moved.stderr
    suite = start("data").wait_ready()
    assert contents(suite) == before


def test_doctor_examines_the_server(server, tmp_path):
    there = schema(server, "examined")
    done = run("doctor", "--offline", "--data-dir", tmp_path, "--store", there, "--output", "json")
    findings = [json.loads(line) for line in done.stdout.splitlines()]
    by_check = {}
    for finding in findings:
        by_check.setdefault(finding["check"], []).append(finding)
    assert [finding["severity"] for finding in by_check["store"]] == ["good"] * len(DATABASES), by_check["store"]
    assert by_check["replication"][0]["severity"] == "warning"
    away = run("doctor", "--offline", "--data-dir", tmp_path, "--store", f"postgresql://postgres@/?host={tmp_path}", "--output", "json")
    assert away.returncode == 1 and '"severity":"bad"' in away.stdout


@pytest.mark.parametrize("store, message", [
    ("postgresql://user@localhost/data", "must not name a database"),
    ("postgresql://user@localhost/?dbname=data", "must not name a database"),
    ("postgresql://user:secret@localhost", "other users can read a password"),
    ("missing-file", "cannot open the file"),
])
def test_stores_that_up_refuses(store, message, tmp_path):
    done = run("up", "--data-dir", tmp_path, "--port-base", "0", "--store", store)
    assert done.returncode == 64 and message in done.stderr and "secret" not in done.stderr


def test_stores_that_a_service_refuses(server, tmp_path):
    def refusal(store):
        done = subprocess.run(
            [str(BIN / "campanile-sync"), "--port", "0", "--http-port", "0", "--data-dir", str(tmp_path), "--store", store],
            text=True, capture_output=True, env=environment(), timeout=PATIENCE_S)
        assert done.returncode != 0
        return done.stderr

    server.run("createdb", "-h", server.folder, "-U", "postgres", "-T", "template0", "--locale", "C.UTF-8", "worded")
    assert "other users can read a password" in refusal("postgresql://user:secret@localhost/data")
    assert "secret" not in refusal("postgresql://user:secret@localhost/data")
    assert "not an address like" in refusal("postgresql://user@localhost:port:x/%zz")
    assert re.search(r"no database absent; create it with: CREATE DATABASE", refusal(f"postgresql://postgres@/absent?host={server.folder}"))
    assert "collation C.UTF-8 instead of C" in refusal(f"postgresql://postgres@/worded?host={server.folder}")
    file = tmp_path / "store"
    file.write_text("postgresql://user:secret@localhost/data\n")
    file.chmod(0o644)
    assert re.search(r"chmod 600 .*store", refusal(str(file)))


class Publisher(threading.Thread):
    """Publishes one notification after the other, each until it is acknowledged."""

    def __init__(self, suite, key, bucket, name):
        super().__init__(daemon=True)
        self.url = f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/campanile.notifications.v1.NotificationsService/CreateNotification"
        self.key, self.bucket, self.name = key, bucket, name
        self.acknowledged, self.refused, self.stopped = [], 0, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.is_set():
            title = f"{self.name} {len(self.acknowledged)}"
            body = {"notification": {"bucketId": self.bucket, "title": title}, "requestId": title}
            request = urllib.request.Request(self.url, data=json.dumps(body).encode(), headers={
                "Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S):
                    self.acknowledged.append(title)
            except urllib.error.HTTPError as error:
                # The services stay up, so a call fails with UNAVAILABLE or not at all.
                assert error.code == 503, error.read()
                self.refused += 1
                time.sleep(0.02)


def test_a_killed_server_loses_and_repeats_nothing(tmp_path_factory, start):
    own = Server(tmp_path_factory.mktemp("killed"))
    for database in DATABASES:
        own.create(database)
    try:
        suite = start("data", "--store", address(own)).wait_ready()
        key = suite.key("user/publisher")
        bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
        publishers = [Publisher(suite, key, bucket, f"p{number}") for number in range(8)]
        for _ in range(int(os.environ.get("CAMPANILE_TEST_KILLS", 3))):
            before = [len(publisher.acknowledged) for publisher in publishers]
            eventually(lambda: all(len(p.acknowledged) > n + 3 for p, n in zip(publishers, before)), "all publish")
            own.stop()
            time.sleep(0.2)
            own.start()
        before = [len(publisher.acknowledged) for publisher in publishers]
        eventually(lambda: all(len(p.acknowledged) > n + 3 for p, n in zip(publishers, before)), "all publish again")
        for publisher in publishers:
            publisher.stopped.set()
            publisher.join(PATIENCE_S)
        expected = sorted(title for publisher in publishers for title in publisher.acknowledged)
        assert sum(publisher.refused for publisher in publishers) > 0
        assert titles(suite, key) == expected
        assert suite.call("ListBuckets", {}, key)["buckets"][0]["unreadCount"] == len(expected)
        suite.stop()
    finally:
        own.stop()


def test_a_backup_of_a_server_restores_into_files_and_into_a_server(server, start, tmp_path):
    there, copies, restored = schema(server, "copied"), tmp_path / "copies", tmp_path / "restored"
    suite = start("data", "--demo", "--store", there).wait_ready()
    key = suite.key("user/publisher")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
    before = lists(suite)
    publisher = Publisher(suite, key, bucket, "p")
    eventually(lambda: len(publisher.acknowledged) > 3, "publishes")
    count = len(publisher.acknowledged)
    # Writes continue meanwhile.
    done = run("backup", "--store", there, "--to", copies)
    assert done.returncode == 0, done.stderr
    publisher.stopped.set()
    publisher.join(PATIENCE_S)
    assert len(publisher.acknowledged) > count
    suite.stop()
    assert len(list(copies.glob("*.sqlite"))) == len(DATABASES) and not list(copies.glob(".*"))
    for arguments in [("verify", "--from", copies), ("restore", "--from", copies, "--to", restored)]:
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    again = schema(server, "again")
    done = run("move", "--from", restored, "--to", again)
    assert done.returncode == 0, done.stderr
    for options in ((), ("--store", again)):
        (restored / "demo.json").write_bytes((tmp_path / "data" / "demo.json").read_bytes())
        suite = start("restored", *options).wait_ready()
        assert lists(suite) == before
        kept = titles(suite, key)
        assert len(kept) >= count and kept == sorted(publisher.acknowledged[:len(kept)])
        suite.stop()


@pytest.mark.parametrize("options, message", [
    (["--data-dir", "data"], "exclude each other"),
    ([], "requires --to"),
    (["--to", "copies"], "was not copied"),
])
def test_backups_of_a_server_that_are_refused(options, message, tmp_path):
    store = f"postgresql://postgres@/?host={tmp_path}"
    done = subprocess.run([CLI, "backup", "--store", store, *options], text=True, capture_output=True, env=environment(),
                          timeout=PATIENCE_S, cwd=tmp_path)
    assert done.returncode == 64 and message in done.stderr
    assert not (tmp_path / "copies").exists() or not list((tmp_path / "copies").iterdir())


def test_a_server_recovers_to_a_point_in_time(tmp_path_factory, start):
    """The steps of docs/postgresql.md."""
    own = Server(tmp_path_factory.mktemp("archived"))
    settings = own.folder / "pgbackrest.conf"
    folders = {option: own.folder / option for option in ("repo1-path", "log-path", "lock-path", "spool-path")}
    settings.write_text("[global]\nlog-level-console=error\n" + "".join(f"{option}={path}\n" for option, path in folders.items())
                        + f"[campanile]\npg1-path={own.folder / 'data'}\npg1-socket-path={own.folder}\npg1-user=postgres\n")

    def pgbackrest(*arguments):
        return own.run("/usr/bin/pgbackrest", f"--config={settings}", "--stanza=campanile", *arguments)

    try:
        archive = f"pgbackrest --config={settings} --stanza=campanile archive-push %p"
        own.script("postgres", f"ALTER SYSTEM SET archive_mode = on;\nALTER SYSTEM SET archive_command = '{archive}';\n")
        own.stop()
        own.start()
        for database in DATABASES:
            own.create(database)
        pgbackrest("stanza-create")
        suite = start("data", "--store", address(own)).wait_ready()
        key = suite.key("user/publisher")
        bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
        pgbackrest("backup", "--type=full", "--start-fast")

        def publish(title):
            return suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": title}}, key)["notification"]["id"]

        # pgBackRest compares whole seconds: no moment in the second of a backup's end can be restored from that backup.
        time.sleep(1)
        kept = publish("after the backup")
        moment = own.script("postgres", "\\t\nSELECT clock_timestamp();\n").strip()
        suite.call("DeleteNotification", {"notificationId": kept}, key)
        publish("after the mistake")
        assert titles(suite, key) == ["after the mistake"]
        suite.stop()
        # Waits until the log is in the archive.
        pgbackrest("check")
        own.stop()
        pgbackrest("restore", "--delta", "--type=time", f"--target={moment}", "--target-action=promote")
        own.start()
        suite = start("data", "--store", address(own)).wait_ready()
        assert titles(suite, key) == ["after the backup"]
        publish("continues")
        assert titles(suite, key) == ["after the backup", "continues"]
        suite.stop()
    finally:
        own.stop()

"""The suite on a PostgreSQL server, and its databases on the way there and back."""

import base64
import json
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections import Counter

import pytest
from campanile import BIN, CLI, PATIENCE_S, environment, eventually
from postgresql_server import Server
from sync_client import LAST_WRITE_WINS
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
    assert len(re.findall("moved before, and the source has not changed since", again.stderr + again.stdout)) == len(DATABASES)
    for file in folder.glob("*.sqlite*"):
        file.unlink()
    suite = start("data", "--store", there).wait_ready()
    assert contents(suite) == before
    assert events(suite, token) == missed
    assert not list(folder.glob("*.sqlite"))
    suite.stop()
    moved = run("move", "--from", there, "--to", folder)
    assert moved.returncode == 0, moved.stderr
    again = run("move", "--from", folder, "--to", there)
    assert again.returncode != 0 and "the target has data" in again.stderr
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
    ("postgresql://user@localhost/?sslpassword=secret", "other users can read a password"),
    ("host=localhost password=secret", "not an address like"),
    ("missing-file", "cannot open the file"),
])
def test_stores_that_up_refuses(store, message, tmp_path):
    done = run("up", "--data-dir", tmp_path, "--port-base", "0", "--store", store)
    assert done.returncode == 64 and message in done.stderr and "secret" not in done.stderr


def refusal(folder, store, program="campanile-sync"):
    """The errors of a program that does not start."""
    done = subprocess.run(
        [str(BIN / program), "--port", "0", "--http-port", "0", "--data-dir", str(folder), "--store", store],
        text=True, capture_output=True, env=environment(), timeout=PATIENCE_S)
    assert done.returncode != 0
    return done.stderr


def test_stores_that_a_service_refuses(server, tmp_path):
    server.run("createdb", "-h", server.folder, "-U", "postgres", "-T", "template0", "--locale", "C.UTF-8", "worded")
    assert "other users can read a password" in refusal(tmp_path, "postgresql://user:secret@localhost/data")
    assert "secret" not in refusal(tmp_path, "postgresql://user:secret@localhost/data")
    assert "not an address like" in refusal(tmp_path, "postgresql://user@localhost:port:x/%zz")
    absent = refusal(tmp_path, f"postgresql://postgres@/absent?host={server.folder}")
    assert "no database absent; create it with: CREATE DATABASE" in absent
    assert "collation C.UTF-8 instead of C" in refusal(tmp_path, f"postgresql://postgres@/worded?host={server.folder}")
    file = tmp_path / "store"
    file.write_text("postgresql://user:secret@localhost/data\n")
    file.chmod(0o644)
    assert re.search(r"chmod 600 .*store", refusal(tmp_path, str(file)))


def test_migrations_on_a_server_are_planned_without_being_run(server, start, tmp_path):
    there = schema(server, "planned")

    def plans():
        return [subprocess.run(
            [str(BIN / database.replace("_", "-")), "--plan-migrations", "--data-dir", str(tmp_path / "plan"), "--store", there],
            text=True, capture_output=True, env=environment(), check=True, timeout=PATIENCE_S).stdout for database in DATABASES]

    def contents():
        dumps = [server.run("pg_dump", "-h", server.folder, "-U", "postgres", "-n", "planned", database) for database in DATABASES]
        # Newer versions of pg_dump write a random word into these lines.
        return [re.sub(r"(?m)^\\(un)?restrict .*$", "", dump) for dump in dumps]

    empty = contents()
    assert all(re.match(r"0 steps are done; to do: store-0001", plan) for plan in plans())
    assert contents() == empty and not any("CREATE TABLE" in dump for dump in empty) and not (tmp_path / "plan").exists()
    start("data", "--store", there).wait_ready().stop()
    written = contents()
    assert all(re.fullmatch(r"\d+ steps are done; nothing to do\n", plan) for plan in plans())
    assert contents() == written and all("CREATE TABLE" in dump for dump in written)


def test_a_move_to_a_mistaken_address_creates_no_folder(tmp_path):
    done = subprocess.run([CLI, "move", "--from", str(tmp_path), "--to", "host=localhost password=secret"], text=True,
                          capture_output=True, env=environment(), timeout=PATIENCE_S, cwd=tmp_path)
    assert done.returncode != 0 and "not an address like" in done.stderr
    assert "secret" not in done.stderr + done.stdout and not list(tmp_path.iterdir())


class Writer(threading.Thread):
    """Makes one call after the other, each with the same request id until it is acknowledged."""

    def __init__(self, suite, key, method, name):
        super().__init__(daemon=True)
        self.url = f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/campanile.{method}"
        self.key, self.name = key, name
        self.acknowledged, self.refused, self.stopped = [], 0, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.is_set():
            value = f"{self.name} {len(self.acknowledged)}"
            body = self.request(value) | {"requestId": value}
            request = urllib.request.Request(self.url, data=json.dumps(body).encode(), headers={
                "Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S):
                    self.acknowledged.append(value)
            except urllib.error.HTTPError as error:
                # The services stay up, so a call fails with UNAVAILABLE or not at all.
                assert error.code == 503, error.read()
                self.refused += 1
                time.sleep(0.02)


class Publisher(Writer):
    """Publishes notifications."""

    def __init__(self, suite, key, bucket, name):
        self.bucket = bucket
        super().__init__(suite, key, "notifications.v1.NotificationsService/CreateNotification", name)

    def request(self, title):
        return {"notification": {"bucketId": self.bucket, "title": title}}


class FileWriter(Writer):
    """Commits new versions of one file of Sync, in a zone without exports. Its device has the same name as the file."""

    ZONE = {"zoneId": "files"}

    def __init__(self, suite, key, name):
        suite.call("RegisterDevice", {"device": {"id": name, "role": "DEVICE_ROLE_WRITER"}}, key)
        super().__init__(suite, key, "sync.v1.AssetsService/CommitAssets", name)

    def request(self, value):
        content = base64.b64encode(json.dumps(value).encode()).decode()
        return self.ZONE | {"deviceId": self.name, "changes": [{"put": {
            "name": self.name, "recordType": "Note", "inlineContent": content, "onConflict": LAST_WRITE_WINS}}]}


def test_a_killed_server_loses_and_repeats_nothing(tmp_path_factory, start):
    own = Server(tmp_path_factory.mktemp("killed"))
    for database in DATABASES:
        own.create(database)
    try:
        suite = start("data", "--store", address(own)).wait_ready()
        key = suite.key("user/publisher")
        bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
        owner = suite.key("user/files")
        suite.call("CreateZone", FileWriter.ZONE, owner)
        publishers = [Publisher(suite, key, bucket, f"p{number}") for number in range(8)]
        files = [FileWriter(suite, owner, f"f{number}") for number in range(4)]
        writers = publishers + files
        kills = int(os.environ.get("CAMPANILE_TEST_KILLS", 3))
        for _ in range(kills):
            before = [len(writer.acknowledged) for writer in writers]
            eventually(lambda: all(len(w.acknowledged) > n + 3 for w, n in zip(writers, before)), "all write")
            own.stop()
            time.sleep(0.2)
            own.start()
        before = [len(writer.acknowledged) for writer in writers]
        eventually(lambda: all(len(w.acknowledged) > n + 3 for w, n in zip(writers, before)), "all write again")
        for writer in writers:
            writer.stopped.set()
            writer.join(PATIENCE_S)
        expected = [title for publisher in publishers for title in publisher.acknowledged]
        lost, extra = Counter(expected), Counter(titles(suite, key))
        lost, extra = lost - extra, extra - lost
        # Each commit of a file is a revision of the zone.
        commits = sum(len(file.acknowledged) for file in files)
        revision = int(suite.call("GetZone", FileWriter.ZONE, owner)["zone"]["revision"])
        for kind, count, of_kind in [("publications", len(expected), publishers), ("commits of files", commits, files)]:
            refused = sum(writer.refused for writer in of_kind)
            print(f"{kills} kills: {count} {kind} acknowledged, {refused} calls refused")
            assert refused > 0
        print(f"publications lost {lost.total()}, doubled or unknown {extra.total()}; revisions {revision}")
        assert not lost and not extra
        assert suite.call("ListBuckets", {}, key)["buckets"][0]["unreadCount"] == len(expected)
        assert revision == commits
        for file in files:
            content = suite.call("GetAsset", FileWriter.ZONE | {"name": file.name, "includeContent": True}, owner)["content"]
            assert json.loads(base64.b64decode(content)) == file.acknowledged[-1]
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
    moved = run("move", "--from", there, "--to", tmp_path / "moved")
    assert moved.returncode != 0 and "stop the suite first" in moved.stderr + moved.stdout
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

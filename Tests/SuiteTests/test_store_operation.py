"""Operating a suite on a PostgreSQL server: the guide's first commands, addresses in files, the doctor and metrics."""

import json
import os
import pathlib
import pwd
import re
import subprocess
import urllib.request

import pytest
from campanile import CLI, PATIENCE_S, ROOT, environment, eventually
from postgresql_server import Server
from sync_client import TOKEN, Link
from test_store import address, run

from wire_process import Process  # noqa: E402  (sync_client added its folder to the path)
from wire_store import DATABASES  # noqa: E402

PARTS = [database.removeprefix("campanile_") for database in DATABASES]


@pytest.fixture
def empty(tmp_path_factory):
    """A server without databases."""
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def server(empty):
    for database in DATABASES:
        empty.create(database)
    return empty


def test_the_guides_commands_lead_to_a_running_suite(empty, tmp_path):
    text = (ROOT / "docs" / "postgresql.md").read_text()
    commands = re.search(r"## From nothing to a running suite\n+Five commands.*?```sh\n(.*?)```", text, re.S)[1]
    assert len(re.sub(r"(?ms)^for .*?^done$", "for", commands).splitlines()) == 5
    # PostgreSQL is installed, `sudo` is not everywhere, and other suites may use the usual ports.
    functions = f"""
        set -eu
        sudo() {{
          case "$*" in
            "apt-get install -y postgresql") ;;
            "-u postgres create"*) shift 2; PGHOST="{empty.folder}" PGUSER=postgres "$@" ;;
            *) return 1 ;;
          esac
        }}
        campanile() {{
          if [ "$1" = up ]; then exec "{CLI}" "$@" --port-base 0; fi
          "{CLI}" "$@"
        }}
    """
    assert commands.count("/var/run/postgresql") == 2
    commands = commands.replace("/var/run/postgresql", str(empty.folder))
    user = pwd.getpwuid(os.getuid()).pw_name
    with open(tmp_path / "log", "w+") as log:
        suite = subprocess.Popen(["bash", "-c", functions + commands], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=tmp_path,
                                 env=environment() | {"USER": user, "HOME": str(tmp_path)})
        try:
            folder = tmp_path / ".campanile"
            eventually(lambda: suite.poll() is not None or (folder / "endpoints.json").exists(), "the suite is ready")
            assert suite.poll() is None, (tmp_path / "log").read_text()
            assert run("health", "--data-dir", folder).returncode == 0
            assert int(empty.script("campanile_notifications", "\\t\nSELECT count(*) FROM notifications;\n")) >= 200
            assert not list(folder.glob("*.sqlite"))
        finally:
            suite.terminate()
            assert suite.wait(PATIENCE_S) == 0


def test_up_reads_the_address_from_a_file(server, start, tmp_path):
    file = tmp_path / "store"
    file.write_text(address(server).replace("postgres@", "postgres:secret@") + "\n")
    file.chmod(0o600)
    suite = start("data", "--store", str(file)).wait_ready()
    suite.call("CreateBucket", {"bucket": {"name": "b"}}, suite.key("user/anna"))
    assert int(server.script("campanile_notifications", "\\t\nSELECT count(*) FROM buckets;\n")) == 1
    # The test created the folder with a mode that the doctor reports.
    suite.folder.chmod(0o700)
    assert run("doctor", "--offline", "--data-dir", suite.folder, "--store", file).returncode == 0
    for pid in [suite.process.pid, *suite.children().values()]:
        assert "secret" not in pathlib.Path(f"/proc/{pid}/cmdline").read_text()
    assert "secret" not in suite.text() and not list(suite.folder.glob("*.sqlite"))


def test_doctor_names_a_wrong_collation_and_a_missing_right(empty, tmp_path):
    def create(database, *arguments):
        empty.run("createdb", "-h", empty.folder, "-U", "postgres", "-T", "template0", *arguments, database)

    def findings():
        done = run("doctor", "--offline", "--data-dir", tmp_path, "--output", "json", "--store", store)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, {one["detail"].partition(":")[0]: one for one in found if one["check"] == "store"}

    empty.script("postgres", "CREATE ROLE anna LOGIN;\n")
    store = address(empty).replace("postgres@", "anna@")
    for part in PARTS:
        create(f"campanile_{part}", *([] if part == "sync" else ["-O", "anna"]), *(["--locale", "C.UTF-8"] if part == "gateway" else []))
    code, found = findings()
    assert code == 1 and len(found) == len(PARTS)
    assert {name for name, one in found.items() if one["severity"] == "bad"} == {"campanile_gateway", "campanile_sync"}
    collation, right = found["campanile_gateway"]["detail"], found["campanile_sync"]["detail"]
    assert "the collation C.UTF-8 instead of C" in collation and "no right to create tables" in right
    # The commands in the findings are the remedies.
    assert empty.script("campanile_sync", re.search(r"run: (GRANT .*)", right)[1] + ";\n") == ""
    creation = re.search(r"create it with: (CREATE DATABASE .*)", collation)[1]
    assert empty.script("postgres", f"DROP DATABASE campanile_gateway;\n{creation} OWNER anna;\n") == ""
    code, found = findings()
    assert code == 0 and {one["severity"] for one in found.values()} == {"good"}


def test_a_service_counts_flushes_round_trips_and_reconnects(server, tmp_path):
    process = Process("campanile-notifications", tmp_path, "--data-dir", str(tmp_path), "--log-level", "warning",
                      "--store", address(server), internal_token=TOKEN)

    def totals():
        with urllib.request.urlopen(f"http://127.0.0.1:{process.ready['http']}/metrics", timeout=PATIENCE_S) as reply:
            lines = [line.split() for line in reply.read().decode().splitlines() if line.startswith("campanile_store_")]
        return {line[0].removeprefix("campanile_store_"): float(line[1]) for line in lines if "{" not in line[0]}

    def publish(link, *titles):
        """Sends publications at once, and returns how many have succeeded."""
        for title in titles:
            link.send({"jsonrpc": "2.0", "id": title, "method": "campanile.notifications.v1.NotificationsService/CreateNotification",
                       "metadata": link.metadata, "params": {"notification": {"bucketId": bucket, "title": title}, "requestId": title}})
        return sum("result" in link.receive() for _ in titles)

    try:
        with Link(process.port) as link:
            bucket = link.ask("NotificationsService/CreateBucket", {"bucket": {"name": "b"}})["bucket"]["id"]
            assert publish(link, "first") == 1
            before = totals()
            events = ["reconnects", "repeated_reads", "recovered_commits", "lost_commits", "reopens"]
            assert [before[f"{name}_total"] for name in events] == [0] * len(events)
            for turn in range(20):
                assert publish(link, *(f"{turn}-{number}" for number in range(64))) == 64
            added = {name: value - before[name] for name, value in totals().items()}
            # Reads are included. A write that is alone in its commit is flushed three times at most.
            assert 0 < added["commit_seconds_count"] <= added["round_trips_total"] <= added["flushes_total"] <= 3 * added["writes_total"]
            assert added["writes_total"] >= 20 * 64
            server.stop()
            server.start()
            eventually(lambda: publish(link, "last"), "publishes again")
            after = totals()
            # The connection is lost between two transactions, or in one.
            assert after["reconnects_total"] + after["reopens_total"] > 0
            assert after["lost_commits_total"] == after["recovered_commits_total"] == 0
    finally:
        process.stop()

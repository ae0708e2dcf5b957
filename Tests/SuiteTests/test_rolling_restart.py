"""`campanile up --replicas 2` replaces its processes one after another while clients call both gateways.

With `CAMPANILE_TEST_FORMER_BIN`, a folder with programs of an earlier version, the services are upgraded from that version.
"""

import itertools
import json
import os
import pathlib
import select
import signal
import threading

import pytest
from campanile import BIN, Suite, eventually
from postgresql_server import Server

from campanile_wire import Peer  # noqa: E402  (campanile added its folder to the path)
from wire_marks import on_sqlite  # noqa: E402
from wire_store import DATABASES  # noqa: E402

pytestmark = on_sqlite

FORMER = pathlib.Path(os.environ.get("CAMPANILE_TEST_FORMER_BIN", BIN))
CREATE = "campanile.notifications.v1.NotificationsService/CreateNotification"


class Client(threading.Thread):
    """Publishes one notification after another at either gateway, and follows `rpc.drain` as the wire protocol asks."""

    def __init__(self, name, ports, key, bucket):
        super().__init__(daemon=True)
        self.title, self.key, self.bucket = name, key, bucket
        self.ports = itertools.cycle(ports)
        self.peer = None
        self.stopped = threading.Event()
        self.created, self.failures, self.moves = [], [], 0
        self.start()

    def connected(self):
        while not self.peer or select.select([self.peer.socket], [], [], 0)[0]:
            # A frame that nobody asked for: the gateway drains.
            self.moves += self.peer is not None
            self.peer = None
            try:
                peer = Peer(next(self.ports), timeout_s=60)
                if "result" in (peer.hello(self.key) or {}):
                    self.peer = peer
            except OSError:
                self.stopped.wait(0.02)
        return self.peer

    def run(self):
        for index in itertools.count():
            title = f"{self.title}-{index}"
            while not self.stopped.is_set():
                try:
                    answer = self.connected().call(CREATE, {
                        "notification": {"bucketId": self.bucket, "title": title}, "requestId": title})
                except OSError as error:
                    answer = {"error": {"message": repr(error), "data": {}}}
                if answer and "result" in answer:
                    self.created.append(title)
                    break
                self.peer = None
                self.moves += 1
                # Refused before it was read: a client sends such a call again, elsewhere.
                if not answer or answer["error"]["data"].get("processed") is not False:
                    self.failures.append((title, answer))
            if self.stopped.is_set():
                return


def replace_programs(folder, source):
    """Puts the programs of another folder in the place of those that may be running."""
    program = folder / "campanile-suite"
    program.unlink(missing_ok=True)
    os.link((source / "campanile-suite").resolve(), program)


def program_folder(folder):
    """Returns a folder with the programs of the suite, in which a test can replace one."""
    folder.mkdir()
    replace_programs(folder, FORMER)
    for entry in BIN.iterdir():
        if entry.name.endswith(".resources"):
            (folder / entry.name).symlink_to(entry.resolve())
        elif entry.is_symlink() and entry.resolve().name == "campanile-suite":
            (folder / entry.name).symlink_to("campanile-suite")
    if FORMER != BIN:
        # `up` is of this version, because it stays while the services are replaced.
        (folder / "campanile").unlink()
        os.link((BIN / "campanile-suite").resolve(), folder / "campanile")
    return folder


@pytest.fixture
def suite(tmp_path, tmp_path_factory, monkeypatch):
    server = Server(tmp_path_factory.mktemp("server"))
    for database in DATABASES:
        server.create(database)
    monkeypatch.setattr("campanile.CLI", str(program_folder(tmp_path / "programs") / "campanile"))
    running = Suite(tmp_path / "data", "--demo", "--replicas", "2", "--store", f"postgresql://postgres@/?host={server.folder}")
    try:
        yield running.wait_ready()
    finally:
        running.stop()
        server.stop()


def test_no_call_fails_while_all_processes_are_replaced(suite):
    key = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    bucket = suite.call("ListBuckets", {}, key)["buckets"][0]["id"]
    ports = [suite.endpoints[name]["rpc"] for name in ("gateway", "gateway-2")]
    before = suite.children()
    clients = [Client(str(number), ports[number % 2:] + ports[:number % 2], key, bucket) for number in range(4)]
    eventually(lambda: all(client.created for client in clients), "all clients are served")
    replace_programs(suite.folder.parent / "programs", BIN)
    suite.process.send_signal(signal.SIGUSR1)
    # A second request during the restart has no effect.
    suite.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "all processes have been restarted" in suite.text(), "the end of the restart", 180)
    served = [len(client.created) for client in clients]
    eventually(lambda: all(len(client.created) > count for client, count in zip(clients, served)), "all clients are served again")
    for client in clients:
        client.stopped.set()
        client.join(60)
    assert not [failure for client in clients for failure in client.failures]
    assert all(client.moves for client in clients)
    after = suite.children()
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] == after[name]} == {"apns-simulator"}
    order = [line.split("restarting ")[1].split()[0] for line in suite.text().splitlines() if "restarting " in line]
    assert len(order) == 10 and order[-2:] == ["gateway", "gateway-2"]
    # Each notification exists once.
    created = {title for client in clients for title in client.created}
    found, token = [], ""
    while True:
        page = suite.call("ListNotifications", {"pageSize": 1000, "pageToken": token}, key)
        found += [one["title"] for one in page["notifications"]]
        token = page.get("nextPageToken")
        if not token:
            break
    assert sorted(title for title in found if title in created) == sorted(created)


def test_program_that_cannot_start_replaces_one_process_only(suite, tmp_path):
    before = suite.children()
    program = tmp_path / "programs" / "campanile-sync"
    program.unlink()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    suite.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "sync is not ready again: the remaining processes are not restarted" in suite.text(), "the end of the restart")
    after = suite.children()
    # Those before it in the order have been restarted, and the second process of Sync serves.
    assert {name for name in before if before[name] == after.get(name)} >= {"sync-2", "attendance", "gateway", "gateway-2"}
    key = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    assert "zone" in suite.call("campanile.sync.v1.ZonesService/GetZone", {}, key)
    assert suite.stop() == 0

"""Fair shares: users who take all that they may have leave enough for a user who comes later."""

import contextlib
import socket
import threading

import pytest
from sync_client import TOKEN, Link

from wire_process import Process  # noqa: E402  (sync_client added its folder to the path)

USERS, UPLOADS, CALLS = 16, 16, 100


@pytest.fixture
def start(tmp_path):
    started = []

    def run(name, *arguments):
        folder = tmp_path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        started.append(Process(name, folder, "--data-dir", str(folder), "--log-level", "warning", *arguments, internal_token=TOKEN))
        return started[-1]

    yield run
    for process in started:
        process.stop()


class Receiver(threading.Thread):
    """A webhook receiver that either responds, or accepts connections and never responds."""

    def __init__(self, address, answers):
        super().__init__(daemon=True)
        self.answers, self.taken = answers, []
        self.listener = socket.create_server((address, 0), backlog=256)
        self.url = f"http://{address}:{self.listener.getsockname()[1]}/"
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                self.taken.append(near)
                if self.answers:
                    near.recv(65_536)
                    near.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    near.close()

    def close(self):
        self.listener.close()
        for near in self.taken:
            near.close()


def callable_notification(link, url):
    """A notification whose first action calls the URL."""
    bucket = link.ask("NotificationsService/CreateBucket", {"bucket": {"name": "b", "color": "#112233"}})["bucket"]
    action = {"type": "ACTION_TYPE_BACKGROUND_CALL", "title": "call", "value": f"POST::{url}"}
    return link.ask("NotificationsService/CreateNotification", {
        "notification": {"bucketId": bucket["id"], "title": "n", "actions": [action]}})["notification"]["id"]


def test_slow_receivers_of_one_user_do_not_block_others(start):
    process = start("campanile-notifications", "--action-allowed-addresses", "127.0.0.0/8", "--action-timeout-ms", "60000")
    tarpit, good = Receiver("127.0.0.2", False), Receiver("127.0.0.1", True)
    try:
        with Link(process.port, "tarpit") as holder, Link(process.port, "anna") as link:
            slow, fast = callable_notification(holder, tarpit.url), callable_notification(link, good.url)
            for index in range(CALLS):
                holder.send({"jsonrpc": "2.0", "id": index, "method": "campanile.notifications.v1.NotificationsService/InvokeAction",
                             "params": {"notificationId": slow, "actionId": "0"}, "metadata": holder.metadata})
            # Calls beyond the queue are refused at once. After the last refusal, all others run or wait.
            refused = [holder.receive()["result"]["run"] for _ in range(CALLS - 8 - 64)]
            assert {(run["state"], run["reason"]) for run in refused} == {("STATE_RETRYING", "SENDER_BUSY")}, refused
            assert all(not run.get("attemptCount") for run in refused), refused
            for _ in range(3):
                run = link.ask("NotificationsService/InvokeAction", {"notificationId": fast, "actionId": "0"})["run"]
                assert run["state"] == "STATE_SUCCEEDED", run
            assert len(tarpit.taken) <= 8
    finally:
        tarpit.close()
        good.close()


def test_last_uploads_are_reserved_for_users_without_any(start):
    process = start("campanile-sync")

    def begin(link):
        return link.answer("UploadsService/CreateUpload", {
            "deviceId": "phone", "recordType": "Note", "sizeBytes": "1000", "sha256": "0" * 64})

    opened = 0
    for number in range(USERS):
        with Link(process.port, f"user{number}") as link:
            link.register("phone", "WRITER")
            opened += sum("result" in begin(link) for _ in range(UPLOADS))
    assert opened == 192 + 4
    with Link(process.port, "anna") as link:
        link.register("phone", "WRITER")
        assert "result" in begin(link)
        assert link.refusal("UploadsService/CreateUpload", {
            "deviceId": "phone", "recordType": "Note", "sizeBytes": "1000", "sha256": "0" * 64}) == "RESOURCE_EXHAUSTED UPLOADS_EXHAUSTED"

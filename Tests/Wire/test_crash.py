"""Kills the service during concurrent creates: after the restart, each acknowledged notification exists exactly once."""

import os
import random
import threading
import time

from campanile_wire import Peer
from wire_process import Process

SERVICE = "campanile.notifications.v1.NotificationsService/"
TOKEN = "internal-token-of-the-crash-test"
AS_USER = {"campanile-principal": "user/crash"}


def start(tmp_path):
    return Process("campanile-notifications", tmp_path, "--data-dir", str(tmp_path / "data"), internal_token=TOKEN)


def connect(process):
    peer = Peer(process.port)
    assert "result" in peer.hello(TOKEN)
    return peer


def all_titles(peer):
    titles, token = [], ""
    while True:
        page = peer.call(SERVICE + "ListNotifications", {"pageSize": 1000, "pageToken": token}, metadata=AS_USER)["result"]
        titles += [notification["title"] for notification in page.get("notifications", [])]
        token = page.get("nextPageToken", "")
        if not token:
            return titles


def test_acknowledged_creates_survive_kill_9(tmp_path):
    rounds = int(os.environ.get("CAMPANILE_CRASH_ROUNDS", "5"))
    seed = int(os.environ.get("CAMPANILE_SEED", time.time_ns() & 0xFFFFFFFF))
    print(f"CAMPANILE_SEED={seed} CAMPANILE_CRASH_ROUNDS={rounds}")
    source = random.Random(seed)
    process = start(tmp_path)
    with connect(process) as peer:
        bucket = peer.call(SERVICE + "CreateBucket", {"bucket": {"name": "crash"}}, metadata=AS_USER)["result"]["bucket"]["id"]
    acknowledged, sent = set(), set()
    for number in range(rounds):
        peer = connect(process)
        killer = threading.Timer(source.uniform(0.02, 0.3), process.kill)
        killer.start()
        titles = {}

        def create():
            title = f"round {number} call {len(titles)}"
            request_id = len(titles) + 10
            titles[request_id] = title
            sent.add(title)
            peer.send({"jsonrpc": "2.0", "id": request_id, "method": SERVICE + "CreateNotification", "metadata": AS_USER,
                       "params": {"notification": {"bucketId": bucket, "title": title, "priority": "PRIORITY_NORMAL"}}})

        try:
            for _ in range(64):
                create()
            while (answer := peer.receive()) is not None:
                assert "result" in answer, answer
                assert answer["result"]["notification"]["title"] == titles[answer["id"]]
                acknowledged.add(titles[answer["id"]])
                create()
        except (BrokenPipeError, ConnectionResetError):
            pass
        killer.join()
        peer.close()
        process = start(tmp_path)
        with connect(process) as peer:
            stored = all_titles(peer)
            counts = peer.call(SERVICE + "GetUnreadCounts", {}, metadata=AS_USER)["result"]["unreadCounts"]
        assert len(stored) == len(set(stored)), "a notification exists twice"
        assert not acknowledged - set(stored), f"lost after an acknowledgement: {sorted(acknowledged - set(stored))[:5]}"
        assert set(stored) <= sent
        assert counts.get("total", 0) == len(stored)
    print(f"{len(acknowledged)} acknowledged, {len(sent)} sent")
    assert len(acknowledged) > 64 * rounds / 4
    assert process.stop() == 0

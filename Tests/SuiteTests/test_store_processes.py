"""Two processes of a service on one database of a PostgreSQL server."""

import datetime
import json
import time

import pytest
from campanile import eventually
from postgresql_server import Server
from sync_client import CHUNK, TOKEN, Link
from test_sync import array

from wire_marks import on_sqlite  # noqa: E402  (sync_client added its folder to the path)
from wire_process import Process  # noqa: E402

pytestmark = on_sqlite


@pytest.fixture
def pair(tmp_path, tmp_path_factory):
    """Starts two processes of a service on one database."""
    server = Server(tmp_path_factory.mktemp("server"))
    started = []

    def run(service, *arguments):
        server.create("data")
        for number in range(2):
            folder = tmp_path / f"{service}-{number}"
            folder.mkdir(mode=0o700)
            started.append(Process(
                service, folder, "--data-dir", str(folder), "--log-level", "warning", "--store",
                f"postgresql://postgres@/data?host={server.folder}", *arguments, internal_token=TOKEN))
        return started

    yield run
    for process in started:
        process.stop()
    server.stop()


def time_in(seconds):
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_watch_sees_the_commits_of_another_process(pair):
    first, second = pair("campanile-sync")
    with Link(first.port) as writer, Link(second.port) as watcher, Link(second.port) as reader:
        writer.register("phone", "WRITER")
        stream = watcher.open("ZonesService/WatchZoneChanges", {})
        assert "started" in watcher.next(stream)
        for number in range(20):
            writer.put("phone", f"n{number}", b"[1]")
            # Without the signal, the watch would wait for a commit of its own process.
            assert f"n{number}" in json.dumps(watcher.next(stream))
        assert reader.content("n19") == b"[1]"
        large = array(1_500_000)
        upload = writer.create_upload("phone", large)["id"]
        writer.send_chunks(upload, large)
        reader.put_upload("phone", "large", upload)
        assert reader.download("large")[0] == large == writer.download("large")[0]


def test_an_upload_continues_at_another_process_after_a_kill(pair):
    first, second = pair("campanile-sync")
    content = array(3_500_000)
    with Link(first.port) as sender, Link(second.port) as other:
        sender.register("phone", "WRITER")
        upload = sender.create_upload("phone", content)["id"]

        def received():
            return int(other.ask("UploadsService/GetUpload", {"uploadId": upload})["upload"].get("receivedBytes", 0))

        sender.send_chunks(upload, content[:10 * CHUNK], ends=False)
        eventually(lambda: received() > 0, "the other process sees the stored bytes")
        first.kill()
        rest = received()
        assert rest < 10 * CHUNK and rest % CHUNK == 0
        assert other.send_chunks(upload, content, offset=rest)["result"]["upload"]["complete"]
        other.put_upload("phone", "large", upload)
        assert other.download("large")[0] == content


def test_timers_run_once_and_survive_their_process(pair):
    first, second = pair("campanile-notifications")
    with Link(first.port) as link:
        bucket = link.ask("NotificationsService/CreateBucket", {"bucket": {"name": "b"}})["bucket"]["id"]
        for number in range(30):
            link.ask("NotificationsService/CreateNotification", {"notification": {
                "bucketId": bucket, "title": f"n{number}", "deliverTime": time_in(2 + number % 8)}})
        assert len(link.ask("NotificationsService/ListScheduledNotifications", {"pageSize": 1000})["notifications"]) == 30
    time.sleep(3)
    first.kill()
    with Link(second.port) as link:
        def titles():
            return sorted(one["title"] for one in link.ask("NotificationsService/ListNotifications", {"pageSize": 1000}).get("notifications", []))

        eventually(lambda: len(titles()) >= 30, "all scheduled notifications are published")
        time.sleep(1)
        assert titles() == sorted(f"n{number}" for number in range(30))
        assert link.ask("NotificationsService/ListBuckets", {})["buckets"][0]["unreadCount"] == 30


def test_a_publication_sees_what_another_process_has_just_changed(pair):
    first, second = pair("campanile-notifications")
    service = "NotificationsService/"
    with Link(first.port) as publisher, Link(second.port) as owner:
        def publish(bucket):
            return publisher.ask(service + "CreateNotification", {"notification": {"bucketId": bucket, "title": "n"}})["notification"]

        buckets = [owner.ask(service + "CreateBucket", {"bucket": {"name": name}})["bucket"]["id"] for name in "ab"]
        for is_muted in [True, False] * 5:
            # The publisher remembers the buckets, and then expects to be the only writer.
            for number in range(12):
                publish(buckets[number % 2])
            owner.ask(service + "UpdateBucketSettings", {
                "settings": {"bucketId": buckets[0], "isMuted": is_muted}, "updateMask": "isMuted"})
            assert ("SUPPRESSED" in publish(buckets[0])["deliveryState"]) == is_muted
            assert "SUPPRESSED" not in publish(buckets[1])["deliveryState"]
        counts = {one["id"]: one["unreadCount"] for one in owner.ask(service + "ListBuckets", {})["buckets"]}
        assert counts == dict.fromkeys(buckets, 10 * 7)

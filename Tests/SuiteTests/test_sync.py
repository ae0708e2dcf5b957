"""Sync as real processes: two devices of one user, interrupted transfers, crashes, and the gateway."""

import base64
import json
import random
import threading
import time

import pytest
from campanile import eventually
from sync_client import LAST_WRITE_WINS, TOKEN, Link

from wire_process import Process  # noqa: E402  (sync_client added its folder to the path)


@pytest.fixture
def start(tmp_path):
    started = []

    def run(name="campanile-sync", *arguments):
        folder = tmp_path / name
        folder.mkdir(mode=0o700, exist_ok=True)
        started.append(Process(name, folder, "--data-dir", str(folder), "--log-level", "warning", *arguments, internal_token=TOKEN))
        return started[-1]

    yield run
    for process in started:
        process.stop()


def array(size, seed=1):
    """A JSON array of about `size` bytes."""
    source = random.Random(seed)
    parts = [json.dumps({"id": f"n_{source.getrandbits(60)}", "title": "x" * source.randrange(200)}) for _ in range(size // 130)]
    return ("[" + ",".join(parts) + "]").encode()


def files(link):
    """The exported files of one revision, by name, each as its asset and its decoded content."""
    assets = link.ask("AssetsService/ListAssets").get("assets", [])
    return {asset["name"]: (asset, json.loads(link.content(asset["name"], version=asset["version"]))) for asset in assets}


def message(link, device, kind, entity, request_id):
    return link.ask("DevicesService/PublishUpdate", {
        "deviceId": device, "requestId": request_id,
        "message": {"type": f"SYNC_UPDATE_TYPE_{kind}", "entityId": entity, "eventTime": "2026-01-01T00:00:00Z"}})


def test_two_devices_exchange_a_notification(start):
    """The watch reads the phone's notification from the files, marks it read by a message, and sees it as read."""
    notifications = start("campanile-notifications")
    sync = start("campanile-sync", "--notifications-address", f"127.0.0.1:{notifications.port}")
    with Link(notifications.port) as app, Link(sync.port) as phone, Link(sync.port) as watch, Link(sync.port) as follower:
        phone.register("phone", "WRITER")
        watch.register("watch", "READER")
        stream = follower.open("ZonesService/WatchZoneChanges", {})
        assert "started" in follower.next(stream)
        bucket = app.ask("NotificationsService/CreateBucket", {"bucket": {"name": "Home", "color": "#112233"}})["bucket"]
        sent = app.ask("NotificationsService/CreateNotification", {"notification": {
            "bucketId": bucket["id"], "title": "Tea \"ready\"", "actions": [{"type": "ACTION_TYPE_MARK_AS_READ"}]}})["notification"]
        # The watch reads the files after a commit of both is reported.
        while True:
            change = follower.next(stream)["change"]
            assert [changed["asset"]["name"] for changed in change["assets"]] == ["buckets.json", "notifications.json"]
            if change["assets"][1]["asset"].get("recordCount") == "1":
                break
        found = files(watch)
        asset, content = found["notifications.json"]
        assert (asset["recordType"], asset["recordCount"]) == ("NotificationsData", "1")
        assert asset["syncTime"] == content["syncTimestamp"]
        [record] = content["notifications"]
        assert (record["id"], record["title"], record["bucketId"]) == (sent["id"], "Tea \"ready\"", bucket["id"])
        assert record["actions"][0]["type"] == "MARK_AS_READ" and record["attachments"] == [] and "readAt" not in record
        assert found["buckets.json"][1]["buckets"][0]["color"] == "#112233"
        # The watch is a reader: it cannot write assets, and reports its actions by messages.
        refused = watch.answer("AssetsService/PutAsset", {"deviceId": "watch", "put": {
            "name": "a", "recordType": "N", "inlineContent": "MQ==", "mustNotExist": True}})
        assert refused["error"]["data"]["status"] == "PERMISSION_DENIED" and "SyncUpdateMessage" in refused["error"]["message"]
        first = message(watch, "watch", "NOTIFICATION_READ", sent["id"], "m1")
        assert message(watch, "watch", "NOTIFICATION_READ", sent["id"], "m1") == first
        # The phone receives this update, and a single one for the written files.
        updates = phone.ask("DevicesService/ListUpdates", {"deviceId": "phone"})["updates"]
        [told] = [update for update in updates if "sourceDeviceId" in update]
        assert (told["sourceDeviceId"], told["message"]["entityId"]) == ("watch", sent["id"])
        assert [update["message"]["type"] for update in updates if update != told] == ["SYNC_UPDATE_TYPE_FULL_SYNC"]
        # The update changes the notification, and the watch sees the change.
        assert "change" in follower.next(stream)
        assert "readAt" in files(watch)["notifications.json"][1]["notifications"][0]
        assert "readTime" in app.ask("NotificationsService/GetNotification", {"notificationId": sent["id"]})["notification"]
        message(watch, "watch", "NOTIFICATION_DELETED", sent["id"], "m2")
        eventually(lambda: files(watch)["notifications.json"][1]["notifications"] == [], "the deletion in the file")
        # The phone has heard of both changes from the watch, so the service does not repeat them.
        updates = phone.ask("DevicesService/ListUpdates", {"deviceId": "phone"})["updates"]
        last = updates[-1]
        assert (last["sourceDeviceId"], last["message"]["type"]) == ("watch", "SYNC_UPDATE_TYPE_NOTIFICATION_DELETED")
        assert len([update for update in updates if "sourceDeviceId" not in update]) == 1
        # A change elsewhere reaches both devices by its name.
        second = app.ask("NotificationsService/CreateNotification", {"notification": {"bucketId": bucket["id"], "title": "Cake"}})["notification"]
        eventually(lambda: files(watch)["notifications.json"][1]["notifications"] != [], "the second notification")
        app.ask("NotificationsService/MarkNotificationsRead", {"notificationIds": [second["id"]]})

        def named(link, device):
            told = link.ask("DevicesService/ListUpdates", {"deviceId": device})["updates"][-1]
            if json.loads(told["messageJson"]).get("entityId") != second["id"]:
                return None
            assert json.loads(told["messageJson"])["type"] == "notificationRead" and "sourceDeviceId" not in told, told
            return told

        last = eventually(lambda: named(phone, "phone"), "the reading by its name")
        assert eventually(lambda: named(watch, "watch"), "the reading by its name") == last
        phone.ask("DevicesService/AcknowledgeUpdates", {"deviceId": "phone", "throughSequence": last["sequence"]})
        assert phone.ask("DevicesService/ListUpdates", {"deviceId": "phone"}) == {"sequence": last["sequence"]}
        with Link(sync.port) as listener:
            stream = listener.open("DevicesService/WatchUpdates", {"deviceId": "phone"})
            assert listener.next(stream) == {"sequence": last["sequence"], "started": {}}
            published = message(watch, "watch", "BUCKET_UPDATED", bucket["id"], "m3")
            event = listener.next(stream)
            assert (event["sequence"], event["update"]["message"]["entityId"]) == (published["sequence"], bucket["id"])


def test_burst_of_changes_is_combined_into_few_commits(start):
    notifications = start("campanile-notifications")
    sync = start("campanile-sync", "--notifications-address", f"127.0.0.1:{notifications.port}")
    with Link(notifications.port) as app, Link(sync.port) as phone:
        bucket = app.ask("NotificationsService/CreateBucket", {"bucket": {"name": "Home"}})["bucket"]["id"]
        for start_at in range(0, 1_000, 100):
            for k in range(start_at, start_at + 100):
                app.send({"jsonrpc": "2.0", "id": k, "method": "campanile.notifications.v1.NotificationsService/CreateNotification",
                          "params": {"notification": {"bucketId": bucket, "title": str(k)}}, "metadata": app.metadata})
            for _ in range(100):
                assert "result" in app.receive()

        def newest():
            found = files(phone).get("notifications.json")
            return found and found[1]["notifications"] and found[1]["notifications"][0]["title"] == "999"

        eventually(newest, "the newest notification in the file")
        asset, content = files(phone)["notifications.json"]
        assert len(content["notifications"]) == 150 and asset["recordCount"] == "150"
        # Each commit combines 200 ms of changes; the duration of the burst depends on the machine.
        assert int(phone.ask("ZonesService/GetZone")["zone"]["revision"]) <= 100


def test_exports_continue_after_a_restart(start):
    notifications = start("campanile-notifications")
    port = notifications.port
    sync = start("campanile-sync", "--notifications-address", f"127.0.0.1:{port}")
    with Link(port) as app, Link(sync.port) as phone:
        app.ask("NotificationsService/CreateBucket", {"bucket": {"name": "One"}})
        eventually(lambda: "buckets.json" in files(phone), "the first export")
    sync.kill()
    with Link(port) as app:
        app.ask("NotificationsService/CreateBucket", {"bucket": {"name": "Two"}})
    sync = start("campanile-sync", "--notifications-address", f"127.0.0.1:{port}")
    with Link(sync.port) as phone:
        eventually(lambda: len(files(phone)["buckets.json"][1]["buckets"]) == 2, "the changes made in the meantime")


def test_transfers_resume_where_they_broke(start):
    process = start()
    content = array(3_000_000)
    with Link(process.port) as phone:
        phone.register("phone", "WRITER")
        upload = phone.create_upload("phone", content)["id"]
        stream = phone.open("UploadsService/UploadContent")
        phone.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": {"start": {"uploadId": upload}}}})
        # As many as the initial credit allows.
        for start_at in range(0, 6 * 131_072, 131_072):
            data = base64.b64encode(content[start_at:start_at + 131_072]).decode()
            phone.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": {"chunk": {"data": data}}}})
        # The connection breaks here.
    with Link(process.port) as phone:
        def idle():
            answer = phone.answer("UploadsService/GetUpload", {"uploadId": upload})["result"]["upload"]
            time.sleep(0.1)
            return answer == phone.answer("UploadsService/GetUpload", {"uploadId": upload})["result"]["upload"] and answer
        received = int(eventually(idle, "the end of the broken stream").get("receivedBytes", 0))
    process.kill()
    process = start()
    with Link(process.port) as phone:
        after = phone.ask("UploadsService/GetUpload", {"uploadId": upload})["upload"]
        assert int(after.get("receivedBytes", 0)) <= received
        answer = phone.send_chunks(upload, content, offset=int(after.get("receivedBytes", 0)), packs=True)
        assert answer["result"]["upload"]["complete"], answer
        phone.put_upload("phone", "big.json", upload)
        part, _ = phone.download("big.json", stop_after=1_000_000)
    with Link(process.port) as watch:
        sha = watch.ask("AssetsService/GetAsset", {"name": "big.json"})["asset"]["sha256"]
        rest, last = watch.download("big.json", offset=len(part), sha256=sha, acceptEncoding="CHUNK_ENCODING_GZIP")
        assert "result" in last and part + rest == content
        _, last = watch.download("big.json", offset=len(part), sha256="0" * 64)
        assert last["error"]["data"]["status"] == "ABORTED"


def test_acknowledged_commits_survive_a_kill(start):
    process = start()
    acknowledged, source = {}, random.Random(5)
    with Link(process.port) as phone:
        phone.register("phone", "WRITER")
    for _ in range(5):
        def write():
            try:
                with Link(process.port) as phone:
                    while True:
                        text = json.dumps(source.randrange(10**9)).encode()
                        name = f"a{source.randrange(4)}"
                        version = phone.put("phone", name, text)["asset"]["version"]
                        acknowledged[name] = (int(version), text)
            except (ConnectionError, EOFError, AssertionError, OSError, TypeError, AttributeError):
                pass

        writer = threading.Thread(target=write)
        writer.start()
        time.sleep(0.3)
        process.kill()
        writer.join(30)
        process = start()
        with Link(process.port) as phone:
            for name, (version, text) in acknowledged.items():
                asset = phone.ask("AssetsService/GetAsset", {"name": name})["asset"]
                assert int(asset["version"]) >= version
                if int(asset["version"]) == version:
                    assert phone.content(name) == text
                phone.content(name)
    assert acknowledged


def test_damaged_content_is_reported_and_never_sent(start, tmp_path):
    process = start()
    content = array(700_000)
    assert 650_000 < len(content) < 1 << 20
    with Link(process.port) as phone:
        phone.register("phone", "WRITER")
        upload = phone.create_upload("phone", content)["id"]
        phone.send_chunks(upload, content)
        phone.put_upload("phone", "a", upload)
        [path] = [path for path in (tmp_path / "campanile-sync" / "sync-contents" / "contents").glob("*/*")]
        data = bytearray(path.read_bytes())
        data[600_000] ^= 1
        path.write_bytes(data)
        sent, last = phone.download("a")
        assert last["error"]["data"]["status"] == "DATA_LOSS"
        assert content.startswith(sent) and len(sent) < 600_000
        assert phone.refusal("AssetsService/GetAsset", {"name": "a", "includeContent": True}) == "DATA_LOSS CONTENT_DAMAGED"


def test_memory_does_not_grow_with_a_transfer(start):
    process = start()
    content = array(40_000_000)
    with Link(process.port) as phone:
        phone.register("phone", "WRITER")
        small = array(1_000_000)
        upload = phone.create_upload("phone", small)["id"]
        phone.send_chunks(upload, small)
        before, peak, isDone = process.rss_bytes(), [0], threading.Event()

        def look():
            while not isDone.wait(0.02):
                peak[0] = max(peak[0], process.rss_bytes())

        looker = threading.Thread(target=look)
        looker.start()
        upload = phone.create_upload("phone", content)["id"]
        answer = phone.send_chunks(upload, content)
        assert answer["result"]["upload"]["complete"], answer
        phone.put_upload("phone", "a", upload)
        got, _ = phone.download("a")
        isDone.set()
        looker.join()
        assert got == content
        # 8 MiB for each of the two transfers, and memory that the allocator retains.
        assert peak[0] - before < 32 << 20, (before, peak[0])


def violations(answer):
    """The invalid fields of a refused call with their reasons."""
    return {one["field"]: one["reason"] for one in answer["error"]["data"]["details"][1]["fieldViolations"]}


def test_bad_names_and_requests_are_refused(start):
    process = start()
    with Link(process.port) as phone, Link(process.port, user="stranger") as stranger:
        phone.register("phone", "WRITER")
        phone.put("phone", "a", b"1")
        assert stranger.refusal("AssetsService/GetAsset", {"name": "a"}) == "NOT_FOUND ASSET_NOT_FOUND"
        assert phone.refusal("AssetsService/GetAsset", {"name": "../a"}) == "INVALID_ARGUMENT NAME_INVALID"
        assert phone.refusal("AssetsService/GetAsset", {"name": "a", "zoneId": "Other"}) == "NOT_FOUND ZONE_NOT_FOUND"
        for method, params, expected in [
            ("AssetsService/DownloadAsset", {"zoneId": "..", "offset": "-1", "sha256": "ABC", "acceptEncoding": 9}, {
                "zoneId": "ID_INVALID", "name": "REQUIRED", "offset": "OUT_OF_RANGE", "sha256": "HASH_INVALID",
                "acceptEncoding": "ENUM_UNKNOWN"}),
            ("AssetsService/DownloadAsset", {"name": "a", "offset": "2"}, {"offset": "OUT_OF_RANGE"}),
            ("DevicesService/WatchUpdates", {"deviceId": ".", "afterSequence": "-1"}, {
                "deviceId": "ID_INVALID", "afterSequence": "OUT_OF_RANGE"}),
            ("ZonesService/WatchZoneChanges", {"zoneId": "a/b"}, {"zoneId": "ID_INVALID"}),
        ]:
            phone.open(method, params)
            assert violations(phone.receive()) == expected, method
        upload = phone.create_upload("phone", b"[1]")["id"]
        stream = phone.open("UploadsService/UploadContent")
        for part in {"start": {"uploadId": upload}}, {"chunk": {"data": "WzFd", "encoding": 9}}:
            phone.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": part}})
        assert violations(phone.receive()) == {"chunk.encoding": "ENUM_UNKNOWN"}
        stream = phone.open("UploadsService/UploadContent")
        phone.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": {"chunk": {"data": "MQ=="}}}})
        answer = phone.receive()
        assert answer["error"]["data"]["status"] == "INVALID_ARGUMENT"
        stream = phone.open("UploadsService/UploadContent")
        phone.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": stream, "message": {"start": {"uploadId": "../../x"}}}})
        assert phone.receive()["error"]["data"]["status"] == "NOT_FOUND"


def test_sync_works_through_the_gateway(suite):
    key = suite.key("user/sync-anna")
    suite.call("RegisterDevice", {"device": {"id": "phone", "role": "DEVICE_ROLE_WRITER"}}, key)
    content = base64.b64encode(b"{\"a\":1}").decode()
    put = suite.call("PutAsset", {"deviceId": "phone", "put": {
        "name": "a.json", "recordType": "Note", "inlineContent": content, "onConflict": LAST_WRITE_WINS}}, key)
    suite.call("PatchAsset", {"deviceId": "phone", "name": "a.json", "etag": put["asset"]["etag"], "jsonPatch": json.dumps(
        [{"op": "replace", "path": "/a", "value": 2}])}, key)
    got = suite.call("GetAsset", {"name": "a.json", "includeContent": True}, key)
    assert base64.b64decode(got["content"]) == b"{\"a\":2}"
    bucket = suite.call("CreateBucket", {"bucket": {"name": "Home"}}, key)["bucket"]["id"]
    suite.call("CreateNotification", {"notification": {"bucketId": bucket, "title": "Tea"}}, key)

    def exported():
        names = [asset["name"] for asset in suite.call("ListAssets", {}, key).get("assets", [])]
        return {"buckets.json", "notifications.json"} <= set(names)

    eventually(exported, "the exported files")


def buckets_file(*names):
    """The bytes of the app's `BucketsDataContainer`, as its JSONEncoder writes them."""
    now = "2026-01-01T00:00:00Z"
    return json.dumps({"syncTimestamp": now, "buckets": [
        {"id": f"own-{name}", "name": name, "color": "#112233", "isOrphan": False, "createdAt": now, "updatedAt": now}
        for name in names]}, separators=(",", ":")).encode()


def test_file_that_the_phone_wrote_stays_the_phones(suite):
    """The phone writes `buckets_data` like `syncBucketsToCloudKit`; later changes at Notifications do not overwrite it."""
    owner, other = suite.key("user/own-files"), suite.key("user/exported-files")
    suite.call("RegisterDevice", {"device": {"id": "phone", "role": "DEVICE_ROLE_WRITER"}}, owner)
    buckets = [suite.call("CreateBucket", {"bucket": {"name": "Casa"}}, each)["bucket"]["id"] for each in (owner, other)]

    def file(who):
        found = suite.call("ListAssets", {}, who).get("assets", [])
        if "buckets.json" not in [asset["name"] for asset in found]:
            return {}
        found = suite.call("GetAsset", {"name": "buckets_data", "includeContent": True}, who)
        return json.loads(base64.b64decode(found["content"])) | {"version": found["asset"]["version"]}

    eventually(lambda: file(owner), "the first export")
    sent = buckets_file("Mine", "Also mine")
    put = suite.call("PutAsset", {"deviceId": "phone", "put": {
        "name": "buckets_data", "recordType": "BucketsData", "inlineContent": base64.b64encode(sent).decode(),
        "onConflict": "CONFLICT_POLICY_LAST_WRITE_WINS"}}, owner)
    assert put["exportEnded"] and put["asset"]["recordCount"] == "2", put
    # The other user's export shows that the change log was read to this point.
    for each, place in zip((owner, other), buckets):
        suite.call("CreateNotification", {"notification": {"bucketId": place, "title": "Tea"}}, each)
        suite.call("UpdateBucket", {"bucket": {"id": place, "name": "Renamed"}, "updateMask": "name"}, each)
    eventually(lambda: [b["name"] for b in file(other)["buckets"]] == ["Renamed"], "the other user's export")
    assert [b["name"] for b in file(owner)["buckets"]] == ["Mine", "Also mine"]
    assert file(owner)["version"] == put["asset"]["version"]
    # Its owner hands the file back; the phone's version is kept as the one that lost.
    suite.call("UpdateZone", {"exportsNotifications": True}, owner)
    eventually(lambda: [b["name"] for b in file(owner)["buckets"]] == ["Renamed"], "the export again")
    kept = suite.call("ListAssetVersions", {"name": "buckets_data", "conflictsOnly": True}, owner)["versions"]
    assert [one["asset"]["version"] for one in kept] == [put["asset"]["version"]]

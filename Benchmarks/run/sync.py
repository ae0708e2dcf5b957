"""Benchmarks Sync: uploads and downloads of large contents, the apps' file, deltas, watches, and a million revisions. See scripts/bench."""

import argparse
import base64
import json
import os
import random
import select
import sqlite3
import statistics
import struct
import sys
import tempfile
import time

from bench import ROOT, Rows, by_turns, median, rss_mb, service

sys.path.append(str(ROOT / "Tests" / "SuiteTests"))
from sync_client import CHUNK, TOKEN, Link  # noqa: E402


def frame(value):
    body = json.dumps(value, separators=(",", ":")).encode()
    return struct.pack(">I", len(body)) + body


def notifications(count, seed=1, changed=None):
    """Returns a container with this number of notifications."""
    source = random.Random(seed)
    records = []
    for k in range(count):
        records.append({
            "id": f"n_{k:022}", "title": f"Notification number {k}", "subtitle": "From the bench", "body": "word " * source.randrange(60, 140),
            "createdAt": "2026-01-01T10:00:00.000Z", "updatedAt": "2026-01-01T10:00:00.000Z", "bucketId": f"b_{k % 10:022}",
            "attachments": [{"mediaType": "IMAGE", "url": f"https://example.com/{k}.png"}],
            "actions": [{"type": "MARK_AS_READ", "destructive": False, "title": "Read"}, {"type": "DELETE", "destructive": True}]})
    if changed is not None:
        records[changed] |= {"readAt": "2026-01-02T10:00:00.000Z", "updatedAt": "2026-01-02T10:00:00.000Z"}
    return json.dumps({"notifications": records, "syncTimestamp": "2026-01-02T10:00:00.000Z"}, separators=(",", ":")).encode()


def put_large(link, content, frames):
    """Returns the seconds from the creation of an upload to the response of the put that uses it. The frames are prepared in advance."""
    started = time.monotonic()
    upload = link.create_upload("phone", content, recordType="NotificationsData")["id"]
    identifier = link.open("UploadsService/UploadContent")
    plain = link.socket
    plain.sendall(frame({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": identifier, "message": {"start": {"uploadId": upload}}}}))
    credit = 31
    for part in frames:
        while credit == 0:
            credit += link.receive()["params"]["messages"]
        plain.sendall(part)
        credit -= 1
    link.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": identifier}})
    while (answer := link.receive()).get("method") == "rpc.credit":
        pass
    assert answer["result"]["upload"]["complete"], answer
    link.ask("AssetsService/PutAsset", {
        "deviceId": "phone", "put": {"name": "large.json", "recordType": "NotificationsData", "uploadId": upload}})
    return time.monotonic() - started


def chunk_frames(content, identifier):
    return [frame({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": identifier, "message": {
        "chunk": {"data": base64.b64encode(content[at:at + CHUNK]).decode()}}}}) for at in range(0, len(content), CHUNK)]


def get_large(port, size):
    """Returns the seconds from the request to the last byte of the stream, read from the socket without decoding."""
    with Link(port) as link:
        started = time.monotonic()
        identifier = link.open("AssetsService/DownloadAsset", {"name": "large.json"})
        link.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": identifier, "messages": 1_000_000}})
        plain, taken, tail = link.socket, 0, b""
        plain.settimeout(60)
        buffer = bytearray(1 << 20)
        while True:
            count = plain.recv_into(buffer)
            taken += count
            tail = (tail + bytes(buffer[max(0, count - 200):count]))[-200:]
            if taken > size * 4 // 3 and b'"result"' in tail:
                return time.monotonic() - started


class Bare:
    """The minimal work of storing a content on this disk: write and sync a file, rename it, sync its folder, commit a row."""

    def __init__(self, folder):
        self.folder = folder
        self.database = sqlite3.connect(f"{folder}/bare.sqlite", isolation_level=None)
        self.database.execute("PRAGMA journal_mode = WAL")
        self.database.execute("PRAGMA synchronous = FULL")
        self.database.execute("CREATE TABLE rows (name TEXT PRIMARY KEY, value TEXT)")
        os.mkdir(f"{folder}/bare")
        self.count = 0

    def put(self, content):
        self.count += 1
        path = f"{self.folder}/bare/{self.count}"
        file = os.open(f"{path}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        view = memoryview(content)
        for at in range(0, len(content), CHUNK):
            os.write(file, view[at:at + CHUNK])
        os.fsync(file)
        os.close(file)
        os.rename(f"{path}.new", path)
        folder = os.open(f"{self.folder}/bare", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        self.database.execute("INSERT INTO rows VALUES (?, ?)", (path, "x" * 300))


def put_frame(link, put):
    return frame({"jsonrpc": "2.0", "id": 1, "method": "campanile.sync.v1.AssetsService/PutAsset", "metadata": link.metadata,
                  "params": {"deviceId": "phone", "put": put}})


def exchange(link, request):
    link.send_bytes(request)
    answer = link.receive_raw()
    assert b'"result"' in answer, answer[:500]


def times_ms(call, count):
    result = []
    for k in range(count):
        started = time.monotonic()
        call(k)
        result.append((time.monotonic() - started) * 1000)
    return result


def watchers(port, count):
    """Returns the milliseconds from the request of a commit to the event at the last of its watchers."""
    sockets = []
    with Link(port) as phone:
        for k in range(count):
            link = Link(port, timeout_s=60)
            link.next(link.open("ZonesService/WatchZoneChanges", {}))
            sockets.append(link)
        poller = select.epoll()
        for link in sockets:
            poller.register(link.socket.fileno(), select.EPOLLIN)

        def once():
            waiting = {link.socket.fileno(): link for link in sockets}
            started = time.monotonic()
            phone.send({"jsonrpc": "2.0", "id": "p", "method": "campanile.sync.v1.AssetsService/PutAsset", "metadata": phone.metadata,
                        "params": {"deviceId": "phone", "put": {"name": "told", "recordType": "Note", "inlineContent": "MQ=="}}})
            while waiting:
                for number, _ in poller.poll(10):
                    if waiting.pop(number, None):
                        os.read(number, 1 << 16)
            spent = (time.monotonic() - started) * 1000
            assert "result" in phone.receive()
            for link in sockets:
                link.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": "s0", "messages": 1}})
            return spent

        once()
        result = median(once, 5)
        poller.close()
        for link in sockets:
            link.close()
    return result


def fill_revisions(path, zone, count):
    """Replaces a zone's revisions by `count` ones, in the form that commits leave them. The database must not be open elsewhere."""
    database = sqlite3.connect(path)
    number, used = database.execute("SELECT zone_no, used_bytes FROM zones WHERE name = ?", (zone,)).fetchone()
    [[digest]] = database.execute("SELECT sha256 FROM versions WHERE zone_no = ? AND sha256 IS NOT NULL LIMIT 1", (number,)).fetchall()
    database.execute("DELETE FROM versions WHERE zone_no = ?", (number,))
    database.execute("DELETE FROM assets WHERE zone_no = ?", (number,))
    now = int(time.time() * 1000)
    database.executemany(
        "INSERT INTO versions (zone_no, name, version, number, record_type, sync_timestamp_ms, record_count, size_bytes, sha256, device_id, "
        "at_ms, is_deleted, is_conflict, replaced_at_ms) VALUES (?, 'grown', ?, ?, 'Note', ?, 0, 1, ?, 'phone', ?, 0, 0, ?)",
        ((number, k, k, now, digest, now, now if k < count else None) for k in range(1, count + 1)))
    database.execute("INSERT INTO assets VALUES (?, 'grown', ?)", (number, count))
    database.execute("UPDATE zones SET revision = ?, asset_count = 1, used_bytes = ? WHERE zone_no = ?", (count, count, number))
    database.execute("UPDATE users SET used_bytes = used_bytes - ? + ?", (used, count))
    database.execute("UPDATE contents SET ref_count = ref_count + ? WHERE sha256 = ?", (count, digest))
    database.commit()
    database.close()


def growth(rows):
    """Measures puts, in turns, into zones with 1,000 and 1,000,000 revisions of one database."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"directory": folder, "token": TOKEN, "pinned": False}
        settings = ["--revisions-max", "10000000"]
        zones = {"small": 1_000, "large": 1_000_000}
        with service("campanile-sync", *settings, **options) as (_, ports, _), Link(ports["rpc"]) as link:
            link.register("phone", "WRITER")
            for zone in zones:
                link.ask("ZonesService/CreateZone", {"zone": zone})
                put_into(link, zone, 0)
        for zone, count in zones.items():
            fill_revisions(f"{folder}/sync.sqlite", zone, count)
        with service("campanile-sync", *settings, **options) as (_, ports, _), Link(ports["rpc"]) as link:
            spent = {zone: [] for zone in zones}
            for k in range(400):
                for zone in zones:
                    spent[zone] += times_ms(lambda _: put_into(link, zone, k % 10), 1)
            small, large = (statistics.median(spent[zone]) for zone in ("small", "large"))
            rows.add("put into a zone of 1,000,000 revisions, beside one of 1,000", large, "ms", baseline=small, ratio_at_most=1.25)


def put_into(link, zone, number):
    link.ask("AssetsService/PutAsset", {"zone": zone, "deviceId": "phone", "put": {
        "name": "grown", "recordType": "Note", "inlineContent": base64.b64encode(str(number).encode()).decode()}})


def large_rows(rows, port, large, bare):
    megabytes = len(large) / 1e6
    # The id of the first stream of a connection.
    frames = chunk_frames(large, "s0")

    def put():
        with Link(port) as link:
            return megabytes / put_large(link, large, frames)

    bare_put = lambda: 1000 * megabytes / sum(times_ms(lambda _: bare.put(large), 1))
    put()
    ours, floor = by_turns(put, bare_put)
    rows.add(f"put {megabytes:.0f} MB, durable (baseline: a bare file, synced)", ours, "MB/s", baseline=floor, at_least=150)
    rows.add(f"get {megabytes:.0f} MB", median(lambda: megabytes / get_large(port, len(large)), 5), "MB/s", at_least=400)


def small_rows(rows, port, small, bare):
    with Link(port) as link:
        name = {"name": "notifications.json", "recordType": "NotificationsData"}
        contents = (notifications(150, seed=1 + k // 150, changed=k % 150) for k in range(350))
        puts = [put_frame(link, name | {"inlineContent": base64.b64encode(content).decode()}) for content in contents]
        times_ms(lambda k: exchange(link, puts[k]), 50)
        ours, floor = [], []
        # In turns, one at a time, because the disk's speed changes within seconds.
        for k in range(50, 350):
            ours += times_ms(lambda _: exchange(link, puts[k]), 1)
            floor += times_ms(lambda _: bare.put(small), 1)
        rows.add(f"put the apps' file ({len(small) // 1000} kB), p50 (baseline: the same syncs, bare)", statistics.median(ours), "ms",
                 baseline=statistics.median(floor), at_most=2)
        request = frame({"jsonrpc": "2.0", "id": 1, "method": "campanile.sync.v1.AssetsService/GetAsset", "metadata": link.metadata,
                         "params": {"name": "notifications.json", "includeContent": True}})
        times_ms(lambda _: exchange(link, request), 50)
        rows.add("get it, p50", statistics.median(times_ms(lambda _: exchange(link, request), 500)), "ms", at_most=0.5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--large-bytes", type=int, default=100_000_000)
    options = parser.parse_args()
    rows = Rows()
    rows.head()
    large = notifications(options.large_bytes // 950, seed=2)
    settings = ["--watches-per-user-max", "2000", "--event-loop-threads", "1"]
    with service("campanile-sync", *settings, token=TOKEN, pinned=False) as (process, ports, _):
        port = ports["rpc"]
        with Link(port) as link:
            link.register("phone", "WRITER")
        before = rss_mb(process.pid)

        with tempfile.TemporaryDirectory() as folder:
            bare = Bare(folder)
            large_rows(rows, port, large, bare)
            rows.add("memory that both have added", rss_mb(process.pid) - before, "MB")
            small, changed = notifications(150), notifications(150, changed=77)
            small_rows(rows, port, small, bare)
        with Link(port) as link:
            name = {"deviceId": "phone", "put": {"name": "notifications.json", "recordType": "NotificationsData"}}
            for content in (small, changed):
                put = name["put"] | {"inlineContent": base64.b64encode(content).decode()}
                version = int(link.ask("AssetsService/PutAsset", name | {"put": put})["asset"]["version"])
            for kind in ("JSON_PATCH", "BYTES"):
                delta = link.ask("AssetsService/GetAssetDelta", {
                    "name": "notifications.json", "sinceVersion": version - 1, "accept": [f"DELTA_KIND_{kind}"]})
                assert delta["kind"] == f"DELTA_KIND_{kind}", delta
                share = 100 * len(base64.b64decode(delta["delta"])) / len(changed)
                rows.add(f"delta after one change, {kind}", share, "% of it", at_most=2)
        rows.add("1,000 watchers told of a commit", watchers(port, 1_000), "ms", at_most=100)
    growth(rows)
    rows.write(options.json)


if __name__ == "__main__":
    main()

"""Benchmarks Sync: uploads and downloads of large contents, the apps' file, deltas, and watches. See scripts/bench."""

import base64
import contextlib
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time

from bench import by_turns, median, reach_all_ms, rss_mb, run, service
from campanile_wire import Credit
from sync_client import CHUNK, LAST_WRITE_WINS, TOKEN, Link


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
    plain, credit = link.socket, Credit()
    start = Link.frame({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": identifier, "message": {"start": {"uploadId": upload}}}})
    for part in (start, *frames):
        while not credit.allows:
            granted = link.receive()["params"]
            # Without an id it is the connection's, which suffices.
            if "id" in granted:
                credit.add(granted)
        plain.sendall(part)
        credit.take(len(part) - 4)
    link.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": identifier}})
    while (answer := link.receive()).get("method") == "rpc.credit":
        pass
    assert answer["result"]["upload"]["complete"], answer
    link.put_upload("phone", "large.json", upload, recordType="NotificationsData")
    return time.monotonic() - started


def chunk_frames(content, identifier):
    return [Link.frame({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": identifier, "message": {
        "chunk": {"data": base64.b64encode(content[at:at + CHUNK]).decode()}}}}) for at in range(0, len(content), CHUNK)]


def get_large(port, size):
    """Returns the seconds from the request to the last byte of the stream, read from the socket without decoding."""
    with Link(port) as link:
        started = time.monotonic()
        identifier = link.open("AssetsService/DownloadAsset", {"name": "large.json"})
        link.grant_all(identifier)
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
    return Link.frame({"jsonrpc": "2.0", "id": 1, "method": "campanile.sync.v1.AssetsService/PutAsset", "metadata": link.metadata,
                  "params": {"deviceId": "phone", "put": put | {"onConflict": LAST_WRITE_WINS}}})


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
    with Link(port) as phone, contextlib.ExitStack() as stack:
        links = [stack.enter_context(Link(port)) for _ in range(count)]
        for link in links:
            link.next(link.open("ZonesService/WatchZoneChanges", {}))
        commit = put_frame(phone, {"name": "told", "recordType": "Note", "inlineContent": "MQ=="})

        def once():
            spent = reach_all_ms(links, b'"rpc.message"', 1, lambda: phone.send_bytes(commit))
            assert "result" in phone.receive()
            for link in links:
                link.grant("s0")
            return spent

        once()
        return median(once, 5)


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
        request = Link.frame({"jsonrpc": "2.0", "id": 1, "method": "campanile.sync.v1.AssetsService/GetAsset", "metadata": link.metadata,
                         "params": {"name": "notifications.json", "includeContent": True}})
        times_ms(lambda _: exchange(link, request), 50)
        rows.add("get it, p50", statistics.median(times_ms(lambda _: exchange(link, request), 500)), "ms", at_most=0.5)


def delta_rows(rows, port, contents):
    with Link(port) as link:
        for content in contents:
            version = int(link.put("phone", "notifications.json", content, recordType="NotificationsData")["asset"]["version"])
        for kind in ("JSON_PATCH", "BYTES"):
            delta = link.ask("AssetsService/GetAssetDelta", {
                "name": "notifications.json", "sinceVersion": version - 1, "accept": [f"DELTA_KIND_{kind}"]})
            assert delta["kind"] == f"DELTA_KIND_{kind}", delta
            share = 100 * len(base64.b64decode(delta["delta"])) / len(contents[-1])
            rows.add(f"delta after one change, {kind}", share, "% of it", at_most=2)


def everything(rows, options):
    large = notifications(options.large_bytes // 950, seed=2)
    small, changed = notifications(150), notifications(150, changed=77)
    settings = ["--watches-per-user-max", "2000", "--event-loop-threads", "1"]
    with service("campanile-sync", *settings, token=TOKEN, pinned=False) as (process, ports, _), tempfile.TemporaryDirectory() as folder:
        port = ports["rpc"]
        with Link(port) as link:
            link.register("phone", "WRITER")
        before, bare = rss_mb(process.pid), Bare(folder)
        large_rows(rows, port, large, bare)
        rows.add("memory that both have added", rss_mb(process.pid) - before, "MB")
        small_rows(rows, port, small, bare)
        delta_rows(rows, port, [small, changed])
        rows.add("1,000 watchers notified of a commit", watchers(port, 1_000), "ms", at_most=100)


if __name__ == "__main__":
    run(__doc__, {"sync": everything}, large_bytes=(100_000_000, "size of the large file"))

"""Benchmarks Notifications: lists, search, marking as read and watches, at 100,000 notifications and more. See scripts/bench."""

import argparse
import contextlib
import json
import pathlib
import random
import select
import socket
import sqlite3
import statistics
import sys
import tempfile
import threading
import time

from bench import ROOT, Rows, cpu_s, hello, load, median, rss_mb, service

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402

TOKEN = "internal-token-of-the-benchmarks"
PATH = "campanile.notifications.v1.NotificationsService/"
LOOP = ["--event-loop-threads", "1"]
USERS = 10
BUCKETS = 10
WATCHES = 5_000
LINKS = 50
# Users with 10,000 unread notifications each, in a separate bucket, to mark as read.
MARKERS = 3
MARKED = 10_000
QUERIES = {
    "a word that every notification has": "notification x",
    "the beginning of such a word": "notificat",
    "a short beginning": "no",
    "a number behind a word": "order1234",
    "two words and a beginning": "notification order1",
    "a phrase": '"notification order17"',
    "one word without another": "notification -order17",
    "nothing": "zzzzzzzz",
}


def user(name):
    return {"campanile-principal": f"user/{name}"}


class Link(Peer):
    """A connection that calls on behalf of users."""

    def __init__(self, port):
        super().__init__(port, timeout_s=120)
        self.hello(TOKEN)

    def ask(self, name, method, params):
        """Returns the result, or the reason of the error as a string."""
        answer = self.call(PATH + method, params, metadata=user(name), timeoutMs=60_000)
        return reason(answer) if "error" in answer else answer["result"]


class Texts:
    """Notifications whose words have a Zipf distribution, as in natural language."""

    def __init__(self):
        source = random.Random(7)
        syllables = [a + b for a in "bcdfglmnprst" for b in "aeiou"]
        words = sorted({"".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(20_000)})
        source.shuffle(words)
        self.pool = source.choices(words, [1 / (i + 1) for i in range(len(words))], k=300_000)
        self.at = 0

    def words(self, count):
        self.at = (self.at + count) % (len(self.pool) - count)
        return " ".join(self.pool[self.at:self.at + count])

    def draft(self, number, bucket):
        return {"bucketId": bucket, "title": f"Notification order{number} {self.words(3)}", "body": f"x {self.words(24)}"}


def fill(link, rows, keep):
    """Publishes the same number of notifications for ten users, in turns. Appends each text to `keep`. Returns the seconds spent."""
    texts, buckets = Texts(), {}
    for index in range(USERS):
        name = f"u{index}"
        buckets[name] = [link.ask(name, "CreateBucket", {"bucket": {"name": f"{k}"}})["bucket"]["id"] for k in range(BUCKETS)]
    spent = 0.0
    for start in range(0, rows, 1_000):
        name = f"u{start // 1_000 % USERS}"
        drafts = [texts.draft(start + k, buckets[name][k % BUCKETS]) for k in range(min(1_000, rows - start))]
        if keep is not None:
            keep.extend((name, draft["title"], draft["body"]) for draft in drafts)
        spent += publish(link, name, drafts)
    for index in range(MARKERS):
        name = f"m{index}"
        bucket = link.ask(name, "CreateBucket", {"bucket": {"name": "m"}})["bucket"]["id"]
        for start in range(0, MARKED, 1_000):
            publish(link, name, [{"bucketId": bucket, "title": f"To mark {start + k}"} for k in range(1_000)])
    return spent


def publish(link, name, drafts):
    started = time.monotonic()
    result = link.ask(name, "BatchCreateNotifications", {"requests": [{"notification": draft} for draft in drafts]})
    if isinstance(result, str) or any("error" in one for one in result["results"]):
        raise RuntimeError(f"publishing failed: {result if isinstance(result, str) else 'an entry was refused'}")
    return time.monotonic() - started


def wait_for_index(link):
    """Waits until a search of every user succeeds. Returns the seconds."""
    started = time.monotonic()
    for name in [f"u{index}" for index in range(USERS)] + [f"m{index}" for index in range(MARKERS)]:
        while (result := link.ask(name, "SearchNotifications", {"query": "notification"})) == "SEARCH_INDEX_BEHIND":
            if time.monotonic() - started > 1_800:
                raise RuntimeError("the index did not catch up")
            time.sleep(0.2)
        if isinstance(result, str):
            raise RuntimeError(result)
    return time.monotonic() - started


def request(name, method, params):
    return {"jsonrpc": "2.0", "id": "@ID@", "method": PATH + method, "params": params, "metadata": user(name)}


def in_turns(measure, ports, turns=5):
    """Returns the median results per port. The ports are measured in turns, so that changes of the machine's speed affect all of them."""
    found = [[] for _ in ports]
    for _ in range(turns):
        for port, results in zip(ports, found):
            results.append(measure(port))
    return [tuple(statistics.median(column) for column in zip(*results)) for results in found]


def list_rates(ports):
    newest = request("u3", "ListNotifications", {"unreadOnly": True, "pageSize": 50})
    return [rate for rate, in in_turns(lambda port: load(port, newest, hello=hello(TOKEN), duration_ms=1_000)[:1], ports)]


def search_times(ports):
    """Returns the median p50 and p99 in milliseconds for each port and query."""
    found = [{} for _ in ports]
    for label, query in QUERIES.items():
        one = request("u3", "SearchNotifications", {"query": query})
        times = in_turns(lambda port: load(port, one, in_flight=1, duration_ms=400, hello=hello(TOKEN))[1:], ports)
        for kept, (p50, p99) in zip(found, times):
            kept[label] = (p50 / 1_000, p99 / 1_000)
    return found


def plain_search_p99(kept):
    """Returns the p99 of the same queries on a plain full-text table in this process: the rows of the user sorted by time."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE n (id INTEGER PRIMARY KEY, user TEXT, title TEXT, body TEXT)")
    database.execute("CREATE VIRTUAL TABLE f USING fts5(title, body, content = 'n', content_rowid = 'id', prefix = '2 3 4')")
    database.executemany("INSERT INTO n (user, title, body) VALUES (?, ?, ?)", kept)
    database.execute("INSERT INTO f (f) VALUES ('rebuild')")
    worst = 0.0
    for query in QUERIES.values():
        words = query.replace(" -", " NOT ")
        words = words if words.endswith('"') or "NOT" in words else words + "*"
        times = []
        for _ in range(100):
            started = time.perf_counter()
            database.execute("SELECT n.* FROM f JOIN n ON n.id = f.rowid WHERE f MATCH ? AND n.user = 'u3' "
                             "ORDER BY n.id DESC LIMIT 50", (words,)).fetchall()
            times.append((time.perf_counter() - started) * 1_000)
        worst = max(worst, sorted(times)[98])
    return worst


class Writer(threading.Thread):
    """Publishes one notification at a time and records the longest duration."""

    def __init__(self, port, bucket):
        super().__init__(daemon=True)
        self.link, self.bucket, self.stopped, self.longest, self.count = Link(port), bucket, threading.Event(), 0.0, 0

    def run(self):
        while not self.stopped.is_set():
            self.longest = max(self.longest, publish(self.link, "writer", [{"bucketId": self.bucket, "title": "meanwhile"}]))
            self.count += 1


def mark_all(port):
    """Returns the median milliseconds for 10,000, and of the longest concurrent write; None if the method is not implemented."""
    spent, delays = [], []
    with Link(port) as link:
        bucket = link.ask("writer", "CreateBucket", {"bucket": {"name": "w"}})["bucket"]["id"]
        for index in range(MARKERS):
            writer = Writer(port, bucket)
            writer.start()
            while writer.count < 20:
                time.sleep(0.005)
            writer.longest = 0.0
            started = time.monotonic()
            result = link.ask(f"m{index}", "MarkAllNotificationsRead", {})
            spent.append((time.monotonic() - started) * 1_000)
            time.sleep(0.1)
            writer.stopped.set()
            writer.join()
            if result == "UNIMPLEMENTED":
                return None
            if isinstance(result, str) or result.get("changedCount") != MARKED:
                raise RuntimeError(f"MarkAllNotificationsRead: {result}")
            delays.append(writer.longest * 1_000)
    return statistics.median(spent), statistics.median(delays)


def event_p50(port, count=500):
    """Returns the median milliseconds from the publisher's request to the watcher's event."""
    times = []
    with Link(port) as watcher, Link(port) as publisher:
        bucket = publisher.ask("watched", "CreateBucket", {"bucket": {"name": "w"}})["bucket"]["id"]
        watcher.send({"jsonrpc": "2.0", "id": 9, "method": PATH + "WatchNotifications", "params": {}, "metadata": user("watched")})
        watcher.receive()
        watcher.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": 9, "messages": count + 100}})
        for index in range(count):
            started = time.perf_counter()
            publisher.send({"jsonrpc": "2.0", "id": index, "method": PATH + "CreateNotification", "metadata": user("watched"),
                            "params": {"notification": {"bucketId": bucket, "title": "event"}}})
            if "notificationCreated" not in watcher.receive()["params"]["message"]:
                raise RuntimeError("unexpected event")
            times.append((time.perf_counter() - started) * 1_000)
            publisher.receive()
    return statistics.median(times)


def open_watches(port):
    links = []
    for _ in range(LINKS):
        link = Link(port)
        for index in range(WATCHES // LINKS):
            link.send({"jsonrpc": "2.0", "id": index, "method": PATH + "WatchNotifications", "params": {}, "metadata": user("many")})
        for _ in range(WATCHES // LINKS):
            if "started" not in link.receive()["params"]["message"]:
                raise RuntimeError("a watch did not start")
        links.append(link)
    return links


def reach_all(links, publisher, bucket):
    """Returns the milliseconds until one change has arrived at every watch."""
    poll, seen = select.epoll(), {}
    for link in links:
        poll.register(link.socket.fileno(), select.EPOLLIN)
        seen[link.socket.fileno()] = (link.socket, bytearray())
    started = time.perf_counter()
    publisher.send({"jsonrpc": "2.0", "id": 1, "method": PATH + "CreateNotification", "metadata": user("many"),
                    "params": {"notification": {"bucketId": bucket, "title": "to all"}}})
    waiting = {number: WATCHES // LINKS for number in seen}
    while waiting:
        for number, _ in poll.poll(10):
            one, buffer = seen[number]
            buffer += one.recv(1 << 20, socket.MSG_DONTWAIT)
            while len(buffer) >= 4 and len(buffer) >= (size := 4 + int.from_bytes(buffer[:4], "big")):
                if b'"notificationCreated"' in buffer[4:size]:
                    waiting[number] -= 1
                del buffer[:size]
            if waiting.get(number) == 0:
                del waiting[number]
        if time.perf_counter() - started > 10:
            raise RuntimeError(f"{sum(waiting.values())} watches were not reached")
    spent = (time.perf_counter() - started) * 1_000
    publisher.receive()
    return spent


def watches(directory):
    arguments = ["--watches-per-user-max", "10000", *LOOP]
    with service("campanile-notifications", *arguments, token=TOKEN, directory=directory, pinned=False) as (process, ports, _):
        port = ports["rpc"]
        with Link(port) as publisher:
            bucket = publisher.ask("many", "CreateBucket", {"bucket": {"name": "w"}})["bucket"]["id"]
            links = open_watches(port)
            spent = median(lambda: reach_all(links, publisher, bucket), runs=5)
            memory = rss_mb(process.pid)
            for link in links:
                link.close()
    return spent, memory


def wait_for_rest(process, limit_s=180):
    """Waits until the service is idle. Returns the seconds."""
    start = time.monotonic()
    while time.monotonic() - start < limit_s:
        before = cpu_s(process.pid)
        time.sleep(2)
        if cpu_s(process.pid) - before < 0.05:
            break
    return time.monotonic() - start


@contextlib.contextmanager
def pinned(directory):
    with service("campanile-notifications", *LOOP, token=TOKEN, directory=directory) as (_, ports, _):
        yield ports["rpc"]


def measure_reading(rows, size, directory, base, kept):
    """Measures lists and searches; with `base`, in turns with those of fewer notifications."""
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(pinned(one)) for one in [directory] + ([base["directory"]] if base else [])]
        lists = list_rates(ports)
        rows.add(f"list the newest 50 unread, 1 x 64, S, {size}", lists[0], "calls/s", lists[1] if base else None,
                 at_least=8_000, **({"ratio_at_least": round(1 / 1.5, 3)} if base else {}))
        times = search_times(ports)
    p50, p99 = ([max(pair[which] for pair in one.values()) for one in times] for which in (0, 1))
    plain, note = (p99[1], "fewer, by turns") if base else (plain_search_p99(kept), "plain FTS5, in process")
    grown = {"ratio_at_most": 1.5} if base else {}
    rows.add(f"search, sequential p99, S, {size} (baseline: {note})", p99[0], "ms", plain, at_most=5, **grown)
    rows.add("  p50 of the slowest query", p50[0], "ms", p50[1] if base else None, **grown)
    for label, (one_p50, one_p99) in times[0].items():
        fewer = times[1][label] if base else (None, None)
        rows.add(f"  {label}: p50", one_p50, "ms", fewer[0])
        rows.add("    p99", one_p99, "ms", fewer[1])


def measure(rows, count, directory, base):
    """Measures everything with `count` notifications. `base` contains the results with fewer ones, as baselines."""
    figures, kept = {"directory": directory}, [] if base is None else None
    size = f"{count:,} notifications"
    grown = {} if base is None else {"ratio_at_most": 1.5}
    with service("campanile-notifications", token=TOKEN, directory=directory, pinned=False) as (process, ports, _):
        with Link(ports["rpc"]) as link:
            spent = fill(link, count, kept)
            rows.add(f"published in batches of 1,000, until there are {size}", count / spent, "a second")
            rows.add("  seconds until all of them are found", wait_for_index(link), "s")
        rows.add("  and until the parts of the index are joined", wait_for_rest(process), "s")
    measure_reading(rows, size, directory, base, kept)
    with service("campanile-notifications", token=TOKEN, directory=directory, pinned=False) as (_, ports, _):
        figures["event"] = median(lambda: event_p50(ports["rpc"]))
        rows.add(f"publish to event at a watching client, p50, {size}", figures["event"], "ms", base and base["event"],
                 at_most=2, **grown)
        marked = mark_all(ports["rpc"])
        if marked is None:
            print("  skipped MarkAllNotificationsRead: it is not implemented", flush=True)
        else:
            figures["mark"], delay = marked
            rows.add(f"mark all read, {MARKED:,} unread, {size}", figures["mark"], "ms", base and base.get("mark"),
                     at_most=150, **grown)
            rows.add("  longest write of another meanwhile", delay, "ms", at_most=50)
    figures["reach"], memory = watches(directory)
    rows.add(f"one change reaches {WATCHES:,} open watches, {size}", figures["reach"], "ms", base and base["reach"],
             at_most=250, **grown)
    rows.add("  RSS with them", memory, "MB", at_most=150)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=100_000, help="number of notifications; above 100,000, also compares with 100,000")
    arguments = parser.parse_args()
    rows = Rows()
    rows.head()
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        base = measure(rows, min(arguments.rows, 100_000), few, None)
        if arguments.rows > 100_000:
            measure(rows, arguments.rows, many, base)
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

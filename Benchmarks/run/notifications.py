"""Measures Notifications with 100,000 notifications and more: lists, search, marking as read, and watches. See scripts/bench."""

import contextlib
import random
import statistics
import tempfile
import threading
import time

from bench import LOOP, NOTIFICATIONS, Link, cpu_s, load, median, reach_all_ms, request, rss_mb, run, service

USERS, BUCKETS = 10, 10
WATCHES, LINKS = 5_000, 50
# Users with 10,000 unread notifications each, in a separate bucket, to mark as read.
MARKERS, MARKED = 3, 10_000
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


def ask(link, name, method, params):
    return link.ask(NOTIFICATIONS + method, params, user(name))


def new_bucket(link, name):
    return ask(link, name, "CreateBucket", {"bucket": {"name": "bench"}})["bucket"]["id"]


@contextlib.contextmanager
def opened(directory, *flags, pinned=False):
    with service("campanile-notifications", *flags, directory=directory, pinned=pinned) as (process, ports, _), Link(ports["rpc"]) as link:
        yield process, ports["rpc"], link


def texts():
    """Yields texts whose words have a Zipf distribution, as in natural language: a few words for a title, and more for a body."""
    source = random.Random(7)
    syllables = [a + b for a in "bcdfglmnprst" for b in "aeiou"]
    words = sorted({"".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(20_000)})
    source.shuffle(words)
    pool, at = source.choices(words, [1 / (i + 1) for i in range(len(words))], k=300_000), 0
    while True:
        at = (at + 27) % (len(pool) - 27)
        yield " ".join(pool[at:at + 3]), " ".join(pool[at + 3:at + 27])


def publish(link, name, drafts):
    """Returns the seconds spent."""
    started = time.monotonic()
    result = ask(link, name, "BatchCreateNotifications", {"requests": [{"notification": draft} for draft in drafts]})
    if any("error" in one for one in result["results"]):
        raise RuntimeError("an entry was refused")
    return time.monotonic() - started


def fill(link, count):
    """Publishes notifications for ten users, in turns. Returns the seconds spent."""
    source, spent = texts(), 0.0
    buckets = {f"u{index}": [new_bucket(link, f"u{index}") for _ in range(BUCKETS)] for index in range(USERS)}
    for start in range(0, count, 1_000):
        name = f"u{start // 1_000 % USERS}"
        spent += publish(link, name, [
            {"bucketId": buckets[name][number % BUCKETS], "title": f"Notification order{number} {title}", "body": f"x {body}"}
            for number, (title, body) in zip(range(start, start + 1_000), source)])
    for index in range(MARKERS):
        bucket = new_bucket(link, f"m{index}")
        for start in range(0, MARKED, 1_000):
            publish(link, f"m{index}", [{"bucketId": bucket, "title": f"To mark {start + k}"} for k in range(1_000)])
    return spent


def wait_for_index(link):
    """Waits until a search of every user succeeds. Returns the seconds."""
    started = time.monotonic()
    for name in [f"u{index}" for index in range(USERS)] + [f"m{index}" for index in range(MARKERS)]:
        while True:
            try:
                ask(link, name, "SearchNotifications", {"query": "notification"})
                break
            except RuntimeError as error:
                if "SEARCH_INDEX_BEHIND" not in str(error) or time.monotonic() - started > 1_800:
                    raise
            time.sleep(0.2)
    return time.monotonic() - started


def wait_for_rest(process, limit_s=180):
    """Waits until the service is idle, so that joining the parts of the index does not disturb."""
    start, busy = time.monotonic(), 1.0
    while busy > 0.05 and time.monotonic() - start < limit_s:
        before = cpu_s(process.pid)
        time.sleep(2)
        busy = cpu_s(process.pid) - before


def publishing(rows, directory, count):
    with opened(directory) as (process, _, link):
        spent = fill(link, count)
        rows.add(f"published in batches of 1,000, until there are {count:,}", count / spent, "a second")
        rows.add("  seconds until all of them are found", wait_for_index(link), "s")
        wait_for_rest(process)


def reading(rows, directory):
    with opened(directory, *LOOP, pinned=True) as (_, port, _):
        call = lambda method, params: request(NOTIFICATIONS + method, params, user("u3"))
        newest = call("ListNotifications", {"unreadOnly": True, "pageSize": 50})
        rows.add("list the newest 50 unread, 1 x 64, S", median(lambda: load(port, newest, duration_ms=1_000)[0], 5), "calls/s", at_least=8_000)
        times = {label: median(lambda: load(port, call("SearchNotifications", {"query": query}), in_flight=1, duration_ms=400), 5)[1:]
                 for label, query in QUERIES.items()}
        rows.add("search, sequential p99 of the slowest query, S", max(p99 for _, p99 in times.values()) / 1_000, "ms", at_most=5)
        for label, (p50, p99) in times.items():
            rows.add(f"  {label}: p50", p50 / 1_000, "ms")
            rows.add("    p99", p99 / 1_000, "ms")


def event_p50(port, count=500):
    """Returns the median milliseconds from the publisher's request to the watcher's event."""
    times, metadata = [], user("watched")
    with Link(port, metadata) as watcher, Link(port, metadata) as publisher:
        bucket = new_bucket(publisher, "watched")
        events = watcher.stream(NOTIFICATIONS + "WatchNotifications", {})
        next(events)
        for index in range(count):
            started = time.perf_counter()
            publisher.send(request(NOTIFICATIONS + "CreateNotification", {"notification": {"bucketId": bucket, "title": "event"}}, metadata)
                           | {"id": index})
            if b"notificationCreated" not in next(events):
                raise RuntimeError("unexpected event")
            times.append((time.perf_counter() - started) * 1_000)
            publisher.receive()
    return statistics.median(times)


def mark_all(port):
    """Returns the median milliseconds for 10,000, and of the longest concurrent write of another user."""
    results = []
    with Link(port) as link, Link(port) as writing:
        bucket = new_bucket(link, "writer")
        for index in range(MARKERS):
            delays, stopped = [], threading.Event()

            def write():
                while not stopped.is_set():
                    delays.append(publish(writing, "writer", [{"bucketId": bucket, "title": "meanwhile"}]))

            writer = threading.Thread(target=write)
            writer.start()
            while len(delays) < 20:
                time.sleep(0.005)
            delays.clear()
            started = time.monotonic()
            result = ask(link, f"m{index}", "MarkAllNotificationsRead", {"throughNotificationId": "~"})
            spent = time.monotonic() - started
            time.sleep(0.1)
            stopped.set()
            writer.join()
            if result.get("changedCount") != MARKED:
                raise RuntimeError(f"MarkAllNotificationsRead: {result}")
            results.append((spent * 1_000, max(delays) * 1_000))
    return tuple(statistics.median(column) for column in zip(*results))


def open_watches(port):
    links = []
    for _ in range(LINKS):
        link = Link(port, user("many"))
        for index in range(WATCHES // LINKS):
            link.send(request(NOTIFICATIONS + "WatchNotifications", {}, user("many")) | {"id": index})
        for _ in range(WATCHES // LINKS):
            if "started" not in link.receive()["params"]["message"]:
                raise RuntimeError("a watch did not start")
        links.append(link)
    return links


def reach_all(links, publisher, bucket):
    publish = lambda: publisher.send(request(NOTIFICATIONS + "CreateNotification", {
        "notification": {"bucketId": bucket, "title": "to all"}}, user("many")) | {"id": 1})
    spent = reach_all_ms(links, b'"notificationCreated"', WATCHES // LINKS, publish)
    publisher.receive()
    return spent


def watching(rows, directory):
    with opened(directory) as (_, port, _):
        rows.add("publish to event at a watching client, p50", median(lambda: event_p50(port)), "ms", at_most=2)
        marked, delay = mark_all(port)
        rows.add(f"mark all read, {MARKED:,} unread", marked, "ms", at_most=150)
        rows.add("  longest write of another meanwhile", delay, "ms", at_most=50)
    with opened(directory, "--watches-per-user-max", "10000", *LOOP) as (process, port, publisher):
        bucket = new_bucket(publisher, "many")
        links = open_watches(port)
        rows.add(f"one change reaches {WATCHES:,} open watches", median(lambda: reach_all(links, publisher, bucket), 5), "ms", at_most=250)
        rows.add("  RSS with them", rss_mb(process.pid), "MB", at_most=150)
        for link in links:
            link.close()


def everything(rows, options):
    with tempfile.TemporaryDirectory() as directory:
        publishing(rows, directory, options.rows)
        reading(rows, directory)
        watching(rows, directory)


if __name__ == "__main__":
    run(__doc__, {"notifications": everything}, rows=(100_000, "number of notifications"))

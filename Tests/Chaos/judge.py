"""The invariants after any fault, checked against the journals of the load with independent recounts."""

import base64
import collections
import json
import sqlite3
import types

import attendance
from attendance import Link
from fleet import STORES, eventually
from load import NOTIFICATIONS, SYNC


# The rows whose counts differ from a recount.
COUNTS = {
    "buckets": """SELECT * FROM (SELECT b.user_id, b.id, b.notification_count AS told, b.unread_count AS told_unread,
          (SELECT count(*) FROM notifications n WHERE n.user_id = b.user_id AND n.bucket_id = b.id) AS there,
          (SELECT count(*) FROM notifications n WHERE n.user_id = b.user_id AND n.bucket_id = b.id AND n.read_at_ms IS NULL) AS unread
        FROM buckets b) AS counted WHERE told <> there OR told_unread <> unread""",
    "users": """SELECT * FROM (SELECT u.user_id, u.notification_count AS told, u.unread_count AS told_unread,
          (SELECT count(*) FROM notifications n WHERE n.user_id = u.user_id) AS there,
          (SELECT count(*) FROM notifications n WHERE n.user_id = u.user_id AND n.read_at_ms IS NULL) AS unread
        FROM users u) AS counted WHERE told <> there OR told_unread <> unread""",
}


class Wrong(AssertionError):
    """An invariant is violated: an acknowledged change is missing or duplicated, or data is inconsistent."""


def check(condition, text):
    if not condition:
        raise Wrong(text)


def judge(load, patience_s=60):
    """Raises `Wrong`, or returns the number of acknowledged changes found. All processes must be serving."""
    load.raise_faults()
    fleet = load.fleet
    check(fleet.all_running(), "a process stopped unexpectedly")
    fleet.wait_serving()
    for publisher, watcher in zip(load.publishers, load.watchers):
        found = notifications(fleet, publisher)
        watched(watcher, publisher, found, patience_s)
    commits(fleet, load.committer)
    lodge(fleet, load.lodge)
    pushes(fleet, load.activities)
    stores(fleet, patience_s)
    return load.acknowledged()


def listed(fleet, user):
    """Returns all notifications of a user, ordered by id, and the unread count."""
    found, token = [], ""
    with fleet.peer(user) as link:
        while True:
            answer = link.call(NOTIFICATIONS + "ListNotifications", {"pageSize": 1000, "pageToken": token})
            check("result" in answer, f"listing failed: {answer}")
            found += answer["result"].get("notifications", [])
            token = answer["result"].get("nextPageToken", "")
            if not token:
                break
        counts = link.call(NOTIFICATIONS + "GetUnreadCounts", {})["result"].get("unreadCounts", {})
    return found[::-1], int(counts.get("total", 0))


def notifications(fleet, publisher):
    found, unread = listed(fleet, publisher.user)
    titles = [int(one["title"]) for one in found]
    for title, number in collections.Counter(titles).items():
        check(number == 1, f"{publisher.user}: {title} exists {number} times")
        check(title in publisher.there, f"{publisher.user}: {title} was never sent")
    for title, possible in publisher.there.items():
        check((title in titles) in possible, f"{publisher.user}: {title} may exist: {possible}, but exists: {title in titles}")
    by_title = {int(one["title"]): one for one in found}
    for title, identifier in publisher.ids.items():
        if title in by_title:
            check(by_title[title]["id"] == identifier, f"{title} was acknowledged as {identifier}, but is {by_title[title]['id']}")
    kept = [title for title in titles if title in publisher.ids]
    wanted = [title for title in publisher.ids if title in by_title]
    check(kept == wanted, f"{publisher.user}: the order differs from that of the acknowledgements")
    for title, one in by_title.items():
        check(("readTime" in one) in publisher.read[title], f"{title} may be read: {publisher.read[title]}")
        check(len(one.get("body", "")) == title * 37 % 4000, f"{title} has a different body")
    recount = sum("readTime" not in one for one in found)
    check(unread == recount, f"{publisher.user}: {unread} unread, but {recount} are not read")
    return found


def watched(watcher, publisher, found, patience_s):
    """Checks that every creation and deletion was reported once, in order, across all broken connections. A creation may be missing if
    the notification was deleted before the watch reached it (docs/decisions/0003)."""
    identifiers = {one["id"] for one in found}
    created = identifiers | set(publisher.ids.values())
    deleted = created - identifiers
    try:
        eventually(lambda: watcher.fault or set(watcher.created) >= identifiers and set(watcher.deleted) >= deleted,
                   "the watch has reported everything", patience_s)
    except AssertionError:
        raise Wrong(f"{watcher.user}: not watched: {sorted(identifiers - set(watcher.created))[:5]} created, "
                    f"{sorted(deleted - set(watcher.deleted))[:5]} deleted") from None
    check(watcher.fault is None, f"{watcher.fault}")
    for name, told in (("created", watcher.created), ("deleted", watcher.deleted)):
        twice = [one for one, number in collections.Counter(told).items() if number > 1]
        check(not twice, f"{watcher.user}: reported twice as {name}: {twice[:5]}")
    check(watcher.created == sorted(watcher.created), f"{watcher.user}: watched in a different order")
    check(set(watcher.created) <= created and set(watcher.deleted) == deleted, f"{watcher.user}: watched unknown notifications")


def commits(fleet, committer):
    contents = []
    with fleet.peer(committer.user) as link:
        for name in committer.NAMES:
            answer = link.call(SYNC + "AssetsService/GetAsset", {"name": name, "includeContent": True})
            if "error" in answer:
                check(None in committer.possible, f"{name} is missing: {answer}")
                contents.append(None)
            else:
                contents.append(json.loads(base64.b64decode(answer["result"]["content"]))["n"])
    check(contents[0] == contents[1], f"the assets of one commit differ: {contents}")
    check(contents[0] in committer.possible, f"the last commit is {contents[0]}, may be {committer.possible}")
    for name in committer.NAMES:
        (number,), = fleet.rows("sync", "SELECT coalesce(max(number), 0) FROM versions WHERE name = ?", name)
        check(committer.took <= number <= committer.number,
              f"{committer.took} commits acknowledged, {committer.number} sent, {number} found")


def lodge(fleet, load):
    with Link(fleet.endpoints["gateway"]["rpc"], fleet.endpoints["gateway"]["adminKey"]) as link:
        told = attendance.Lodge(link, {})
        for recorder in load.recorders:
            for place, possible in recorder.possible.items():
                record = told.records.get(place)
                check((record and record["status"]) in possible, f"{place} may be {possible}, but is {record}")
        try:
            told.check(link, {})
        except AssertionError as fault:
            raise Wrong(f"statistics differ from a recount: {fault}") from None
        messages, last = link.stream("LodgeService/VerifyAuditLog", {}, {})
        check("error" not in last and messages[-1].get("intact"), f"the audit log is broken: {messages[-1:]} {last}")


def pushes(fleet, load):
    folder = fleet.folder / "apns-simulator"
    if not (folder / "journal").exists():
        (folder / "journal").symlink_to("journal.jsonl")
    screens = lambda: {one["key"]: one for one in fleet.suite.simulator("GET", "/screens?limit=1000")["screens"]}
    try:
        load.check(types.SimpleNamespace(folder=folder, screens=screens))
    except AssertionError as fault:
        raise Wrong(f"activities: {fault}") from None


def stores(fleet, patience_s):
    """Checks that every database is intact, its outbox is empty, and its counts equal a recount."""
    for store in STORES:
        check(not fleet.is_damaged(store), f"{store}.sqlite is damaged")
        waiting = "SELECT count(*) FROM store_outbox WHERE is_dead = 0"
        try:
            eventually(lambda: fleet.rows(store, waiting) == [(0,)], f"the outbox of {store} is empty", patience_s)
        except AssertionError:
            raise Wrong(f"the outbox of {store} does not drain") from None
        check(fleet.rows(store, "SELECT count(*) FROM store_outbox WHERE is_dead = 1") == [(0,)], f"{store} has dead letters")
    for what, counted in COUNTS.items():
        found = fleet.rows("notifications", counted)
        check(found == [], f"counts of {what}: {found}")

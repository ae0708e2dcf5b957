"""The judgement of a load on a cluster: what was acknowledged exists once and in order, and what was refused does not exist."""

import base64
import collections
import json

from judge import Wrong, listed, lodge, notifications, pushes, stores, watched
from judge import commits as committed
from load import SYNC

# `at` is the time of the acknowledgement, if there is one.
Finding = collections.namedtuple("Finding", "kind at text")


def judge(load, lanes, patience_s=60):
    """Returns everything that is wrong. All processes must be serving."""
    load.raise_faults()
    fleet, findings = load.fleet, []
    for publisher in [*load.publishers, load.twin]:
        found, _ = listed(fleet, publisher.user)
        findings += titles(publisher, found)
        findings += caught(notifications, fleet, publisher)
        for watcher in load.watchers:
            if watcher.user == publisher.user:
                findings += caught(watched, watcher, publisher, found, patience_s)
    findings += [Finding("wrong", None, f"two answers of one idempotency key: {one}") for one in load.twin.differing]
    findings += lists(fleet, load.appenders)
    findings += caught(committed, fleet, load.committer)
    findings += caught(lodge, fleet, load.lodge)
    findings += caught(pushes, fleet, load.activities)
    findings += caught(stores, fleet, patience_s)
    findings += [Finding("wrong", None, f"two requests to one device at once: {one}") for one in lanes.overlaps]
    return findings


def caught(check, *arguments):
    try:
        check(*arguments)
    except Wrong as fault:
        return [Finding("wrong", None, f"{fault}")]
    return []


def titles(publisher, found):
    """Compares the acknowledged notifications with those that exist."""
    at, counts = publisher.acked, collections.Counter(int(one["title"]) for one in found)
    for title, possible in publisher.there.items():
        if possible == {True} and not counts[title]:
            yield Finding("lost", at.get(title), f"{publisher.user}: {title}")
        if possible == {False} and counts[title] and title not in at:
            yield Finding("wrong", None, f"{publisher.user}: {title} was refused, but exists")
    for title, number in counts.items():
        if number > 1:
            yield Finding("doubled", at.get(title), f"{publisher.user}: {title} exists {number} times")
    order = [int(one["title"]) for one in found if int(one["title"]) in publisher.ids]
    for earlier, later in zip(order, order[1:]):
        if earlier > later:
            yield Finding("reordered", at.get(later), f"{publisher.user}: {earlier} before {later}")


def final_lists(fleet, appenders):
    found = {}
    with fleet.peer(appenders[0].user) as link:
        for number in range(max(one.list for one in appenders) + 2):
            name = f"list-{number}.json"
            answer = link.call(SYNC + "AssetsService/GetAsset", {"name": name, "includeContent": True})
            if "result" in answer:
                found[name] = json.loads(base64.b64decode(answer["result"]["content"]))
    return found


def lists(fleet, appenders):
    """Checks the histories of lists: every read is a prefix of the last state, and contains what was acknowledged before it began."""
    final = final_lists(fleet, appenders)
    places = {}
    for name, numbers in final.items():
        for place, number in enumerate(numbers):
            if number in places:
                yield Finding("doubled", None, f"{number} is in {name} and in {places[number][0]}")
            places[number] = (name, place)
    acked = collections.defaultdict(list)
    for appender in appenders:
        for number, (name, at) in appender.acked.items():
            if places.get(number, ("",))[0] != name:
                yield Finding("lost", at, f"{number} of {name}")
            else:
                acked[name].append((at, places[number][1]))
        for number, (name, at) in appender.failed.items():
            if number in places:
                yield Finding("wrong", at, f"{number} of {name} was refused, but exists")
        strange = set(appender.acked) | set(appender.failed) | set(appender.unknown)
        for number in places:
            if number.startswith(appender.device) and number not in strange and number != f"{appender.device}-{appender.next}":
                yield Finding("wrong", None, f"{number} was never sent")
    for appender in appenders:
        for begun, name, numbers in appender.reads:
            if list(numbers) != final.get(name, [])[:len(numbers)]:
                yield Finding("reordered", begun, f"a read of {name} is no prefix of it: {numbers[-3:]}")
            elif missed := [place for at, place in acked[name] if at < begun and place >= len(numbers)]:
                yield Finding("stale", begun, f"a read of {name} with {len(numbers)} entries misses {len(missed)} acknowledged before")


def undetected(load):
    """Plants a fault of each kind into the records of a load that was judged as good. Returns the kinds that are not found."""
    publisher, appender = load.publishers[0], load.appenders[0]
    found, _ = listed(load.fleet, publisher.user)
    begun, name, numbers = next(read for read in reversed(appender.reads) if len(read[2]) > 2)
    number, ended = next(reversed(appender.acked.items()))

    def kinds(findings):
        return {one.kind for one in findings}

    def of_lists():
        return kinds(lists(load.fleet, load.appenders))

    def with_read(*read):
        appender.reads.append(read)
        try:
            return of_lists()
        finally:
            appender.reads.pop()

    def as_refused():
        appender.failed[number] = appender.acked.pop(number)
        try:
            return of_lists()
        finally:
            appender.acked[number] = appender.failed.pop(number)

    plants = {
        "lost": lambda: kinds(titles(publisher, [one for one in found if int(one["title"]) != max(publisher.ids)])),
        "doubled": lambda: kinds(titles(publisher, [*found, found[-1]])),
        "reordered": lambda: kinds(titles(publisher, found[::-1])) & with_read(begun, name, numbers[::-1]),
        "stale": lambda: with_read(ended[1] + 1, ended[0], ()),
        "wrong": as_refused,
    }
    return [kind for kind, plant in plants.items() if kind not in plant()]

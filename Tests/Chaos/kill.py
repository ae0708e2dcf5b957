"""kill -9 at random moments, and planted faults that the checks must detect."""

import shutil
import sqlite3

from fleet import ORDER, Fleet
from judge import Wrong, judge, listed
from load import MixedLoad

# The traces of possible bugs: a name, the store, and the change to its rows.
PLANTS = [
    ("an acknowledged notification is lost", "notifications",
     "DELETE FROM notifications WHERE rowid = (SELECT max(rowid) FROM notifications WHERE user_id = 'p0')"),
    ("a notification exists twice", "notifications",
     "INSERT INTO notifications SELECT user_id, id || '0', bucket_id, title, subtitle, body, priority, content_json, created_at_ms,"
     " updated_at_ms, read_at_ms, sent_at_ms, version, expires_at_ms, collapse_key, delivery_state, release_at_ms, repeat_json,"
     " send_count FROM notifications WHERE rowid = (SELECT max(rowid) FROM notifications WHERE user_id = 'p0')"),
    ("an unread count is off by one", "notifications",
     "UPDATE users SET unread_count = unread_count - 1 WHERE user_id = 'p1'"),
    ("a read notification is unread again", "notifications",
     "UPDATE notifications SET read_at_ms = NULL WHERE rowid = (SELECT min(rowid) FROM notifications WHERE read_at_ms NOT NULL)"),
    ("two notifications are swapped", "notifications",
     "UPDATE notifications AS n SET title = o.title, body = o.body FROM (SELECT title, body,"
     " (SELECT min(rowid) + max(rowid) FROM notifications WHERE user_id = 'p0') - rowid AS place FROM notifications WHERE rowid IN"
     " ((SELECT min(rowid) FROM notifications WHERE user_id = 'p0'), (SELECT max(rowid) FROM notifications WHERE user_id = 'p0'))) o"
     " WHERE n.rowid = o.place"),
    ("an event is left in the outbox", "sync",
     "INSERT INTO store_outbox VALUES (99999999, 'planted', 'planted', 'k', x'7b7d', 0, 0, 99999999999999, 0, NULL, NULL)"),
    ("an attendance status differs", "attendance", "UPDATE attendance SET status = 1 + status % 3"),
    # Of different marks, some have the same statistics: the number of attended meetings must differ.
    ("a statistic differs from a recount", "attendance", "UPDATE member_years SET marks ="
     " (SELECT m.marks FROM member_years m WHERE length(replace(hex(m.marks), '02', '')) <> length(replace(hex(member_years.marks), '02', ''))"
     " AND length(m.marks) = length(member_years.marks)) WHERE rowid = (SELECT min(rowid) FROM member_years)"),
    ("half of a commit is missing", "sync", "UPDATE assets SET version ="
     " (SELECT max(v.version) FROM versions v WHERE v.zone_no = assets.zone_no AND v.name = assets.name AND v.version < assets.version)"
     " WHERE name = 'left.json'"),
]


def kills(context):
    """Every process is killed at random moments, sometimes two at once, while all clients continue."""
    rounds, batch = context.pick(quick=10, full=500), context.pick(quick=10, full=25)
    victims = []
    while len(victims) < rounds:
        # Each process as often as the others, in random order.
        block = list(ORDER)
        context.random.shuffle(block)
        victims += block
    done = 0
    while done < rounds:
        with context.fleet(f"data{done}") as fleet, context.judged_load(fleet) as load:
            for victim in victims[done:min(done + batch, rounds)]:
                kill(context, fleet, victim, load)
                done += 1
        context.tell(f"{done} rounds, {context.figures['acknowledged']} acknowledged and found")
    context.count(rounds=done)
    assert context.figures["resumed"] > 0 and context.figures["repeats"] > 0, "the kills had no effect"


def kill(context, fleet, victim, load):
    pause = context.random.uniform(0.02, 0.6)
    load.clients[0].stopping.wait(pause)
    also = context.random.choice(ORDER) if context.random.random() < 0.2 else victim
    names = {victim, also}
    for name in names:
        fleet.kill(name)
    context.count(kills=len(names))
    load.clients[0].stopping.wait(context.random.choice([0, 0, 0.3]))
    fleet.start(*[name for name in ORDER if name in names])
    if context.random.random() < 0.5:
        load.all_served(1)


def plants(context):
    """Tests the checks: the traces of possible bugs are planted in the stores, one at a time, and each must be detected."""
    fleet = Fleet(context.folder / "data", users=MixedLoad.users()).start()
    load = MixedLoad(fleet, context.random.randrange(1 << 30))
    with load:
        load.all_served(40)
    judge(load)
    for watcher in load.watchers:
        watcher.stopping.set()
        watcher.join(10)
    fleet.stop()
    copy = context.folder / "copy"
    shutil.copytree(fleet.folder, copy, symlinks=True)
    missed = []
    for name, store, statement in context.pick(quick=context.random.sample(PLANTS, 4), full=PLANTS):
        plant(fleet.folder / f"{store}.sqlite", statement)
        fleet.start()
        try:
            judge(load, patience_s=2)
            missed.append(name)
        except Wrong as seen:
            context.tell(f"planted «{name}», detected as: {str(seen).splitlines()[0][:120]}")
        fleet.stop()
        for file in fleet.folder.glob("*.sqlite*"):
            file.unlink()
        for file in copy.glob("*.sqlite*"):
            shutil.copy2(file, fleet.folder / file.name)
        context.count(planted=1)
    # Events that are reported twice, not at all, or out of order.
    fleet.start()
    judge(load)
    watcher = load.watchers[0]
    last = next(one["id"] for one in reversed(listed(fleet, watcher.user)[0]))
    for name, told in (("an event is reported twice", watcher.created + watcher.created[-1:]),
                       ("an event is missing", [one for one in watcher.created if one != last]),
                       ("events are out of order", watcher.created[1:] + watcher.created[:1])):
        kept, watcher.created = watcher.created, told
        try:
            judge(load, patience_s=1)
            missed.append(name)
        except Wrong:
            pass
        watcher.created = kept
        context.count(planted=1)
    fleet.stop()
    assert not missed, f"not detected: {missed}"


def plant(path, statement):
    with sqlite3.connect(path, timeout=20) as database:
        changed = database.execute(statement).rowcount
    database.close()
    assert changed > 0, f"nothing was planted by {statement}"

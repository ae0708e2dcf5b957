"""Computes the end of quiet hours with Python's zoneinfo. Prints one JSON array per line: [zone, windows, now in ms, end in ms or null].

Usage: quiet_hours_oracle.py COUNT SEED
"""

import bisect
import json
import random
import sys
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

ZONES = [
    "Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia",
    "America/Sao_Paulo", "Africa/Cairo", "Europe/Dublin", "America/St_Johns", "Pacific/Chatham", "Antarctica/Troll",
    "America/Caracas", "Europe/Istanbul", "Asia/Tehran", "UTC",
]
FROM, TO = 1_262_304_000, 2_051_222_400  # 2010 to 2035
LENGTH_MAX_MS = 15 * 86_400_000


def offset(zone, second):
    return datetime.fromtimestamp(second, zone).utcoffset()


def transitions(zone):
    found = []
    step = 6 * 3600
    before = offset(zone, FROM)
    for second in range(FROM + step, TO, step):
        after = offset(zone, second)
        if after != before:
            low, high = second - step, second
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
            found.append(high)
        before = after
    return found


def instants(zone, local):
    """Returns the first and last second at which clocks show a local time. If they skip it, returns the instant of the change twice."""
    shown = [int(local.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1)]
    real = [s for s in shown if datetime.fromtimestamp(s, zone).replace(tzinfo=None) == local]
    if real:
        return min(real), max(real)
    low, high = min(shown), max(shown)
    after = offset(zone, high)
    seconds = range(low, high + 1)
    change = low + bisect.bisect_left(seconds, True, key=lambda s: offset(zone, s) == after)
    return change, change


def minutes(text):
    return int(text[:2]) * 60 + int(text[3:])


def release(zone, windows, now_ms):
    today = datetime.fromtimestamp(now_ms // 1000, zone).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0)
    spans = []
    for delta in range(-3, 19):
        day = today + timedelta(days=delta)
        for window in windows:
            if window["days"] and day.isoweekday() not in window["days"]:
                continue
            start, end = minutes(window["start"]), minutes(window["end"])
            end += 0 if end > start else 1440
            first = instants(zone, day + timedelta(minutes=start))[0]
            last = instants(zone, day + timedelta(minutes=end))[1]
            if last > first:
                spans.append((first * 1000, last * 1000))
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    for start, end in merged:
        if start <= now_ms < end:
            return min(end, now_ms + LENGTH_MAX_MS)
    return None


def text(minute):
    return f"{minute // 60:02d}:{minute % 60:02d}"


def main(count, seed):
    chance = random.Random(seed)
    zones = {name: ZoneInfo(name) for name in ZONES}
    changes = {name: transitions(zone) for name, zone in zones.items()}
    for _ in range(count):
        name = chance.choice(ZONES)
        zone = zones[name]
        change = chance.choice(changes[name]) if changes[name] and chance.random() < 0.6 else None
        if change is None:
            now_ms = chance.randrange(FROM * 1000, TO * 1000)
        else:
            now_ms = (change + chance.randrange(-36 * 3600, 36 * 3600)) * 1000 + chance.choice([0, 1, 999])
        near = datetime.fromtimestamp((change or FROM) - 1, zone)
        near_minute = near.hour * 60 + near.minute

        def minute():
            if change is not None and chance.random() < 0.6:
                return (near_minute + chance.choice([-30, -1, 0, 1, 15, 30, 31, 60, 61, 90, 121])) % 1440
            return chance.randrange(1440)

        windows = []
        for _ in range(chance.choice([1, 1, 2, 3, 5])):
            days = chance.choice([[], sorted(chance.sample(range(1, 8), chance.randrange(1, 7)))])
            start = minute()
            end = chance.choice([minute(), minute(), 1440, (start + 1439) % 1440, start])
            if start == end and not days:
                days = [chance.randrange(1, 8)]
            windows.append({"days": days, "start": text(start), "end": text(end)})
        print(json.dumps([name, windows, now_ms, release(zone, windows, now_ms)]))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

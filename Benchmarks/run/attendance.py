"""Measures Attendance with ten years of a lodge: recording, statistics, summaries, exports, and another time zone. See scripts/bench."""

import datetime
import statistics
import tempfile
import time

from bench import LOOP, Link, load, median, request, rss_mb, run, service

PACKAGE = "campanile.attendance.v1."
ADMIN = {"campanile-principal": "service/bench", "campanile-scopes": "admin"}
MEMBERS, YEARS, PER_YEAR = 5_000, range(2016, 2026), 50
YEAR = YEARS[-1]
STATUSES = ["PRESENT", "ABSENT", "PRESENT", "EXCUSED", "PRESENT", "NOT_CONFIRMED", "PRESENT"]
# Reads: their parameters, unit and target.
STATISTICS = {"all years": {}, "a year": {"year": YEAR}, "as of a day": {"asOfDate": f"{YEAR}-06-30"}}
LISTS = {
    "summary of 1,000 members, a year": ("ListMemberSummaries", {"year": YEAR, "pageSize": 1000}, {"at_most": 6}),
    "summary of 1,000 members, all years": ("ListMemberSummaries", {"pageSize": 1000}, {}),
    "members absent for a year": ("ListAbsentees", {"sinceDate": f"{YEAR - 1}-06-30"}, {}),
}


def ask(link, method, params):
    return link.ask(PACKAGE + method, params)


def joined(k):
    """A tenth of the members joined in the middle."""
    return "2010-01-01" if k % 10 else f"20{18 + k // 10 % 5}-06-01"


def fill(link, rows):
    """Creates members, meetings and 2.4 million records. Returns the id of the last meeting."""
    link.ask_all(PACKAGE + "MembersService/CreateMember", [
        {"member": {"name": f"Member number {k:05}", "initiationDate": joined(k)}} for k in range(MEMBERS)], in_flight=1)
    spent, records = 0.0, 0
    for number in range(len(YEARS) * PER_YEAR):
        start = datetime.datetime(YEARS[number // PER_YEAR], 1, 7, 18, 30) + datetime.timedelta(days=7 * (number % PER_YEAR))
        text = start.strftime("%Y-%m-%dT%H:%M:%SZ")
        meeting = ask(link, "MeetingsService/CreateMeeting", {"meeting": {"startTime": text, "discussion": f"Evening {text}"}})["meeting"]["id"]
        entries = [{"memberId": f"m_{k + 1}", "status": f"ATTENDANCE_STATUS_{STATUSES[(k * 31 + number * 17) % len(STATUSES)]}"}
                   for k in range(MEMBERS) if joined(k) <= text[:10]]
        started = time.monotonic()
        for at in range(0, len(entries), 1_000):
            ask(link, "AttendanceService/RecordMeetingAttendance", {"meetingId": meeting, "entries": entries[at:at + 1_000]})
        spent += time.monotonic() - started
        records += len(entries)
        ask(link, "MeetingsService/UpdateMeeting", {"meeting": {"id": meeting, "status": "MEETING_STATUS_COMPLETED"}})
    rows.add(f"recorded in calls of 1,000, until there are {records:,} records", records / spent, "a second")
    return meeting


def read(rows, folder):
    with service("campanile-attendance", *LOOP, directory=folder) as (_, ports, _):
        call = lambda method, params: request(f"{PACKAGE}StatisticsService/{method}", params, ADMIN)
        for name, params in STATISTICS.items():
            one = call("GetMemberStatistics", {"memberId": "m_1234", **params})
            rate = median(lambda: load(ports["rpc"], one, duration_ms=1_000)[0], 7)
            rows.add(f"statistics of one member, {name}, 1 x 64, S", rate, "calls/s", at_least=20_000)
        for name, (method, params, limits) in LISTS.items():
            p50 = load(ports["rpc"], call(method, params), in_flight=1)[1]
            rows.add(f"{name}, p50, S", p50 / 1_000, "ms", **limits)


def record(rows, folder, meeting):
    # The last status of a member differs from the first, so that every record is a change.
    changes = [request(PACKAGE + "AttendanceService/RecordAttendance", {
        "meetingId": meeting, "memberId": f"m_{k % MEMBERS + 1}",
        "status": f"ATTENDANCE_STATUS_{'PRESENT' if k // MEMBERS % 2 else 'ABSENT'}"}, ADMIN) for k in range(2 * MEMBERS)]
    with service("campanile-attendance", directory=folder, pinned=False) as (_, ports, _):
        rate = median(lambda: load(ports["rpc"], changes, pinned=False)[0], 7)
        rows.add("recorded one by one, durable, 64 in flight", rate, "calls/s", at_least=15_000)


def export(rows, folder):
    with service("campanile-attendance", directory=folder, pinned=False) as (process, ports, _):
        for table in ("SUMMARY", "ATTENDANCE"):
            times, highest = [], 0.0
            for _ in range(15):
                with Link(ports["rpc"], ADMIN) as link:
                    started, size = time.monotonic(), 0
                    for count, frame in enumerate(link.stream(PACKAGE + "LodgeService/ExportCsv", {"table": f"CSV_TABLE_{table}", "year": YEAR})):
                        size += len(frame)
                        if count % 16 == 0:
                            highest = max(highest, rss_mb(process.pid))
                    times.append((time.monotonic() - started) * 1_000)
            rows.add(f"export of a year, {table.lower()}, {size / 1e6:.1f} MB", statistics.median(times), "ms", at_most=300)
            rows.add("  RSS with it, the highest of all", highest, "MB", at_most=80)


def change_zone(rows, folder):
    """Changes the time zone, which moves the day of most meetings: all counts are recomputed in one transaction."""
    with service("campanile-attendance", directory=folder, pinned=False) as (_, ports, _), Link(ports["rpc"], ADMIN) as link:
        started = time.monotonic()
        ask(link, "LodgeService/UpdateLodgeSettings", {"settings": {"timeZone": "Pacific/Auckland"}})
        rows.add("another time zone: everything recomputed", time.monotonic() - started, "s")


def lodge(rows, _):
    with tempfile.TemporaryDirectory() as folder:
        with service("campanile-attendance", directory=folder, pinned=False) as (_, ports, _), Link(ports["rpc"], ADMIN) as link:
            meeting = fill(link, rows)
        read(rows, folder)
        record(rows, folder, meeting)
        export(rows, folder)
        change_zone(rows, folder)


if __name__ == "__main__":
    run(__doc__, {"lodge": lodge})

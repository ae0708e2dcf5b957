"""Benchmarks Attendance with 5,000 members and 500 meetings: statistics, summary, recording, export; and the growth by a month.
See scripts/bench."""

import argparse
import base64
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import struct
import sys
import tempfile
import time

from bench import ROOT, Rows, hello, load, rss_mb, service

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402

TOKEN = "internal-token-of-the-benchmarks"
PACKAGE = "campanile.attendance.v1."
ADMIN = {"campanile-principal": "service/bench", "campanile-scopes": "admin"}
LOOP = ["--event-loop-threads", "1"]
MEMBERS = 5_000
YEARS = range(2016, 2026)
PER_YEAR = 50
STATUSES = ["PRESENT", "ABSENT", "PRESENT", "EXCUSED", "PRESENT", "NOT_CONFIRMED", "PRESENT"]


class Link(Peer):
    """A connection with all permissions."""

    def __init__(self, port):
        super().__init__(port, timeout_s=300)
        self.hello(TOKEN)

    def ask(self, method, params):
        answer = self.call(PACKAGE + method, params, metadata=ADMIN, timeoutMs=300_000)
        if "error" in answer:
            raise RuntimeError(f"{method}: {reason(answer)} {answer['error']['message']}")
        return answer["result"]

    def stream(self, method, params):
        """Yields the frames of a server stream without decoding them."""
        self.send({"jsonrpc": "2.0", "id": "s", "method": PACKAGE + method, "params": params, "metadata": ADMIN})
        self.send({"jsonrpc": "2.0", "method": "rpc.credit", "params": {"id": "s", "messages": 1_000_000}})
        while (frame := self.receive_raw()).find(b'"rpc.message"', 0, 60) >= 0:
            yield frame
        if b'"error"' in frame[:60]:
            raise RuntimeError(frame[:500])

    def import_csv(self, table, text):
        self.send({"jsonrpc": "2.0", "id": "i", "method": PACKAGE + "LodgeService/ImportCsv", "metadata": ADMIN})
        pieces = [{"header": {"table": table}}]
        data = text.encode()
        for start in range(0, len(data), 48_000):
            pieces.append({"chunk": base64.b64encode(data[start:start + 48_000]).decode()})
        for piece in pieces:
            self.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": "i", "message": piece}})
        self.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": "i"}})
        while (answer := self.receive()).get("id") != "i":
            pass
        if "error" in answer or not answer["result"].get("committed"):
            raise RuntimeError(f"import: {answer}")
        return answer["result"]


def starts(year, count):
    first = datetime.datetime(year, 1, 7, 18, 30, tzinfo=datetime.timezone.utc)
    return [first + datetime.timedelta(days=7 * k) for k in range(count)]


def fill(link, rows):
    """Creates members, meetings and 2.5 million records. Returns the meetings by year."""
    lines = ["name,initiation_date,degree"]
    for k in range(MEMBERS):
        # A tenth of the members joined in between.
        joined = "2010-01-01" if k % 10 else f"20{18 + k // 10 % 5}-06-01"
        lines.append(f"Member number {k:05},{joined},{['apprentice', 'fellow', 'master'][k % 3]}")
    link.import_csv("CSV_TABLE_MEMBERS", "\n".join(lines) + "\n")
    meetings, spent, records = {}, 0.0, 0
    for year in YEARS:
        meetings[year] = []
        for start in starts(year, PER_YEAR):
            identifier, seconds, count = hold(link, start)
            meetings[year].append(identifier)
            spent += seconds
            records += count
    rows.add(f"recorded in batches of 1,000, until there are {records:,} records", records / spent, "a second")
    return meetings


def hold(link, start):
    """Holds a meeting and records every member. Returns its id, the seconds spent recording, and the number of records."""
    text = start.strftime("%Y-%m-%dT%H:%M:%SZ")
    meeting = link.ask("MeetingsService/CreateMeeting", {"meeting": {"startTime": text, "discussion": f"Evening {text}"}})["meeting"]
    number, day, count = meeting["number"], text[:10], 0
    started = time.monotonic()
    for first in range(0, MEMBERS, 1_000):
        entries = []
        for k in range(first, first + 1_000):
            joined = "2010-01-01" if k % 10 else f"20{18 + k // 10 % 5}-06-01"
            if joined <= day:
                status = STATUSES[(k * 31 + int(number) * 17) % len(STATUSES)]
                entries.append({"memberId": f"m_{k + 1}", "status": f"ATTENDANCE_STATUS_{status}"})
        link.ask("AttendanceService/BatchRecordAttendance", {"meetingId": meeting["id"], "entries": entries})
        count += len(entries)
    spent = time.monotonic() - started
    link.ask("MeetingsService/UpdateMeeting", {"meeting": {"id": meeting["id"], "status": "MEETING_STATUS_COMPLETED"}})
    return meeting["id"], spent, count


def request(method, params):
    return {"jsonrpc": "2.0", "id": "@ID@", "method": PACKAGE + method, "params": params, "metadata": ADMIN}


def record_rate(port, meeting, count):
    """Returns the single records per second with 64 in flight, each a change: one connection, with prepared frames."""
    frames = []
    for k in range(count):
        # The last status of a member differs from the first, so that the next run changes every record as well.
        status = "PRESENT" if k // MEMBERS % 2 else "ABSENT"
        body = json.dumps({"jsonrpc": "2.0", "id": k, "method": PACKAGE + "AttendanceService/RecordAttendance", "metadata": ADMIN,
                           "params": {"meetingId": meeting, "memberId": f"m_{k % MEMBERS + 1}",
                                      "status": f"ATTENDANCE_STATUS_{status}"}}).encode()
        frames.append(struct.pack(">I", len(body)) + body)
    with Link(port) as link:
        plain, buffer, sent, done = link.socket, bytearray(), 64, 0
        started = time.monotonic()
        plain.sendall(b"".join(frames[:64]))
        while done < count:
            buffer += plain.recv(1 << 18)
            at, finished = 0, 0
            while len(buffer) - at >= 4 and len(buffer) - at >= (size := 4 + int.from_bytes(buffer[at:at + 4], "big")):
                if buffer.find(b'"error"', at, at + 60) >= 0:
                    raise RuntimeError(bytes(buffer[at + 4:at + size]))
                at += size
                finished += 1
            del buffer[:at]
            done += finished
            if sent < count and finished:
                plain.sendall(b"".join(frames[sent:sent + finished]))
                sent += finished
        return count / (time.monotonic() - started)


def answer_ms(port, method, params, calls=30):
    """Returns the median milliseconds from a request to the last byte of its response, both sides on one core."""
    cores, times = os.sched_getaffinity(0), []
    os.sched_setaffinity(0, {0})
    try:
        with Link(port) as link:
            frame, buffer = link.frame(request(method, params)), bytearray(8 << 20)
            view = memoryview(buffer)
            for _ in range(calls):
                started = time.perf_counter()
                link.socket.sendall(frame)
                have, size = 0, 4
                while have < size:
                    have += link.socket.recv_into(view[have:])
                    if have >= 4:
                        size = 4 + int.from_bytes(buffer[:4], "big")
                times.append((time.perf_counter() - started) * 1_000)
                if b'"error"' in buffer[:60]:
                    raise RuntimeError(bytes(buffer[:500]))
    finally:
        os.sched_setaffinity(0, cores)
    return statistics.median(times)


def export(port, process, table, year):
    """Returns the milliseconds and bytes of an export, and the maximum RSS in MB during it."""
    size, highest = 0, 0.0
    with Link(port) as link:
        started = time.monotonic()
        for count, frame in enumerate(link.stream("LodgeService/ExportCsv", {"table": f"CSV_TABLE_{table}", "year": year})):
            size += len(frame)
            if count % 16 == 0:
                highest = max(highest, rss_mb(process.pid))
        spent = (time.monotonic() - started) * 1_000
    return spent, size, max(highest, rss_mb(process.pid))


def recount(directory, year):
    """Computes the same values from the records with SQL in this process. Returns the statistics per second, and the summary's milliseconds."""
    database = sqlite3.connect(pathlib.Path(directory) / "attendance.sqlite")
    one = """SELECT sum(a.status = 1), sum(a.status = 2), sum(a.status = 3), count(*) FROM meetings m LEFT JOIN attendance a
             ON a.meeting_no = m.number AND a.member_no = ? WHERE m.status = 2"""
    started, count = time.perf_counter(), 300
    for k in range(count):
        database.execute(one, (k + 1,)).fetchall()
    rate = count / (time.perf_counter() - started)
    every = """SELECT p.number, p.name, sum(a.status = 1), sum(a.status = 2), sum(a.status = 3), count(*) FROM members p
               JOIN meetings m ON m.status = 2 AND m.year = ? LEFT JOIN attendance a ON a.meeting_no = m.number
               AND a.member_no = p.number GROUP BY p.number ORDER BY p.name_key"""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        database.execute(every, (year,)).fetchall()
        times.append((time.perf_counter() - started) * 1_000)
    database.close()
    return rate, statistics.median(times)


def turns(measures, runs=7):
    """Returns the results of each measure. They run in turns, so that other load on the machine affects all of them."""
    return list(zip(*[[one() for one in measures] for _ in range(runs)]))


def both(folders, pinned, *arguments):
    """Runs a service for each folder concurrently. Yields a list of processes and ports."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(service("campanile-attendance", *arguments, token=TOKEN, directory=folder, pinned=pinned))[:2]
               for folder in folders]


def add(rows, name, unit, values, baseline=None, is_rate=False, **target):
    """Adds a row for the original lodge, with its targets, and one for the lodge a month later, which may be 1.3 times slower."""
    before, after = (statistics.median(column) for column in values)
    rows.add(name, before, unit, baseline, **target)
    grown = {"ratio_at_least": round(1 / 1.3, 3)} if is_rate else {"ratio_at_most": 1.3}
    ratio = statistics.median(later / earlier for earlier, later in zip(*values))
    rows.add("  a month later, by turns with it", after, unit, before, **target, **grown, ratio=ratio)


def measure(rows, folders, year, meeting):
    plain_rate, plain_ms = recount(folders[0], year)
    for services in both(folders, True, *LOOP):
        ports = [ports["rpc"] for _, ports in services]
        for name, params in (("all years", {}), ("a year", {"year": year}), ("as of a day", {"asOfDate": f"{year}-06-30"})):
            one = request("StatisticsService/GetMemberStatistics", {"memberId": "m_1234", **params})
            rates = turns([lambda port=port: load(port, one, hello=hello(TOKEN), duration_ms=1_000)[0] for port in ports])
            add(rows, f"statistics of one member, {name}, 1 x 64, S", "calls/s", rates, plain_rate, True, at_least=20_000)
        for name, params in (("a year", {"year": year}), ("all years", {})):
            spent = turns([lambda port=port: answer_ms(port, "StatisticsService/ListMemberSummaries", params, 10) for port in ports])
            target = {"at_most": 30} if name == "a year" else {}
            add(rows, f"summary of all members, {name}, p50, S", "ms", spent, plain_ms if name == "a year" else None, **target)
        spent = turns([lambda port=port: answer_ms(port, "StatisticsService/ListAbsentees", {"sinceDate": f"{year - 1}-06-30"}, 5)
                       for port in ports])
        add(rows, "who has not come for a year, S", "ms", spent)
    for services in both(folders, False):
        ports = [ports["rpc"] for _, ports in services]
        add(rows, "recorded one by one, durable, 64 in flight", "calls/s",
            turns([lambda port=port: record_rate(port, meeting, 4 * MEMBERS) for port in ports]), None, True,
            at_least=15_000)
    for services in both(folders, False):
        for table in ("SUMMARY", "ATTENDANCE"):
            found = turns([lambda process=process, ports=ports: export(ports["rpc"], process, table, year)
                           for process, ports in services], 15)
            add(rows, f"export of a year, {table.lower()}, {found[0][0][1] / 1e6:.1f} MB", "ms",
                [[one[0] for one in column] for column in found], at_most=300)
            rows.add("  RSS with it, the highest of all", max(one[2] for column in found for one in column), "MB", at_most=80)


def grow(folder, rows):
    """Adds a month: four meetings with a record of every member."""
    with service("campanile-attendance", token=TOKEN, directory=folder, pinned=False) as (_, ports, _):
        with Link(ports["rpc"]) as link:
            started = time.monotonic()
            for start in starts(YEARS[-1], PER_YEAR + 4)[PER_YEAR:]:
                hold(link, start - datetime.timedelta(hours=5))
            rows.add("a month more: 4 meetings with 5,000 records each", time.monotonic() - started, "s")


def change_zone(folder, rows):
    """Changes the time zone, which moves the day of most meetings: all counts are recomputed in one transaction."""
    with service("campanile-attendance", token=TOKEN, directory=folder, pinned=False) as (_, ports, _):
        with Link(ports["rpc"]) as link:
            started = time.monotonic()
            link.ask("LodgeService/UpdateLodgeSettings", {"settings": {"timeZone": "Pacific/Auckland"}})
            rows.add("another time zone: all of it counted anew", time.monotonic() - started, "s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the filled database, to reuse it in later runs")
    arguments = parser.parse_args()
    rows = Rows()
    rows.head()
    with tempfile.TemporaryDirectory() as own:
        folders = [pathlib.Path(arguments.keep or own) / name for name in ("before", "after")]
        if not (folders[0] / "attendance.sqlite").exists():
            folders[0].mkdir(parents=True, exist_ok=True)
            with service("campanile-attendance", token=TOKEN, directory=folders[0], pinned=False) as (_, ports, _):
                with Link(ports["rpc"]) as link:
                    fill(link, rows)
        shutil.rmtree(folders[1], ignore_errors=True)
        shutil.copytree(folders[0], folders[1])
        grow(folders[1], rows)
        measure(rows, folders, YEARS[-1], f"t_{len(YEARS) * PER_YEAR}")
        change_zone(folders[1], rows)
    rows.write(arguments.json)


if __name__ == "__main__":
    main()

"""Kills Attendance repeatedly under load from several callers through the gateway, then recomputes all statistics."""

import os
import random
import signal
import threading

from attendance import Link, Lodge
from campanile import eventually

STATUSES = [f"ATTENDANCE_STATUS_{word}" for word in ("PRESENT", "ABSENT", "EXCUSED", "NOT_CONFIRMED")]
KILLS = int(os.environ.get("CAMPANILE_CRASH_ROUNDS", "3"))


class Worker(threading.Thread):
    """Changes records that no other worker changes.

    `possible` holds the values that each record may have: the last acknowledged one, and later ones of unknown outcome.
    """

    def __init__(self, port, key, seed, own, meetings):
        super().__init__(daemon=True)
        self.port, self.key, self.own, self.meetings = port, key, own, meetings
        self.random = random.Random(seed)
        self.stopping, self.acknowledged, self.failed, self.fault = threading.Event(), 0, 0, None
        self.possible = {}

    def run(self):
        link = None
        try:
            while not self.stopping.is_set():
                try:
                    link = link or Link(self.port, self.key)
                    self.step(link)
                except OSError:
                    self.failed += 1
                    link = None
        except Exception as fault:  # noqa: BLE001 - reported by the test
            self.fault = fault

    def step(self, link):
        """Makes one change and waits for its acknowledgement."""
        evening = self.random.choice(self.meetings)
        entries = {one: self.random.choice(STATUSES) for one in self.random.sample(self.own, self.random.choice([1, 1, 3]))}
        for one, status in entries.items():
            self.possible.setdefault((evening, one), {None}).add(status)
        if len(entries) == 1:
            (one, status), = entries.items()
            answer = link.answer("AttendanceService/RecordAttendance", {"meetingId": evening, "memberId": one, "status": status}, {})
        else:
            answer = link.answer("AttendanceService/RecordMeetingAttendance", {
                "meetingId": evening, "entries": [{"memberId": one, "status": status} for one, status in entries.items()]}, {})
        if self.took(answer):
            for one, status in entries.items():
                self.possible[evening, one] = {status}

    def took(self, answer):
        """Whether a change was acknowledged. Any error except UNAVAILABLE and DEADLINE_EXCEEDED fails the test."""
        if answer is None:
            raise ConnectionResetError
        if "error" in answer:
            assert answer["error"]["data"]["status"] in ("UNAVAILABLE", "DEADLINE_EXCEEDED"), answer
            self.failed += 1
            self.stopping.wait(0.05)
            return False
        self.acknowledged += 1
        return True


class Secretary(Worker):
    """Completes, moves and reopens meetings, and corrects initiation dates, so that statistics are rebuilt often."""

    def step(self, link):
        one, day = self.random.choice(self.meetings), self.random.randrange(1, 28)
        if self.random.random() < 0.3:
            change = {"member": {"id": self.random.choice(self.own), "initiationDate": f"2025-{self.random.randrange(1, 13):02}-{day:02}"}}
            return self.took(link.answer("MembersService/UpdateMember", change, {}))
        status = self.random.choice(["COMPLETED", "COMPLETED", "SCHEDULED"])
        change = {"meeting": {"id": one, "status": f"MEETING_STATUS_{status}",
                              "startTime": f"202{self.random.randrange(5, 7)}-01-{day:02}T23:{self.random.randrange(60):02}:00Z"}}
        return self.took(link.answer("MeetingsService/UpdateMeeting", change, {}))


def test_statistics_equal_a_recount_after_kills_under_load(start):
    suite = start("data").wait_ready()
    key, port = suite.endpoints["gateway"]["adminKey"], suite.endpoints["gateway"]["rpc"]
    with Link(port, key) as link:
        members = [link.ask("MembersService/CreateMember", {"member": {"name": f"Member {k}"}}, {})["member"]["id"] for k in range(24)]
        new = [link.ask("MembersService/CreateMember", {"member": {"name": f"New {k}"}}, {})["member"]["id"] for k in range(6)]
        fixed = [made(link, f"2026-02-{k + 1:02}T19:00:00Z") for k in range(6)]
        moving = [made(link, f"2026-01-{k + 1:02}T19:00:00Z") for k in range(6)]
    workers = [Worker(port, key, k, members[k::4], fixed + moving) for k in range(4)] + [Secretary(port, key, 9, new, moving)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(KILLS):
            all_served(workers)
            process = suite.children()["attendance"]
            os.kill(process, signal.SIGKILL)
            eventually(lambda: suite.children().get("attendance", process) != process, "attendance is restarted")
        all_served(workers)
    finally:
        for worker in workers:
            worker.stopping.set()
        for worker in workers:
            worker.join(60)
    assert [worker.fault for worker in workers] == [None] * len(workers)
    assert sum(worker.failed for worker in workers) > 0
    with Link(port, key) as link:
        lodge = Lodge(link, {})
        assert len(lodge.members) == 30 and len(lodge.meetings) == 12
        for worker in workers[:4]:
            for place, possible in worker.possible.items():
                found = lodge.records.get(place)
                assert (found and found["status"]) in possible, (place, possible)
        lodge.check(link, {})
        messages, last = link.stream("LodgeService/VerifyAuditLog", {}, {})
        assert "error" not in last and messages[-1]["intact"]


def all_served(workers):
    before = [worker.acknowledged for worker in workers]
    eventually(lambda: all(worker.fault or worker.acknowledged > count + 20 for worker, count in zip(workers, before)),
               "every caller is served")


def made(link, start_time):
    return link.ask("MeetingsService/CreateMeeting", {"meeting": {
        "startTime": start_time, "discussion": "The pillars", "status": "MEETING_STATUS_COMPLETED"}}, {})["meeting"]["id"]

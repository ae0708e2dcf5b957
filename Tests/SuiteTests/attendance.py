"""Calls Attendance for tests, and computes the statistics that it should return."""

import base64
import datetime
import itertools
import pathlib
import sys
import zoneinfo

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402

TOKEN = "internal-token-of-the-attendance-tests"
PACKAGE = "campanile.attendance.v1."
ADMIN = {"campanile-principal": "service/test", "campanile-scopes": "admin"}


def user(name):
    return {"campanile-principal": f"user/{name}"}


class Link(Peer):
    """A connection with a token. With the internal token, its metadata may name the caller."""

    def __init__(self, port, token=TOKEN):
        super().__init__(port, timeout_s=60)
        self.hello(token)

    def answer(self, method, params=None, metadata=ADMIN):
        return self.call(PACKAGE + method, params or {}, metadata=metadata)

    def ask(self, method, params=None, metadata=ADMIN):
        answer = self.answer(method, params, metadata)
        assert "error" not in answer, answer
        return answer["result"]

    def refusal(self, method, params=None, metadata=ADMIN):
        """Status and reason of a refused call, such as `NOT_FOUND MEMBER_NOT_FOUND`."""
        answer = self.answer(method, params, metadata)
        assert "error" in answer, answer
        return f"{answer['error']['data']['status']} {reason(answer)}"

    def stream(self, method, params=None, metadata=ADMIN):
        """The messages of a server stream and its last frame."""
        self.send({"jsonrpc": "2.0", "id": "s", "method": PACKAGE + method, "params": params or {}, "metadata": metadata})
        messages = []
        while (frame := self.receive()).get("method") == "rpc.message":
            messages.append(frame["params"]["message"])
            self.grant("s")
        return messages, frame

    def import_csv(self, table, text, metadata=ADMIN, dry_run=False, piece_bytes=40_000):
        self.send({"jsonrpc": "2.0", "id": "i", "method": PACKAGE + "LodgeService/ImportCsv", "metadata": metadata})
        data = text if isinstance(text, bytes) else text.encode()
        self.message({"header": {"table": f"CSV_TABLE_{table}", "dryRun": dry_run}})
        for start in range(0, len(data), piece_bytes):
            self.message({"chunk": base64.b64encode(data[start:start + piece_bytes]).decode()})
        self.send({"jsonrpc": "2.0", "method": "rpc.end", "params": {"id": "i"}})
        return self.until("i")

    def message(self, message):
        self.send({"jsonrpc": "2.0", "method": "rpc.message", "params": {"id": "i", "message": message}})

    def until(self, identifier):
        while (answer := self.receive()) is not None and answer.get("id") != identifier:
            pass
        return answer


def member(link, name, **fields):
    return link.ask("MembersService/CreateMember", {"member": {"name": name, **fields}})["member"]


def meeting(link, start="2026-01-10T19:00:00Z", **fields):
    return link.ask("MeetingsService/CreateMeeting", {"meeting": {"startTime": start, "discussion": "The pillars", **fields}})["meeting"]


def pages(link, method, field, params=None, metadata=ADMIN):
    """All items of a list, over all its pages."""
    found, token = [], ""
    while True:
        answer = link.ask(method, {**(params or {}), "pageSize": 7, "pageToken": token}, metadata)
        found += answer.get(field, [])
        token = answer.get("nextPageToken", "")
        if not token:
            return found


class Lodge:
    """The lodge's members, meetings and records, and the statistics that their definition yields from them."""

    def __init__(self, link, metadata=ADMIN):
        self.members = pages(link, "MembersService/ListMembers", "members", {"includeInactive": True}, metadata)
        self.meetings = pages(link, "MeetingsService/ListMeetings", "meetings", {}, metadata)
        self.records = {}
        for one in self.meetings:
            listed = pages(link, "AttendanceService/ListMeetingAttendance", "attendances", {"meetingId": one["id"]}, metadata)
            for record in listed:
                assert (one["id"], record["memberId"]) not in self.records, "two records of a member and a meeting"
                self.records[one["id"], record["memberId"]] = record
        settings = link.ask("LodgeService/GetLodgeSettings", {}, metadata)["settings"]
        self.zone = zoneinfo.ZoneInfo(settings["timeZone"])

    def day(self, one):
        start = datetime.datetime.fromisoformat(one["startTime"].replace("Z", "+00:00"))
        return start.astimezone(self.zone).date().isoformat(), one["startTime"], one["number"].rjust(20)

    def statistics(self, member, year=0):
        """A member's statistics as ProtoJSON, without zeros. Excused absences affect neither streaks nor rates."""
        eligible = sorted(
            (one for one in self.meetings if one["status"] == "MEETING_STATUS_COMPLETED"
             and self.day(one)[0] >= member.get("initiationDate", "") and year in (0, int(self.day(one)[0][:4]))), key=self.day)
        statuses = [self.records.get((one["id"], member["id"]), {}).get("status", "").removeprefix("ATTENDANCE_STATUS_")
                    for one in eligible]
        present, absent, excused = (statuses.count(word) for word in ("PRESENT", "ABSENT", "EXCUSED"))
        counted = len(statuses) - excused
        runs = [len(list(run)) if came else 0
                for came, run in itertools.groupby((word for word in statuses if word != "EXCUSED"), lambda word: word == "PRESENT")]
        figures = {
            "eligibleCount": len(statuses), "countedCount": counted, "presentCount": present, "absentCount": absent,
            "excusedCount": excused, "unconfirmedCount": len(statuses) - present - absent - excused,
            "rate": present / counted if counted else 0,
            "percentage": (200 * present + counted) // (2 * counted) if counted else 0,
            "currentStreak": runs[-1] if runs else 0, "bestStreak": max(runs, default=0)}
        return {key: value for key, value in figures.items() if value}

    def check(self, link, metadata=ADMIN):
        """Asserts that all statistics of the service equal those computed here."""
        years = {0} | {int(self.day(one)[0][:4]) for one in self.meetings}
        for year in years:
            summary = pages(link, "StatisticsService/ListMemberSummaries", "summaries", {"year": year, "includeInactive": True}, metadata)
            assert {one["memberId"]: one.get("statistics", {}) for one in summary} == {
                one["id"]: self.statistics(one, year) for one in self.members}
            for one in self.members:
                told = link.ask("StatisticsService/GetMemberStatistics", {"memberId": one["id"], "year": year}, metadata)
                assert told.get("statistics", {}) == self.statistics(one, year), (one, year)

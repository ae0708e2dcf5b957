"""Attendance as a real process: streams, files, crashes, credentials and hostile callers."""

import base64
import csv
import io
import json
import pathlib
import random
import sys
import threading
import urllib.request

import icalendar
import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402
from wire_process import Process  # noqa: E402

from attendance import ADMIN, PACKAGE, TOKEN, Link, meeting, member, user  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    return directory


@pytest.fixture
def start(folder):
    started = []

    def run(*arguments):
        started.append(
            Process("campanile-attendance", folder, "--data-dir", str(folder), "--log-level", "warning", *arguments,
                    internal_token=TOKEN))
        return started[-1]

    yield run
    for process in started:
        process.stop()


def test_acknowledged_records_survive_a_kill(start):
    """Every acknowledged record survives kill -9; statistics and audit chain agree with the records."""
    process = start()
    with Link(process.port) as link:
        members = [member(link, f"Member {k}") for k in range(20)]
        meetings = [meeting(link, f"2026-01-{10 + k}T19:00:00Z", status="MEETING_STATUS_COMPLETED") for k in range(10)]
    acknowledged, source = {}, random.Random(3)

    def write():
        try:
            with Link(process.port) as link:
                while True:
                    one, evening = source.choice(members)["id"], source.choice(meetings)["id"]
                    status = source.choice(["PRESENT", "ABSENT", "EXCUSED"])
                    result = link.ask("AttendanceService/RecordAttendance",
                                      {"memberId": one, "meetingId": evening, "status": f"ATTENDANCE_STATUS_{status}"})["attendance"]
                    acknowledged[one, evening] = result
        except (AssertionError, OSError, TypeError):
            pass

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 100:
        assert writer.is_alive()
    process.kill()
    writer.join(30)
    again = start()
    with Link(again.port) as link:
        for evening in meetings:
            listed = link.ask("AttendanceService/ListMeetingAttendance", {"meetingId": evening["id"], "pageSize": 100})["attendances"]
            found = {one["memberId"]: one for one in listed}
            for (one, where), record in acknowledged.items():
                # The last write may have been stored without being acknowledged.
                if where == evening["id"]:
                    assert int(found[one]["etag"][1:]) - int(record["etag"][1:]) in (0, 1)
        for one in members:
            figures = link.ask("StatisticsService/GetMemberStatistics", {"memberId": one["id"]})["statistics"]
            listed = link.ask("AttendanceService/ListMemberAttendance", {"memberId": one["id"]}).get("attendances", [])
            assert figures["eligibleCount"] == 10
            assert figures.get("presentCount", 0) == sum(a["status"] == "ATTENDANCE_STATUS_PRESENT" for a in listed)
        messages, _ = link.stream("LodgeService/VerifyAuditLog")
        assert messages[-1]["intact"] and int(messages[-1]["verifiedCount"]) >= 130


def test_streams_require_the_right_role(start):
    process = start()
    with Link(process.port) as link:
        member(link, "Anna", userId="anna")
        member(link, "Bruno", userId="bruno")
        member(link, "Sara", userId="sara", role="MEMBER_ROLE_SECRETARY")
        streams = {
            "LodgeService/VerifyAuditLog": ({}, "admin"),
            "LodgeService/ExportCsv": ({"table": "CSV_TABLE_MEMBERS"}, "secretary"),
            "MembersService/ExportMemberData": ({"memberId": "m_2"}, "own"),
        }
        for method, (params, needs) in streams.items():
            for caller, expected in (({}, "PRINCIPAL_MISSING"), (user("eve"), "MEMBER_UNKNOWN"), (user("anna"), "ROLE_MISSING"),
                                     (user("sara"), None if needs == "secretary" else "ROLE_MISSING"), (ADMIN, None)):
                messages, last = link.stream(method, params, caller)
                assert ("error" in last) == (expected is not None), (method, caller, last)
                if expected:
                    assert reason(last) == expected and not messages, (method, caller)
        assert "error" not in link.stream("MembersService/ExportMemberData", {"memberId": "m_2"}, user("bruno"))[1]
        for caller, expected in (({}, "PRINCIPAL_MISSING"), (user("sara"), "ROLE_MISSING")):
            assert reason(link.import_csv("MEMBERS", "name\nEve\n", caller)) == expected
        assert reason(link.stream("AttendanceService/WatchRosterChanges", {}, user("eve"))[1]) == "MEMBER_UNKNOWN"
        assert len(link.ask("MembersService/ListMembers")["members"]) == 3


def test_setting_decides_who_may_export(start):
    process = start()
    with Link(process.port) as link:
        member(link, "Sara", userId="sara", role="MEMBER_ROLE_SECRETARY")
        messages, last = link.stream("LodgeService/ExportCsv", {"table": "CSV_TABLE_MEMBERS"}, user("sara"))
        assert "error" not in last and messages[0]["chunk"].startswith("id,name,")
        italian = {"table": "CSV_TABLE_MEMBERS", "language": "LODGE_LANGUAGE_ITALIAN", "byteOrderMark": True}
        messages, _ = link.stream("LodgeService/ExportCsv", italian, user("sara"))
        assert messages[0]["chunk"].startswith("\ufeffid;nome;")
        messages, _ = link.stream("LodgeService/ExportCsv", italian | {"separator": "CSV_SEPARATOR_COMMA"}, user("sara"))
        assert messages[0]["chunk"].startswith("\ufeffid,nome,")
        link.ask("LodgeService/UpdateLodgeSettings", {"settings": {"exportRole": "MEMBER_ROLE_ADMIN"}})
        assert reason(link.stream("LodgeService/ExportCsv", italian, user("sara"))[1]) == "ROLE_MISSING"
        assert "error" not in link.stream("LodgeService/ExportCsv", italian)[1]
        # There is no lower role than a secretary.
        weak = {"settings": {"exportRole": "MEMBER_ROLE_MEMBER"}}
        assert link.refusal("LodgeService/UpdateLodgeSettings", weak) == "INVALID_ARGUMENT ENUM_UNKNOWN"


def test_secretaries_maintain_degrees_but_no_other_data(start):
    process = start()
    with Link(process.port) as link:
        member(link, "Sara", userId="sara", role="MEMBER_ROLE_SECRETARY")
        anna = member(link, "Anna", userId="anna")
        degrees = {"degree": "DEGREE_MASTER", "initiationDate": "2020-01-01", "passingDate": "2021-01-01", "raisingDate": "2022-01-01"}
        changed = link.ask("MembersService/UpdateMember", {"member": {"id": anna["id"], **degrees}}, user("sara"))["member"]
        assert changed | degrees == changed
        for field, value in (("name", "X"), ("email", "a@b"), ("role", "MEMBER_ROLE_ADMIN"), ("office", "OFFICE_ORATOR"), ("userId", "eve")):
            request = {"member": {"id": anna["id"], "degree": "DEGREE_FELLOW", field: value}}
            assert link.refusal("MembersService/UpdateMember", request, user("sara")) == "PERMISSION_DENIED ROLE_MISSING", field
        own = {"member": {"id": anna["id"], "email": "a@b", "refusedNotices": ["NOTICE_KIND_REMINDER"]}}
        assert link.ask("MembersService/UpdateMember", own, user("anna"))["member"]["refusedNotices"] == ["NOTICE_KIND_REMINDER"]
        other = {"member": {"id": anna["id"], "refusedNotices": ["NOTICE_KIND_ABSENCE"]}}
        assert link.refusal("MembersService/UpdateMember", other, user("sara")) == "PERMISSION_DENIED ROLE_MISSING"
        degree = {"member": {"id": anna["id"], "degree": "DEGREE_FELLOW"}}
        assert link.refusal("MembersService/UpdateMember", degree, user("anna")) == "PERMISSION_DENIED ROLE_MISSING"


def test_device_token_replaces_the_pin_if_the_lodge_allows_it(start):
    process = start()
    with Link(process.port) as link:
        for name in ("Anna Rossi", "Bruno"):
            one = member(link, name)
            link.ask("MembersService/SetMemberPin", {"memberId": one["id"], "pin": "471147"})
        device = login(link, "Anna Rossi", "471147", "192.0.2.1")["result"]["deviceToken"]
        assert reason(login(link, "Anna Rossi", "", "192.0.2.1", device)) == "CREDENTIALS_INVALID"
        link.ask("LodgeService/UpdateLodgeSettings", {"settings": {"deviceLogin": True}})
        again = login(link, "Anna Rossi", "", "192.0.2.2", device)["result"]
        assert again["deviceToken"] == device and again["member"]["name"] == "Anna Rossi"
        # A token is the device of one member, and a wrong PIN stays wrong.
        assert reason(login(link, "Bruno", "", "192.0.2.2", device)) == "CREDENTIALS_INVALID"
        assert reason(login(link, "Anna Rossi", "000000", "192.0.2.2", device)) == "CREDENTIALS_INVALID"
        assert reason(login(link, "Anna Rossi", "", "192.0.2.2")) == "CREDENTIALS_INVALID"
        # A new PIN revokes the devices.
        link.ask("MembersService/SetMemberPin", {"memberId": again["member"]["id"], "pin": "123987"})
        assert reason(login(link, "Anna Rossi", "", "192.0.2.3", device)) == "CREDENTIALS_INVALID"


def test_untrusted_link_cannot_name_its_caller(start):
    process = start()
    with Peer(process.port) as link:
        answer = link.call(PACKAGE + "MembersService/ListMembers", {}, metadata=ADMIN)
        assert reason(answer) == "PRINCIPAL_MISSING"


def test_session_lasts_from_login_to_logout(start):
    process = start()
    with Link(process.port) as link, Peer(process.port) as device:
        anna = member(link, "Anna Rossi")
        link.ask("MembersService/SetMemberPin", {"memberId": anna["id"], "pin": "471147"})
        login = device.call(PACKAGE + "SessionsService/Login", {"name": "anna rossi", "pin": "471147"})["result"]
        session = {"attendance-session": login["sessionToken"]}
        me = device.call(PACKAGE + "SessionsService/GetCurrentMember", {}, metadata=session)["result"]
        assert me["member"]["id"] == anna["id"] and "session" in me
        wrong = device.call(PACKAGE + "SessionsService/Login", {"name": "anna rossi", "pin": "000000"})
        unknown = device.call(PACKAGE + "SessionsService/Login", {"name": "nobody", "pin": "000000"})
        assert wrong["error"] == unknown["error"] and reason(wrong) == "CREDENTIALS_INVALID"
        device.call(PACKAGE + "SessionsService/Logout", {}, metadata=session)
        assert reason(device.call(PACKAGE + "SessionsService/GetCurrentMember", {}, metadata=session)) == "SESSION_INVALID"
    # Neither the token nor the PIN is in the database or the log.
    process.stop()
    for file in list(process.log_path.parent.glob("attendance.sqlite*")) + [process.log_path]:
        assert login["sessionToken"].encode() not in file.read_bytes() and b"471147" not in file.read_bytes()


def login(link, name, pin, address, device=""):
    """The response to a login, with the caller's address in the metadata as from the gateway."""
    return link.answer(
        "SessionsService/Login", {"name": name, "pin": pin, "deviceToken": device}, {"campanile-remote-address": address})


def test_failures_of_others_do_not_lock_a_member_out(start):
    process = start()
    with Link(process.port) as link:
        marco = member(link, "Marco Rossi")
        link.ask("MembersService/SetMemberPin", {"memberId": marco["id"], "pin": "471147"})
        for k in range(5):
            assert reason(login(link, "Marco Rossi", "000000", f"198.51.100.{k}")) == "CREDENTIALS_INVALID"
        assert login(link, "Marco Rossi", "471147", "192.0.2.1")["result"]["member"]["id"] == marco["id"]
        # Failures from one IPv6 network count as failures of one caller.
        for k in range(5):
            assert reason(login(link, "Marco Rossi", "000000", f"2001:db8:0:7::{k}")) == "CREDENTIALS_INVALID"
        refused = login(link, "Marco Rossi", "471147", "2001:db8:0:7:8000::1")
        assert reason(refused) == "LOGIN_THROTTLED"
        assert "result" in login(link, "Marco Rossi", "471147", "2001:db8:0:8::1")


def test_a_hundred_failures_lock_until_an_administrator_lifts_it(start):
    """The count survives a restart, a known device can still log in, and a new PIN lifts the lock."""
    process = start()
    with Link(process.port) as link:
        anna = member(link, "Anna Rossi")
        link.ask("MembersService/SetMemberPin", {"memberId": anna["id"], "pin": "471147"})
        device = login(link, "Anna Rossi", "471147", "192.0.2.1")["result"]["deviceToken"]
        for k in range(50):
            assert reason(login(link, "Anna Rossi", "000000", f"198.51.100.{k}")) == "CREDENTIALS_INVALID"
    process.kill()
    process = start()
    with Link(process.port) as link:
        for k in range(50):
            assert reason(login(link, "Anna Rossi", "000000", f"203.0.113.{k}")) == "CREDENTIALS_INVALID"
        refused = login(link, "Anna Rossi", "471147", "192.0.2.1")
        assert (refused["error"]["data"]["status"], reason(refused)) == ("FAILED_PRECONDITION", "LOGIN_LOCKED")
        assert login(link, "Anna Rossi", "471147", "192.0.2.1", device)["result"]["deviceToken"] == device
        assert reason(login(link, "Anna Rossi", "471147", "192.0.2.1")) == "LOGIN_LOCKED"
        with urllib.request.urlopen(f"http://127.0.0.1:{process.ready['http']}/metrics") as answer:
            metrics = answer.read().decode()
        assert "campanile_login_locked_members 1" in metrics
        assert 'campanile_login_failures_total{outcome="wrong"} 50' in metrics
        assert 'campanile_login_failures_total{outcome="locked"} 2' in metrics
        link.ask("MembersService/SetMemberPin", {"memberId": anna["id"], "pin": "123987"})
        assert "result" in login(link, "Anna Rossi", "123987", "192.0.2.1")
        short = link.answer("MembersService/SetMemberPin", {"memberId": anna["id"], "pin": "4711"})
        violations = short["error"]["data"]["details"][1]["fieldViolations"]
        assert [(one["field"], one["reason"]) for one in violations] == [("pin", "TOO_SHORT")]


def test_name_only_login_warns(start):
    process = start("--allow-name-only-login")
    assert "log in by their name alone" in process.log_path.read_text()
    with Link(process.port) as link:
        member(link, "Anna")
        assert "sessionToken" in link.ask("SessionsService/Login", {"name": "Anna"}, {})


def test_csv_files_are_compatible_with_other_programs(start):
    """Attendance imports files that Python's csv module writes, and exports files that the module reads."""
    process = start()
    names = ["Rossi, Anna", 'Bruno "il vecchio"', "=cmd|' /C calc'!A0", "Nicolò\nPaganini", "+39", "  spaces  ", "'quoted", "ＪＯ"]
    text = io.StringIO()
    # SwiftCSV drops spaces before cells without quotes.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(["name", "first_name"])
    for k, name in enumerate(names):
        writer.writerow([f"Member {k}", name])
    with Link(process.port) as link:
        result = link.import_csv("MEMBERS", text.getvalue())["result"]
        assert result["createdCount"] == len(names) and result["committed"]
        messages, _ = link.stream("LodgeService/ExportCsv", {"table": "CSV_TABLE_MEMBERS"})
        out = "".join(one["chunk"] for one in messages)
        rows = list(csv.DictReader(io.StringIO(out, newline="")))
        shown = {row["name"]: row["first_name"] for row in rows}
        for k, name in enumerate(names):
            guarded = name.startswith(("=", "+", "-", "@"))
            assert shown[f"Member {k}"] == ("'" + name if guarded else name)
        assert link.import_csv("MEMBERS", out)["result"]["unchangedCount"] == len(names)


def test_bad_files_change_nothing(start):
    process = start()
    with Link(process.port) as link:
        cases = {
            b"nomme\nAnna\n": (1, "nomme", "COLUMN_UNKNOWN"),
            b"name\nN\xe8\n": (2, None, "ENCODING_INVALID"),
            "name\nÀ\n".encode("utf-16"): (1, None, "ENCODING_INVALID"),
            b"name,degree\nAnna,master\nBruno,gran maestro\n": (3, "degree", "WORD_UNKNOWN"),
            b"name,initiation_date,passing_date\nAnna,2020-01-01,2019-01-01\n": (2, "passing_date", "DATES_OUT_OF_ORDER"),
            b'name\n"Anna\n': (None, None, "QUOTE_INVALID"),
            b"": (None, None, "FILE_EMPTY"),
        }
        for data, (row, column, why) in cases.items():
            result = link.import_csv("MEMBERS", data)["result"]
            error = result["errors"][0]
            assert (error.get("row"), error.get("column"), error["reason"]) == (row, column, why), data
            assert "committed" not in result
        assert "members" not in link.ask("MembersService/ListMembers")


def test_a_line_of_100_mb_is_refused_early(start):
    process = start()
    before = process.rss_bytes()
    with Link(process.port) as link:
        link.send({"jsonrpc": "2.0", "id": "i", "method": PACKAGE + "LodgeService/ImportCsv", "metadata": ADMIN})
        link.message({"header": {"table": "CSV_TABLE_MEMBERS"}})
        piece = {"chunk": base64.b64encode(b"A" * 1_000_000).decode()}
        # Two pieces are enough for the refusal; the other 98 need not be sent.
        link.message(piece)
        link.message(piece)
        result = link.until("i")["result"]
        assert [(e["row"], e["reason"]) for e in result["errors"]] == [(1, "LINE_TOO_LONG")]
        assert "members" not in link.ask("MembersService/ListMembers")
    assert process.rss_bytes() - before < 40 << 20


def test_calendars_are_read_by_another_program(start):
    process = start()
    with Link(process.port) as link, Peer(process.port) as calendar:
        discussion = "Pillars; tools, and \\more\nsecond line " + "è" * 60
        meeting(link, "2026-03-29T01:30:00Z", discussion=discussion, location="Tolfa", hasDinner=True)
        meeting(link, "2026-04-10T19:00:00Z", status="MEETING_STATUS_CANCELLED")
        made = link.ask("MeetingsService/CreateCalendarFeed", {"name": "phone"})
        # The secret is the only credential.
        answer = calendar.call(PACKAGE + "MeetingsService/GetCalendar", {"secret": made["secret"]})["result"]
        parsed = icalendar.Calendar.from_ical(answer["content"])
        events = {str(event["UID"]): event for event in parsed.walk("VEVENT")}
        assert len(events) == 2
        first = events["t_1@attendance.campanile"]
        assert str(first["SUMMARY"]) == discussion and str(first["LOCATION"]) == "Tolfa"
        assert first["DTSTART"].dt.isoformat() == "2026-03-29T01:30:00+00:00"
        assert str(events["t_2@attendance.campanile"]["STATUS"]) == "CANCELLED"
        assert all(len(line) <= 75 for line in answer["content"].encode().split(b"\r\n"))
        wrong = calendar.call(PACKAGE + "MeetingsService/GetCalendar", {"secret": made["secret"][:-1] + "!"})
        assert reason(wrong) == "FEED_NOT_FOUND"


def test_watches_report_commits_and_end_with_the_service(start):
    process = start()
    with Link(process.port) as link, Link(process.port) as watcher:
        anna = member(link, "Anna", userId="anna")
        evening = meeting(link)
        watcher.send({"jsonrpc": "2.0", "id": "w", "method": PACKAGE + "AttendanceService/WatchRosterChanges",
                      "params": {"fromStart": True}, "metadata": user("anna")})
        seen = [watcher.receive()["params"]["message"] for _ in range(4)]
        assert [next(iter(set(one) - {"resumeToken"})) for one in seen] == ["started", "change", "change", "reached"]
        link.ask("AttendanceService/RecordAttendance", {"memberId": anna["id"], "meetingId": evening["id"], "status": "ATTENDANCE_STATUS_PRESENT"})
        told = watcher.receive()["params"]["message"]
        assert told["change"]["attendance"]["status"] == "ATTENDANCE_STATUS_PRESENT"
        # The list continues at the last position of the watch.
        rest = link.ask("AttendanceService/ListRosterChanges", {"resumeToken": told["resumeToken"]}, user("anna"))
        assert "changes" not in rest
        # Without a token it begins at the present, or at the start if the request says so.
        assert "changes" not in link.ask("AttendanceService/ListRosterChanges", {}, user("anna"))
        assert len(link.ask("AttendanceService/ListRosterChanges", {"fromStart": True}, user("anna"))["changes"]) == 3
        stopper = threading.Thread(target=process.stop)
        stopper.start()
        last = watcher.until("w")
        assert last is None or last["error"]["data"]["status"] == "UNAVAILABLE"
        stopper.join(30)


BAD_REQUESTS = [
    ("MembersService/CreateMember", {"member": {"name": "A", "degree": "DEGREE_GRAND"}}, "INVALID_ARGUMENT", "member.degree"),
    ("MembersService/CreateMember", {"member": {"name": "A", "initiationDate": "2020-05-02", "passingDate": "2020-05-01"}},
     "INVALID_ARGUMENT DATES_OUT_OF_ORDER", "member.passingDate"),
    ("MembersService/CreateMember", {}, "INVALID_ARGUMENT REQUIRED", "member"),
    ("MembersService/GetMember", {"memberId": "m_77"}, "NOT_FOUND MEMBER_NOT_FOUND", "memberId"),
    ("MeetingsService/CreateMeeting", {"meeting": {"discussion": "x", "startTime": "0000-01-01T00:00:00Z"}}, "INVALID_ARGUMENT",
     "meeting.startTime"),
    ("MeetingsService/CreateMeeting", {"meeting": {"discussion": "x", "startTime": "0001-01-01T00:00:00Z"}},
     "INVALID_ARGUMENT OUT_OF_RANGE", "meeting.startTime"),
    ("MeetingsService/CreateMeeting", {"meeting": {"discussion": "x"}}, "INVALID_ARGUMENT REQUIRED", "meeting.startTime"),
    ("MeetingsService/CreateMeeting", {"meeting": {"discussion": "x", "startTime": "2990-01-01T00:00:00Z", "status": "MEETING_STATUS_COMPLETED"}},
     "FAILED_PRECONDITION MEETING_NOT_BEGUN", "meeting.status"),
    ("MeetingsService/ListMeetings", {"year": 99}, "INVALID_ARGUMENT OUT_OF_RANGE", "year"),
    ("AttendanceService/RecordAttendance", {"memberId": "m_1", "meetingId": "t_77", "status": "ATTENDANCE_STATUS_PRESENT"},
     "NOT_FOUND MEETING_NOT_FOUND", "meetingId"),
    ("AttendanceService/RecordAttendance", {"memberId": "m_1", "meetingId": "t_2", "status": "ATTENDANCE_STATUS_PRESENT"},
     "FAILED_PRECONDITION MEETING_CANCELLED", "meetingId"),
    ("AttendanceService/RecordAttendance", {"memberId": "m_1", "meetingId": "t_3", "status": "ATTENDANCE_STATUS_PRESENT"},
     "FAILED_PRECONDITION BEFORE_INITIATION", "memberId"),
    ("AttendanceService/RecordAttendance", {"memberId": "m_1", "meetingId": "t_1", "status": 7}, "INVALID_ARGUMENT ENUM_UNKNOWN", "status"),
    ("AttendanceService/RecordMeetingAttendance", {"meetingId": "t_1"}, "INVALID_ARGUMENT REQUIRED", "entries"),
    ("StatisticsService/GetMemberStatistics", {"memberId": "m_1", "asOfDate": "yesterday"}, "INVALID_ARGUMENT DATE_INVALID", "asOfDate"),
    ("StatisticsService/GetForecast", {"memberId": "m_1", "targetPercentage": 101}, "INVALID_ARGUMENT OUT_OF_RANGE", "targetPercentage"),
    ("LodgeService/UpdateLodgeSettings", {"settings": {"timeZone": "Mars/Olympus"}}, "INVALID_ARGUMENT TIME_ZONE_UNKNOWN", "settings.timeZone"),
    ("LodgeService/UpdateLodgeSettings", {"settings": {"lateConfirmation": "-1s"}}, "INVALID_ARGUMENT OUT_OF_RANGE", "settings.lateConfirmation"),
    ("LodgeService/UpdateLodgeSettings", {"settings": {"checkInClosesAfter": "59.9s"}}, "INVALID_ARGUMENT OUT_OF_RANGE",
     "settings.checkInClosesAfter"),
    ("LodgeService/UpdateLodgeSettings", {"settings": {}, "updateMask": "checkInOpensBefore"}, "INVALID_ARGUMENT REQUIRED",
     "settings.checkInOpensBefore"),
    ("LodgeService/UndoChange", {"sequence": "99"}, "NOT_FOUND AUDIT_ENTRY_NOT_FOUND", "sequence"),
    ("AttendanceService/CheckIn", {"code": "x"}, "PERMISSION_DENIED MEMBER_UNKNOWN", None),
]


def test_bad_requests_name_status_reason_and_field(start):
    process = start()
    with Link(process.port) as link:
        member(link, "Anna", initiationDate="2025-01-01")
        meeting(link, "2026-01-01T19:00:00Z")
        meeting(link, "2026-01-02T19:00:00Z", status="MEETING_STATUS_CANCELLED")
        meeting(link, "2024-01-02T19:00:00Z")
        before = link.stream("LodgeService/VerifyAuditLog")[0][-1]["verifiedCount"]
        for method, params, expected, field in BAD_REQUESTS:
            answer = link.answer(method, params)
            assert "error" in answer, (method, params)
            told = f"{answer['error']['data']['status']} {reason(answer)}"
            assert told.startswith(expected), (method, params, told)
            if field:
                assert field in json.dumps(answer["error"]), (method, params, answer["error"])
        assert link.stream("LodgeService/VerifyAuditLog")[0][-1]["verifiedCount"] == before

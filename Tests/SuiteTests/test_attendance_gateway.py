"""Attendance through the gateway of its own suite, as apps and the command line use it."""

import base64
import json


def test_attendance_works_through_the_gateway(start, tmp_path):
    suite = start().wait_ready()
    anna = suite.call("CreateMember", {"member": {"name": "Anna Rossi", "userId": "anna"}})["member"]
    evening = suite.call("CreateMeeting", {"meeting": {"startTime": "2026-01-10T19:00:00Z", "discussion": "The pillars"}})["meeting"]
    key = suite.key("user/anna")
    assert suite.call("GetCurrentMember", {}, key)["member"]["id"] == anna["id"]
    refused = suite.run("call", "RecordAttendance", json.dumps(
        {"memberId": anna["id"], "meetingId": evening["id"], "status": "ATTENDANCE_STATUS_PRESENT"}), key=key)
    assert refused.returncode == 7 and "ROLE_MISSING" in refused.stderr
    suite.call("RecordAttendance", {"memberId": anna["id"], "meetingId": evening["id"], "status": "ATTENDANCE_STATUS_PRESENT"})
    suite.call("UpdateMeeting", {"meeting": {"id": evening["id"], "status": "MEETING_STATUS_COMPLETED"}})
    figures = suite.call("GetMemberStatistics", {"memberId": anna["id"]}, key)["statistics"]
    assert (figures["presentCount"], figures["percentage"], figures["currentStreak"]) == (1, 100, 1)
    suite.call("SetMemberPin", {"memberId": anna["id"], "pin": "471147"})
    token = suite.call("Login", {"name": "Anna Rossi", "pin": "471147"}, key)["sessionToken"]
    other = suite.key("user/phone")
    me = suite.call("GetCurrentMember", {}, other, "--header", f"attendance-session:{token}")
    assert me["member"]["id"] == anna["id"]
    rows = tmp_path / "rows.jsonl"
    text = base64.b64encode("name\nBruno Bianchi\n".encode()).decode()
    rows.write_text(json.dumps({"header": {"table": "CSV_TABLE_MEMBERS"}}) + "\n" + json.dumps({"chunk": text}) + "\n")
    taken = json.loads(suite.run("call", "ImportCsv", f"@{rows}", check=0).stdout)
    assert taken["createdCount"] == 1 and taken["committed"]
    assert json.loads(suite.run("call", "VerifyAuditLog", check=0).stdout.splitlines()[-1])["intact"]
    assert "AttendanceService" in suite.run("list", check=0).stdout

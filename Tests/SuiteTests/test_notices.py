"""Attendance notifies members through Notifications: real processes, restarts, and a service that is away."""

import datetime
import json
import pathlib
import sys

import pytest
from campanile import eventually

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from wire_process import Process, fixed_port  # noqa: E402

from attendance import TOKEN, Link, member, user  # noqa: E402

NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"


def days_ahead(days):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Services:
    """Attendance and Notifications, each with its own folder. Notifications can be stopped and started again."""

    def __init__(self, folder):
        self.folders = {name: folder / name for name in ("attendance", "notifications")}
        for directory in self.folders.values():
            directory.mkdir(mode=0o700)
        self.port = fixed_port()
        self.running = {}

    def start(self, name, *arguments):
        arguments = ["--data-dir", str(self.folders[name]), "--log-level", "warning", *arguments]
        self.running[name] = Process(f"campanile-{name}", self.folders[name], *arguments, internal_token=TOKEN)
        return self.running[name]

    def start_attendance(self):
        return self.start("attendance", "--notifications-address", f"127.0.0.1:{self.port}")

    def start_notifications(self):
        return self.start("notifications", "--port", str(self.port))

    def inbox(self, name):
        """Titles and bodies of a user's notifications, oldest first."""
        with Link(self.port) as link:
            answer = link.call(NOTIFICATIONS + "ListNotifications", {"pageSize": 100}, metadata=user(name))
            return [(one["title"], one.get("body")) for one in reversed(answer["result"].get("notifications", []))]

    def stop(self):
        for process in self.running.values():
            process.stop()


@pytest.fixture
def services(tmp_path):
    services = Services(tmp_path)
    yield services
    services.stop()


def meeting(link, days=3):
    fields = {"startTime": days_ahead(days), "discussion": "Le colonne"}
    return link.ask("MeetingsService/CreateMeeting", {"meeting": fields})["meeting"]


def switch_on(link, **notices):
    link.ask("LodgeService/UpdateLodgeSettings", {"settings": {"language": "LODGE_LANGUAGE_ITALIAN", "notices": notices}})


def test_cancelled_meeting_reaches_the_inbox(services):
    services.start_notifications()
    process = services.start_attendance()
    with Link(process.port) as link:
        member(link, "Anna", userId="anna")
        member(link, "Bruno", userId="bruno", refusedNotices=["NOTICE_KIND_MEETING_CANCELLED"])
        member(link, "Carlo")
        # Nothing is sent by default.
        link.ask("MeetingsService/CancelMeeting", {"meetingId": meeting(link)["id"]})
        switch_on(link, meetingChanges=True, reminderBefore="86400s")
        one, other = meeting(link), meeting(link, 0.5)
        link.ask("MeetingsService/CancelMeeting", {"meetingId": one["id"]})
        link.ask("MeetingsService/CancelMeeting", {"meetingId": one["id"]})
        eventually(lambda: len(services.inbox("anna")) == 2, "the notices")
        assert {title for title, _ in services.inbox("anna")} == {"Tornata annullata: Le colonne", "Promemoria: Le colonne"}
        eventually(lambda: len(services.inbox("bruno")) == 1, "the reminder")
        # The bucket is a normal one of the user, in the lodge's language.
        with Link(services.port) as notifications:
            buckets = notifications.call(NOTIFICATIONS + "ListBuckets", {}, metadata=user("anna"))["result"]["buckets"]
            assert [(bucket["name"], bucket["unreadCount"]) for bucket in buckets] == [("Loggia", 2)]
        # A restart repeats nothing: the next notice follows those before it.
        process.stop()
        process = services.start_attendance()
    with Link(process.port) as link:
        link.ask("MeetingsService/DeleteMeeting", {"meetingId": other["id"]})
        eventually(lambda: len(services.inbox("anna")) == 3, "the notice after the restart")
        assert services.inbox("bruno") == [("Promemoria: Le colonne", services.inbox("bruno")[0][1])]


def test_notices_follow_once_notifications_is_back(services):
    process = services.start_attendance()
    with Link(process.port) as link:
        for k in range(20):
            member(link, f"Member {k}", userId=f"user{k}")
        switch_on(link, meetingChanges=True)
        one = meeting(link)
        link.ask("MeetingsService/CancelMeeting", {"meetingId": one["id"]})
        link.ask("MeetingsService/UpdateMeeting", {"meeting": {"id": one["id"], "status": "MEETING_STATUS_SCHEDULED"}})
    # The process dies before anything could be delivered.
    process.kill()
    services.start_attendance()
    notifications = services.start_notifications()

    def titles(k):
        return [title for title, _ in services.inbox(f"user{k}")]

    # The cancellation may be delivered before the change that withdraws it.
    eventually(lambda: all(titles(k)[-1:] == ["Tornata modificata: Le colonne"] for k in range(20)), "the change at each member")
    # Members hear of the withdrawn cancellation once or not at all.
    for k in range(20):
        assert len(titles(k)) == len(set(titles(k))) <= 2, titles(k)
    # Also a service that is killed while notices are delivered receives each once.
    with Link(services.running["attendance"].port) as link:
        two = meeting(link)
        notifications.kill()
        link.ask("MeetingsService/CancelMeeting", {"meetingId": two["id"]})
        services.start_notifications()
        eventually(lambda: all("Tornata annullata: Le colonne" in dict(services.inbox(f"user{k}")) for k in range(20)), "the second notice")
        counts = [len(services.inbox(f"user{k}")) for k in range(20)]
        assert max(counts) <= 3, counts


def test_notices_need_a_configured_service(tmp_path):
    folder = tmp_path / "attendance"
    folder.mkdir(mode=0o700)
    process = Process("campanile-attendance", folder, "--data-dir", str(folder), "--log-level", "warning", internal_token=TOKEN)
    try:
        with Link(process.port) as link:
            request = {"settings": {"notices": {"meetingChanges": True}}}
            assert link.refusal("LodgeService/UpdateLodgeSettings", request) == "FAILED_PRECONDITION NOTICES_UNAVAILABLE"
            for notices in ({"reminderBefore": "599s"}, {"reminderBefore": "2592001s"}, {"absenceThreshold": 101}, {"absenceThreshold": -1}):
                answer = link.answer("LodgeService/UpdateLodgeSettings", {"settings": {"notices": notices}})
                assert "OUT_OF_RANGE" in json.dumps(answer), notices
    finally:
        process.stop()

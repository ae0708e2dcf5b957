"""The load of `scripts/bench capacity`: the calls of the example of scripts/capacity, and the users and objects that they need.

More attendance records than in the example make their CPU time measurable.
"""

import base64
import json
import sys
from typing import NamedTuple

from bench import NOTIFICATIONS, ROOT, Link

# Before the folder of the benchmarks, where a script has the name of the package.
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
from capacity import costs, inputs, load  # noqa: E402

MIX = inputs.parse({"attendance": 1, "http_share": 0})
# Objects to read and write. Few updates of one activity are so close that their pushes are merged.
OBJECTS = 200
# Users. The publisher shares a bucket with each.
MEMBERS = 20
# Versions of each file that the load commits before it begins with the first one again.
VERSIONS = 6
SYNC, ACTIVITIES, ATTENDANCE = "campanile.sync.v1.", "campanile.activities.v1.", "campanile.attendance.v1."
SHARING = "campanile.notifications.v1.SharingService/"


class Part(NamedTuple):
    """Calls of one method. `kind` is their name in the model."""

    kind: str
    method: str
    requests: list
    per_s: float
    key: str

    @property
    def service(self):
        return self.method.split(".")[1]

    @property
    def name(self):
        return self.method.partition("/")[2]


def prepare_notifications(owner, members):
    """Returns publications, each with two recipients, and the ids of notifications.

    The owner publishes in a bucket with each member. Members have two phones, the owner has none: a phone displays alerts one after another.
    """
    buckets = []
    for number, (name, member) in enumerate(members.items()):
        buckets.append(owner.ask(NOTIFICATIONS + "CreateBucket", {"bucket": {"name": name}})["bucket"]["id"])
        invitation = owner.ask(SHARING + "InviteToBucket", {"bucketId": buckets[-1], "userId": name, "role": "BUCKET_ROLE_READER"})
        member.ask(SHARING + "AcceptInvitation", {"invitationId": invitation["invitation"]["id"]})
        for phone in range(2):
            register(member, kind="PUSH_TOKEN_KIND_DEVICE", token=f"{2 * number + phone:064x}", installationId=f"phone-{phone}")
    publications = [publication(bucket) for bucket in buckets]
    made = owner.ask_all(NOTIFICATIONS + "CreateNotification", publications * (OBJECTS // len(members)))
    return publications, [one["notification"]["id"] for one in made]


def publication(bucket):
    title = "A notification"
    return {"notification": {"bucketId": bucket, "title": title, "body": "x" * (MIX.notification_bytes - len(title))}}


def register(user, **members):
    user.ask(ACTIVITIES + "PushTokensService/RegisterPushToken", {"app": user.app, "environment": "development", **members})


def prepare_activities(user):
    """Returns the ids of activities, each on a phone."""
    begin = {"app": user.app, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL", "attributesType": "Timer",
             "attributesJson": "{}", "contentStateJson": '{"n":0}'}
    ids = [made["activity"]["id"] for made in user.ask_all(ACTIVITIES + "ActivitiesService/StartActivity", [begin] * OBJECTS)]
    for number, activity in enumerate(ids):
        register(user, kind="PUSH_TOKEN_KIND_ACTIVITY_UPDATE", token=f"{OBJECTS + number:064x}", installationId="phone", activityId=activity)
    return ids


def put(number, version):
    """Returns the commit of a version of a file."""
    text = json.dumps({"number": number, "version": version, "text": "x" * (MIX.sync_bytes - 50)})
    return {"deviceId": "phone", "put": {"name": f"note-{number}.json", "recordType": "Note", "onConflict": "CONFLICT_POLICY_LAST_WRITE_WINS",
                                         "inlineContent": base64.b64encode(text.encode()).decode()}}


def prepare_attendance(admin):
    """Returns records, each of which is a change: all members are present, then absent, then present again."""
    members = admin.ask_all(ATTENDANCE + "MembersService/CreateMember", [{"member": {"name": f"Member {n:04}"}} for n in range(OBJECTS)])
    ids = [made["member"]["id"] for made in members]
    meeting = admin.ask(ATTENDANCE + "MeetingsService/CreateMeeting", {
        "meeting": {"startTime": "2025-03-04T18:30:00Z", "discussion": "An evening"}})["meeting"]["id"]
    return [{"meetingId": meeting, "memberId": member, "status": f"ATTENDANCE_STATUS_{status}"}
            for status in ("PRESENT", "ABSENT") for member in ids]


def prepare(admin, owner, members, users):
    """Fills the suite. Returns the parts of the load of so many users."""
    rates = load.peak_rates(MIX, users)
    publications, notifications = prepare_notifications(owner, members)
    activities = prepare_activities(owner)
    owner.ask(SYNC + "DevicesService/RegisterDevice", {"device": {"id": "phone", "role": "DEVICE_ROLE_WRITER"}})
    puts = [put(number, version) for version in range(VERSIONS) for number in range(OBJECTS)]
    owner.ask_all(SYNC + "AssetsService/PutAsset", puts[:OBJECTS])
    records = prepare_attendance(admin)
    # The sequence makes each state differ from the one before.
    text = '{"n":{{sequence}},"title":"' + "x" * (MIX.activity_bytes - 30) + '"}'
    reads = {name: rates.reads * share.value for name, share in costs.READS.items()}
    return [
        Part("reads", NOTIFICATIONS + "GetNotification", [{"notificationId": one} for one in notifications], reads["notifications"], owner.key),
        Part("reads", ACTIVITIES + "ActivitiesService/GetActivity", [{"activityId": one} for one in activities], reads["activities"], owner.key),
        Part("reads", SYNC + "AssetsService/GetAsset", [{"name": one["put"]["name"], "includeContent": True} for one in puts[:OBJECTS]],
             reads["sync"], owner.key),
        Part("reads", ATTENDANCE + "StatisticsService/GetMemberStatistics", [{"memberId": one["memberId"]} for one in records],
             reads["attendance"], admin.key),
        Part("notifications", NOTIFICATIONS + "CreateNotification", publications, rates.notifications, owner.key),
        Part("activities", ACTIVITIES + "ActivitiesService/UpdateActivity",
             [{"activityId": one, "contentStateJson": text} for one in activities], rates.activities, owner.key),
        Part("sync", SYNC + "AssetsService/PutAsset", puts[OBJECTS:], rates.sync, owner.key),
        Part("attendance", ATTENDANCE + "AttendanceService/RecordAttendance", records, rates.attendance, admin.key),
    ]


class User(Link):
    """A connection to the first gateway with an API key."""

    def __init__(self, suite, key):
        super().__init__(suite.endpoints["gateway"]["rpc"], metadata={}, token=key)
        self.key = key
        self.app = suite.endpoints["apns"]["topic"]

    def ask_all(self, method, all_params, in_flight=64):
        # The gateway limits the calls of a connection.
        return super().ask_all(method, all_params, in_flight)

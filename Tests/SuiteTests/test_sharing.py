"""Sharing a bucket needs the other user's consent: attempts of strangers, over the gateway and down to the devices."""

import json
import sys

import pytest
from campanile import ROOT, Suite, eventually

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402

SHARING = "campanile.notifications.v1.SharingService/"
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService/"
READER = "BUCKET_ROLE_READER"
OWN_BUCKETS = 10
DEVICE = "d7" * 32


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A suite with a low limit of buckets, so that reaching it is quick."""
    running = Suite(
        tmp_path_factory.mktemp("sharing") / "data", settings={"CAMPANILE_BUCKETS_PER_USER_MAX": str(OWN_BUCKETS)})
    yield running.wait_ready()
    running.stop()


class User:
    """A user's connection to the gateway."""

    def __init__(self, suite, name):
        self.name = name
        self.link = Peer(suite.endpoints["gateway"]["rpc"])
        self.link.hello(suite.key(f"user/{name}"))

    def ask(self, method, params=None, service=SHARING):
        return self.link.call(service + method, params or {})

    def done(self, method, params=None, service=SHARING):
        answer = self.ask(method, params, service)
        assert "result" in answer, (method, answer)
        return answer["result"]

    def refused(self, method, params=None, service=SHARING):
        answer = self.ask(method, params, service)
        assert "error" in answer, (method, answer)
        return reason(answer)

    def bucket(self, name):
        return self.done("CreateBucket", {"bucket": {"name": name}}, NOTIFICATIONS)["bucket"]["id"]

    def publish(self, bucket, title):
        return self.done("CreateNotification", {"notification": {"bucketId": bucket, "title": title}}, NOTIFICATIONS)["notification"]

    def titles(self):
        found = self.done("ListNotifications", {"pageSize": 1000}, NOTIFICATIONS).get("notifications", [])
        return [one["title"] for one in found]

    def buckets(self):
        return [one["id"] for one in self.done("ListBuckets", {}, NOTIFICATIONS).get("buckets", [])]

    def invite(self, bucket, user, role=READER):
        return self.done("InviteToBucket", {"bucketId": bucket, "userId": user, "role": role})["invitation"]

    def received(self):
        return self.done("ListInvitations").get("invitations", [])


@pytest.fixture
def users(suite, request):
    """Creates users for one test, by the prefix of their names."""
    made = {}

    def user(name):
        if name not in made:
            made[name] = User(suite, f"{name}-{request.node.name}")
        return made[name]
    yield user
    for one in made.values():
        one.link.close()


def test_sharing_without_consent_reaches_nobody(suite, users):
    mallory, victim = users("mallory"), users("victim")
    victim.done("RegisterPushToken", {
        "kind": "PUSH_TOKEN_KIND_DEVICE", "token": DEVICE, "app": suite.endpoints["apns"]["topic"], "environment": "development",
        "installationId": "phone"}, "campanile.activities.v1.PushTokensService/")
    for number in range(OWN_BUCKETS):
        bucket = mallory.bucket(f"Your bank {number}")
        shared = mallory.done("ShareBucket", {"bucketId": bucket, "userId": victim.name, "role": READER})
        assert "share" not in shared and shared["invitation"]["state"] == "STATE_PENDING", shared
        mallory.publish(bucket, "Your bank: confirm")
    assert victim.titles() == [] and victim.buckets() == []
    assert {one["bucketName"] for one in victim.received()} == {f"Your bank {number}" for number in range(OWN_BUCKETS)}
    assert all(one["inviterId"] == mallory.name and one["role"] == READER for one in victim.received())
    # The victim can still create as many buckets as the limit permits.
    own = [victim.bucket(f"own {number}") for number in range(OWN_BUCKETS)]
    assert victim.refused("CreateBucket", {"bucket": {"name": "more"}}, NOTIFICATIONS) == "BUCKETS_EXHAUSTED"
    # The victim's own notification is pushed, and it is the first push to the device.
    victim.publish(own[0], "mine")
    eventually(lambda: suite.pushed(DEVICE), "the victim's own notification is pushed")
    assert [payload["aps"]["alert"]["title"] for _, payload in suite.pushed(DEVICE)] == ["mine"]


def test_members_join_by_consent_and_leave_for_good(users):
    anna, bruno = users("anna"), users("bruno")
    bucket = anna.bucket("team")
    invitation = anna.invite(bucket, bruno.name)
    anna.publish(bucket, "before")
    joined = bruno.done("AcceptInvitation", {"invitationId": invitation["id"]})["bucket"]
    assert joined["id"] == bucket and joined["role"] == READER
    anna.publish(bucket, "after")
    assert bruno.titles() == ["after"] and bruno.received() == []
    # A member's role changes at once.
    changed = anna.done("ShareBucket", {"bucketId": bucket, "userId": bruno.name, "role": "BUCKET_ROLE_PUBLISHER"})
    assert changed["share"]["role"] == "BUCKET_ROLE_PUBLISHER"
    bruno.publish(bucket, "mine, too")
    bruno.done("UnshareBucket", {"bucketId": bucket, "userId": bruno.name})
    assert bruno.titles() == []
    for method in ("InviteToBucket", "ShareBucket"):
        assert anna.refused(method, {"bucketId": bucket, "userId": bruno.name, "role": READER}) == "INVITATION_TOO_SOON"
    assert bruno.received() == [] and bruno.refused("AcceptInvitation", {"invitationId": invitation["id"]}) == "INVITATION_ENDED"
    # Presenting a code counts as consent.
    secret = anna.done("CreateInviteCode", {"bucketId": bucket, "role": READER, "maxUses": 1})["secret"]
    assert bruno.done("AcceptInviteCode", {"secret": secret})["bucket"]["id"] == bucket
    assert users("carla").refused("AcceptInviteCode", {"secret": secret}) == "INVITE_CODE_INVALID"
    assert users("carla").refused("AcceptInviteCode", {"secret": "cic_" + "A" * 43}) == "INVITE_CODE_INVALID"


def test_blocked_user_is_ignored_and_cannot_notice_it(users):
    mallory, victim, other = users("mallory"), users("victim"), users("other")
    before = mallory.invite(mallory.bucket("before"), victim.name)
    victim.done("BlockUser", {"userId": mallory.name})
    bucket = mallory.bucket("after")
    hidden, seen = (mallory.invite(bucket, user.name) for user in (victim, other))
    assert victim.received() == [] and [one["id"] for one in other.received()] == [seen["id"]]

    def shape(one):
        return {name: one[name] for name in one if name not in ("id", "userId", "createTime", "expireTime")}, sorted(one)
    assert shape(hidden) == shape(seen)
    listed = mallory.done("ListBucketInvitations", {"bucketId": bucket})["invitations"]
    assert [one["state"] for one in listed] == ["STATE_PENDING"] * 2
    for one in (before, hidden):
        assert victim.refused("AcceptInvitation", {"invitationId": one["id"]}) == "INVITATION_NOT_FOUND"
    assert [one["userId"] for one in victim.done("ListBlockedUsers")["blockedUsers"]] == [mallory.name]
    victim.done("UnblockUser", {"userId": mallory.name})
    assert victim.received() == []
    assert mallory.invite(bucket, victim.name)["state"] == "STATE_PENDING"
    assert [one["bucketId"] for one in victim.received()] == [bucket]


def test_invitations_are_limited_by_pair_of_users(users):
    mallory, victim = users("mallory"), users("victim")
    for number in range(10):
        bucket = mallory.bucket("spam")
        mallory.invite(bucket, victim.name)
        # A new bucket does not bypass the limit.
        mallory.done("DeleteBucket", {"bucketId": bucket}, NOTIFICATIONS)
    params = {"bucketId": mallory.bucket("spam"), "userId": victim.name, "role": READER}
    assert mallory.refused("InviteToBucket", params) == "INVITATIONS_EXHAUSTED"
    assert victim.received() == []
    # Other users are not affected.
    anna = users("anna")
    anna.invite(anna.bucket("team"), victim.name)
    assert len(victim.received()) == 1


def test_errors_name_the_invalid_field(users):
    anna = users("anna")
    bucket = anna.bucket("team")
    for field, params in [
        ("userId", {"userId": "a b"}), ("userId", {"userId": ""}), ("role", {"role": "BUCKET_ROLE_OWNER"}),
        ("role", {"role": "BUCKET_ROLE_UNSPECIFIED"}), ("expireTime", {"expireTime": "2020-01-01T00:00:00Z"}),
        ("expireTime", {"expireTime": "2999-01-01T00:00:00Z"}), ("shareExpireTime", {"shareExpireTime": "2020-01-01T00:00:00Z"}),
        ("requestId", {"requestId": "x" * 65}), ("userId", {"userId": anna.name}),
    ]:
        answer = anna.ask("InviteToBucket", {"bucketId": bucket, "userId": "bruno", "role": READER} | params)
        assert f'"{field}"' in json.dumps(answer["error"]) and "INVALID_ARGUMENT" in json.dumps(answer["error"]), (params, answer)
    for params in ({"maxUses": -1}, {"maxUses": 101}, {"role": "BUCKET_ROLE_ADMIN"}):
        answer = anna.ask("CreateInviteCode", {"bucketId": bucket, "role": READER} | params)
        assert "INVALID_ARGUMENT" in json.dumps(answer["error"]), (params, answer)
    assert anna.refused("BlockUser", {"userId": anna.name}) == "OUT_OF_RANGE"

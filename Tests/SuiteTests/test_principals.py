"""Callers that a trusted link names, scopes that are never implied, and the stored replies of idempotent calls."""

import json
import sys

import pytest

from campanile import ROOT

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402
from wire_marks import on_sqlite  # noqa: E402

AUDIT = "campanile.attendance.v1.AttendanceService/ListAuditEntries"
KEYS = "campanile.gateway.v1.AccessService/ListApiKeys"
# A method of each process, served on the process's own port.
OWN = {"gateway": KEYS, "notifications": "campanile.notifications.v1.NotificationsService/ListBuckets",
       "activities": "campanile.activities.v1.ActivitiesService/ListActivities", "sync": "campanile.sync.v1.ZonesService/ListZones",
       "attendance": AUDIT}
MALFORMED = ["user/a+b@example.com", "alice", "user/", ""]


@pytest.fixture
def trusted(suite):
    """Opens a link with the internal token."""
    links = []

    def make(service="gateway"):
        links.append(Peer(suite.endpoints[service]["rpc"]))
        links[-1].hello(suite.endpoints["internalToken"])
        return links[-1]

    yield make
    for link in links:
        link.close()


@pytest.mark.parametrize("service", sorted(OWN))
def test_malformed_callers_are_refused(trusted, service):
    link = trusted(service)
    for told in MALFORMED:
        for method in {OWN[service], *([AUDIT] if service == "gateway" else [])}:
            error = link.call(method, {}, metadata={"campanile-principal": told})["error"]
            assert reason({"error": error}) == "PRINCIPAL_INVALID" and error["data"]["status"] == "INVALID_ARGUMENT", (told, error)
            assert "campanile-principal" in error["message"], error
    for key, told, expected in [("campanile-scopes", "admin", "SCOPES_INVALID"), ("campanile-remote-address", "1 2", "ADDRESS_INVALID")]:
        error = link.call(OWN[service], {}, metadata={key: told})["error"]
        assert reason({"error": error}) == expected and key in error["message"], error


def test_named_callers_have_only_the_named_scopes(trusted):
    link = trusted()
    assert "result" in link.call(KEYS, {}), "a call without a principal is the operator's"
    assert "result" in link.call(KEYS, {}, metadata={"campanile-principal": "service/ci", "campanile-scopes": "admin"})
    for metadata in [{"campanile-principal": "user/nobody"}, {"campanile-principal": "service/ci", "campanile-scopes": "attendance"}]:
        assert reason(link.call(KEYS, {}, metadata=metadata)) == "SCOPE_MISSING"


def test_command_checks_principals_before_connecting(suite):
    for told in MALFORMED:
        refused = suite.run("call", "ListAuditEntries", "--as", told, "--address", "127.0.0.1:1", check=64)
        assert "user/ID or service/ID" in refused.stderr


def test_operate_is_never_implied(suite, trusted):
    methods = {"notifications": "campanile.notifications.v1.DeliveryService/RecordDeliveries",
               "activities": "campanile.activities.v1.UnreadService/SendAlert"}
    plain = suite.key("service/ci")
    for service, method in methods.items():
        named = suite.run("keys", "create", "service/ci", "--scope", f"{service}:operate", "--secret-only", check=0).stdout.strip()
        with Peer(suite.endpoints["gateway"]["rpc"]) as link:
            for key, expected in [(plain, "SCOPE_MISSING"), (named, None)]:
                told = reason(link.call(method, {}, metadata={"authorization": f"Bearer {key}"}))
                assert told != "SCOPE_MISSING" if expected is None else told == expected, (method, told)
        own = trusted(service)
        assert reason(own.call(method, {}, metadata={"campanile-principal": "service/ci"})) == "SCOPE_MISSING"
        scoped = {"campanile-principal": "service/ci", "campanile-scopes": f"{service}:operate"}
        assert reason(own.call(method, {}, metadata=scoped)) != "SCOPE_MISSING"


def stored(folder, text):
    """The files of the gateway's store below a folder that contain a text."""
    files = [file for file in folder.rglob("gateway*") if file.is_file() and ".sqlite" in file.name]
    assert files
    return [str(file) for file in files if text.encode() in file.read_bytes()]


@on_sqlite
def test_members_behind_one_key_are_separate_and_secrets_not_stored(suite, tmp_path):
    kiosk = suite.key("service/kiosk")
    port = suite.endpoints["gateway"]["rpc"]
    pins = json.loads((suite.folder / "demo.json").read_text())["pins"]
    with Peer(port) as link:
        link.hello(kiosk)

        def call(method, params, **metadata):
            return link.call(f"campanile.{method}", params, metadata={key.replace("_", "-"): value for key, value in metadata.items()})

        sessions, secrets = [], []
        for number, (name, pin) in enumerate(list(pins.items())[:2]):
            login = {"name": name, "pin": pin}
            answer = call("attendance.v1.SessionsService/Login", login, idempotency_key=f"login-{number}")["result"]
            sessions.append(answer["sessionToken"])
            secrets.append(answer["deviceToken"])
            again = call("attendance.v1.SessionsService/Login", login, idempotency_key=f"login-{number}")
            assert reason(again) == "REPLY_NOT_KEPT"
        for session in sessions:
            feed = call("attendance.v1.MeetingsService/CreateCalendarFeed", {"name": "f"}, idempotency_key="1", attendance_session=session)
            secrets.append(feed["result"]["secret"])
            again = call("attendance.v1.MeetingsService/CreateCalendarFeed", {"name": "f"}, idempotency_key="1", attendance_session=session)
            assert reason(again) == "REPLY_NOT_KEPT"
        assert len(set(secrets)) == 4
    with Peer(port) as link:
        link.hello(suite.key("user/secretive"))
        bucket = link.call("campanile.notifications.v1.NotificationsService/CreateBucket", {"bucket": {"name": "b"}},
                           metadata={"idempotency-key": "bucket"})["result"]["bucket"]["id"]
        key = link.call("campanile.notifications.v1.SharingService/CreatePublishKey", {"bucketId": bucket, "name": "k"},
                        metadata={"idempotency-key": "key"})
        secrets.append(key["result"]["secret"])
    suite.run("backup", "--to", str(tmp_path), check=0)
    for secret in sessions + secrets:
        assert not stored(suite.folder, secret) and not stored(tmp_path, secret), secret
    # Other responses are found, which proves that the search works.
    assert stored(suite.folder, bucket) and stored(tmp_path, bucket)

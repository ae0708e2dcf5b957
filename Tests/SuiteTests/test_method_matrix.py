"""Calls every method in the gateway's reflection in every way that is not permitted. A method without a rule fails."""

import base64
import select
import sys
import time
import urllib.error
import urllib.request

import pytest
from google.protobuf import descriptor_pb2

from campanile import ROOT, Suite, eventually

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402

PUBLIC = {"campanile.rpc.v1.ReflectionService/ListServices", "campanile.rpc.v1.ReflectionService/GetFileDescriptorSet",
          "campanile.attendance.v1.SessionsService/Login", "campanile.attendance.v1.MeetingsService/GetCalendar",
          "campanile.notifications.v1.EngagementService/BatchReportEngagement", "campanile.notifications.v1.SharingService/PublishWithKey"}
# The number of the extension campanile.rpc.v1.access.
ACCESS = 50740


def scope_of(method):
    """The scope that a method's descriptor requires, read from the bytes of the option: field 1 of field 50740."""
    data, position = method.options.SerializeToString(), 0

    def varint():
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while position < len(data):
        tag = varint()
        if tag & 7 == 0:
            varint()
            continue
        length = varint()
        content = data[position:position + length]
        position += length
        if tag >> 3 == ACCESS and content[:1] == b"\n":
            return content[2:2 + content[1]].decode()
    return None


class Contract:
    """The methods that a running gateway describes."""

    def __init__(self, suite):
        with Peer(suite.endpoints["gateway"]["rpc"]) as link:
            listed = link.call("campanile.rpc.v1.ReflectionService/ListServices", {})["result"]["services"]
            encoded = link.call("campanile.rpc.v1.ReflectionService/GetFileDescriptorSet", {})["result"]["fileDescriptorSet"]
        self.listed = {f"{service['name']}/{method['name']}" for service in listed for method in service["methods"]}
        files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(encoded)).file
        self.messages, self.methods = {}, {}
        for file in files:
            for message in file.message_type:
                self.add(f".{file.package}", message)
            for service in file.service:
                for method in service.method:
                    self.methods[f"{file.package}.{service.name}/{method.name}"] = method

    def add(self, prefix, message):
        self.messages[f"{prefix}.{message.name}"] = message
        for nested in message.nested_type:
            self.add(f"{prefix}.{message.name}", nested)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A separate suite, because some calls succeed."""
    running = Suite(tmp_path_factory.mktemp("matrix") / "data")
    yield running.wait_ready()
    running.stop()


@pytest.fixture(scope="module")
def contract(suite):
    return Contract(suite)


@pytest.fixture(scope="module")
def streams(contract):
    """The streaming methods, which may send nothing."""
    return {path for path, method in contract.methods.items() if method.server_streaming or method.client_streaming}


@pytest.fixture(scope="module")
def rules(contract):
    """Every method with its scope."""
    found = {path: scope_of(method) for path, method in contract.methods.items() if path in contract.listed}
    return {path: "public" if path.startswith("grpc.health.v1.") else scope for path, scope in found.items()}


def test_every_method_has_a_rule(contract, rules):
    assert set(rules) == contract.listed and len(rules) > 150
    assert [path for path, scope in rules.items() if not scope] == []
    assert {path for path, scope in rules.items() if scope == "public"} - PUBLIC == {
        path for path in rules if path.startswith("grpc.health.v1.")}


def ended(suite):
    """Expired, revoked and altered credentials, each with the reason of its refusal."""
    admin = suite.endpoints["gateway"]["adminKey"]
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        link.hello(admin)

        def make(**fields):
            return link.call("campanile.gateway.v1.AccessService/CreateApiKey", {"principal": "user/ended", **fields})["result"]
        revoked = make()
        assert "result" in link.call("campanile.gateway.v1.AccessService/RevokeApiKey", {"keyId": revoked["apiKey"]["id"]})
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
        expired = make(expireTime=soon)["secret"]
    cut = admin[:-1] + ("A" if admin[-1] != "A" else "B")
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        eventually(lambda: "error" in link.call("campanile.notifications.v1.NotificationsService/ListBuckets", {},
                                                metadata={"authorization": f"Bearer {expired}"}), "the key has expired")
    return [(expired, "CREDENTIAL_EXPIRED"), (revoked["secret"], "CREDENTIAL_REVOKED"), (cut, "CREDENTIAL_INVALID"),
            (suite.endpoints["internalToken"][:-2] + "AA", "CREDENTIAL_INVALID")]


def refusal(link, path, token, streams=False, expected=True):
    """Status and reason of a refused call, or `None`; waits if rate-limited. `expected`: the gateway itself refuses."""
    while True:
        metadata = {"authorization": f"Bearer {token}"} if token else {}
        link.send({"jsonrpc": "2.0", "id": link.next_id, "method": path, "metadata": metadata, "params": {}})
        answer = first(link, link.next_id, streams)
        link.next_id += 1
        if answer is None or "error" not in answer:
            return None
        if reason(answer) != "RATE_LIMITED":
            told = f"{answer['error']['data']['status']} {reason(answer)}"
            # A call that the gateway refuses reaches no backend.
            if told.split()[0] in ("UNAUTHENTICATED", "PERMISSION_DENIED") and expected:
                assert answer["error"]["data"]["processed"] is False, (path, answer)
            return told
        time.sleep(answer["error"]["data"]["retryAfterMs"] / 1000 + 0.05)


def first(link, identifier, streams):
    """The first frame of a call; `None` if it `streams` and sends nothing or a message, after which it is cancelled."""
    end, opened = time.monotonic() + 60, time.monotonic()
    patience_s = 0.5 if streams else 60
    while time.monotonic() < end:
        if not link.buffer and not select.select([link.socket], [], [], 0.02)[0]:
            if time.monotonic() - opened > patience_s:
                link.send({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": identifier}})
                opened = end
            continue
        frame = link.receive()
        assert frame is not None, "the connection was closed"
        if frame.get("id") == identifier:
            return None if opened == end else frame
        if frame.get("method") == "rpc.message" and opened != end:
            link.send({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": identifier}})
            opened = end
    raise AssertionError(f"no response to {identifier}")


def test_calls_without_a_credential_are_refused(suite, rules, streams):
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        for path, scope in rules.items():
            told = refusal(link, path, None, path in streams, expected=scope != "public")
            if scope == "public":
                assert "CREDENTIAL_MISSING" not in (told or ""), path
            else:
                assert told == "UNAUTHENTICATED CREDENTIAL_MISSING", (path, told)
        assert refusal(link, "campanile.notifications.v1.NotificationsService/NoSuchMethod", None) == "UNAUTHENTICATED CREDENTIAL_MISSING"


def test_invalid_credentials_are_refused_by_every_method(suite, rules):
    for token, expected in ended(suite):
        with Peer(suite.endpoints["gateway"]["rpc"]) as link:
            for path in rules:
                assert refusal(link, path, token) == f"UNAUTHENTICATED {expected}", path


def wrong_scopes(scope):
    """Scopes that look sufficient but are not."""
    service, _, right = scope.partition(":")
    others = [f"{one}" for one in ("notifications", "activities", "sync", "attendance") if one != service]
    if scope == "authenticated":
        return []
    if scope == "admin":
        return [*others, "notifications:operate"]
    weaker = {"read": [], "write": ["read", "publish", "operate"], "publish": ["read", "operate"], "operate": ["read", "write", "publish"]}
    return [others[0], *[f"{service}:{one}" for one in weaker[right]]]


def granting(scope):
    service, _, right = scope.partition(":")
    if scope == "authenticated":
        return ["sync:publish"]
    return [scope] if scope == "admin" else [scope, service] + ([f"{service}:write"] if right == "publish" else [])


def test_other_scopes_are_not_enough(suite, rules, streams):
    keys = {}

    def key(scope):
        if scope not in keys:
            keys[scope] = suite.run("keys", "create", "service/scoped", "--scope", scope, "--secret-only", check=0).stdout.strip()
        return keys[scope]
    closed = opened = 0
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        for path, scope in rules.items():
            if scope == "public":
                continue
            for wrong in wrong_scopes(scope):
                told = refusal(link, path, key(wrong))
                assert told == "PERMISSION_DENIED SCOPE_MISSING", (path, scope, wrong, told)
                closed += 1
            if "CreateApiKey" in path or "EndAll" in path:
                continue
            for right in granting(scope):
                told = refusal(link, path, key(right), path in streams, expected=False) or ""
                assert "SCOPE_MISSING" not in told and "UNAUTHENTICATED" not in told, (path, scope, right, told)
                opened += 1
    assert closed > 300 and opened > 150


def test_http_requires_the_same_scopes(suite, contract, rules):
    key = suite.run("keys", "create", "user/scoped", "--scope", "sync:read", "--secret-only", check=0).stdout.strip()
    for path, scope in rules.items():
        method = contract.methods[path]
        if scope in ("public", "authenticated", "sync:read") or method.client_streaming or method.server_streaming:
            continue
        request = urllib.request.Request(
            f"http://127.0.0.1:{suite.endpoints['gateway']['http']}/{path}", data=b"{}",
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        assert refused.value.code == 403 and "SCOPE_MISSING" in refused.value.read().decode(), path

"""The console's sign-in, sessions, cookie and headers, on real processes."""

import json
import os
import re
import signal

import pytest
from campanile import Suite, eventually
from console_client import COOKIE, OWN, Events, Page
from test_method_matrix import PUBLIC, Contract, scope_of

WATCH = "campanile.gateway.v1.WatchService/WatchMany"
POLICIES = {"Content-Security-Policy", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy",
            "Permissions-Policy", "X-Frame-Options", "X-Content-Type-Options"}


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A separate suite: keys and sessions end here."""
    running = Suite(tmp_path_factory.mktemp("console") / "data", "--demo")
    yield running.wait_ready()
    running.stop()


@pytest.fixture(scope="module")
def port(own):
    return own.endpoints["gateway"]["http"]


@pytest.fixture
def admin(own, port):
    page = Page(port)
    assert page.sign_in(apiKey=own.endpoints["gateway"]["adminKey"]).status == 200
    return page


def link(own):
    return own.run("console", "--print", check=0).stdout.strip()


def test_up_and_the_command_print_a_link_that_works_once(own, port):
    shown = re.compile(rf"^Console: http://127\.0\.0\.1:{port}/console/#link=csl_[\w-]{{43}} ", re.MULTILINE)
    eventually(lambda: shown.search(own.text()), "the link of the start")
    printed = link(own)
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/console/#link=csl_[\w-]{{43}}", printed)
    token = printed.partition("#link=")[2]
    page = Page(port)
    assert page.sign_in(link=token).status == 200
    caller = page.caller().json
    assert caller["caller"]["principal"] == "service/admin" and caller["caller"]["scopes"] == ["admin"]
    assert {service["name"] for service in caller["services"]} >= {"notifications", "activities", "sync", "attendance"}
    for wrong in (token, token[:-1] + "_", "csl_", ""):
        refused = Page(port).sign_in(link=wrong)
        assert (refused.status, refused.reason) == (401, "LINK_INVALID") and "Set-Cookie" not in refused.headers
    weak = own.run("keys", "create", "user/linked", "--scope", "sync:read", "--secret-only", check=0).stdout.strip()
    page = Page(port)
    assert page.sign_in(link=own.run("console", "--print", key=weak, check=0).stdout.strip().partition("#link=")[2]).status == 200
    assert page.caller().json["caller"]["scopes"] == ["sync:read"]
    assert page.call("campanile.notifications.v1.NotificationsService/ListBuckets").reason == "SCOPE_MISSING"


def test_cookie_has_its_flags_and_no_script_sees_a_secret(own, port):
    page = Page(port)
    answer = page.sign_in(apiKey=own.endpoints["gateway"]["adminKey"])
    name, *flags = answer.headers["Set-Cookie"].split("; ")
    assert re.fullmatch(rf"{COOKIE}=ccs_[\w-]{{43}}", name)
    assert set(flags) == {"Path=/", "Max-Age=86400", "HttpOnly", "SameSite=Strict"}
    assert page.cookie not in answer.body.decode() and "cmp_" not in answer.body.decode()
    listed = page.send("GET", "/gateway/v1/consoleSessions")
    assert page.cookie not in listed.body.decode()
    # The cookie's value is no key, on either port.
    bearer = page.send("GET", "/gateway/v1/caller", headers={"Authorization": f"Bearer {page.cookie}"})
    assert bearer.reason == "CREDENTIAL_INVALID"
    assert own.run("call", "GetCaller", key=page.cookie).returncode == 16
    files = list(own.folder.glob("gateway.sqlite*"))
    assert files and not [file for file in files if page.cookie.encode() in file.read_bytes()]


@pytest.mark.parametrize("changed", [
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": None},
    {"Sec-Fetch-Site": None, "Origin": "https://evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"}, {"x-campanile-console": None}, {"x-campanile-console": "2"},
    {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate", "x-campanile-console": None},
    {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "text/plain"},
    {"Content-Type": "multipart/form-data; boundary=x"}, {"Content-Type": "text/plain;application/json"},
    {"Content-Type": None}, {"Content-Type": "application/proto"},
], ids=str)
def test_other_pages_cannot_use_the_cookie(admin, changed):
    create = "/notifications/v1/buckets"
    refused = admin.send("POST", create, {"bucket": {"name": "forged"}}, headers=changed)
    assert (refused.status, refused.reason) == (401, "CREDENTIAL_MISSING")
    assert admin.send("POST", "/console/session", {"apiKey": "cmp_x"}, headers=changed).status == 403
    # Signing out has no body, so its type does not matter.
    signs_out = set(changed) == {"Content-Type"}
    assert admin.send("DELETE", "/console/session", headers=changed | {"Content-Type": None}).status == (200 if signs_out else 403)
    assert admin.caller().status == (401 if signs_out else 200)


def test_rebinding_hosts_get_nothing(admin, port):
    for method, path in [("GET", "/console/"), ("GET", "/gateway/v1/caller"), ("DELETE", "/console/session"), ("GET", "/nothing")]:
        refused = admin.send(method, path, headers={"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"})
        assert (refused.status, refused.reason) == (403, "HOST_NOT_ALLOWED")
        assert "Set-Cookie" not in refused.headers
    assert admin.caller().status == 200


def test_authorization_wins_over_the_cookie(own, admin):
    weak = own.run("keys", "create", "user/other", "--secret-only", check=0).stdout.strip()
    found = admin.send("GET", "/gateway/v1/caller", headers={"Authorization": f"Bearer {weak}"})
    assert found.json["caller"]["principal"] == "user/other"
    wrong = admin.send("GET", "/gateway/v1/caller", headers={"Authorization": "Bearer cmp_wrong"})
    assert wrong.reason == "CREDENTIAL_INVALID"
    session = admin.send("GET", "/attendance/v1/sessions/current", headers={"attendance-session": "cas_" + "a" * 43})
    assert session.status == 401


def test_every_response_has_the_policies(admin):
    page = admin.send("GET", "/console/", own=False)
    assert page.status == 200 and page.headers["Cache-Control"] == "no-cache"
    links = re.findall(r'(?:src|href)="([0-9a-f]{16}/[^"]+)"', page.body.decode())
    assert len(links) >= 3
    requests = [("GET", "/console"), ("GET", "/console/"), ("HEAD", "/console/"), ("PUT", "/console/"), ("GET", "/console/none"),
                ("GET", "/console/session"), ("POST", "/console/session"), ("DELETE", "/console/session"), ("OPTIONS", "/console/session"),
                *[("GET", "/console/" + path) for path in links]]
    for method, path in requests:
        answer = admin.send(method, path, headers={"Origin": "https://app.example"}, own=False)
        assert POLICIES <= set(answer.headers.keys()), (method, path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "require-trusted-types-for 'script'" in policy
        assert "frame-ancestors 'none'" in policy
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        if path.startswith("/console/" + links[0][:16]):
            assert answer.status == 200 and answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    redirect = admin.send("GET", "/console", own=False)
    assert (redirect.status, redirect.headers["Location"]) == (308, "console/")


def test_members_of_the_lodge_sign_in(own, port):
    pins = json.loads((own.folder / "demo.json").read_text())["pins"]
    page = Page(port)
    wrong = page.sign_in(lodge={"name": "Marco Rossi", "pin": "000000"})
    assert (wrong.status, wrong.reason) == (401, "CREDENTIALS_INVALID")
    assert page.sign_in(lodge={"name": "Marco Rossi", "pin": pins["Marco Rossi"]}).status == 200
    caller = page.caller().json["caller"]
    assert caller["lodgeMemberId"] and caller["principal"] == f"user/lodge.{caller['lodgeMemberId']}"
    member = page.send("GET", "/attendance/v1/sessions/current").json["member"]
    assert member["name"] == "Marco Rossi" and member["id"] == caller["lodgeMemberId"]
    assert page.call("campanile.notifications.v1.NotificationsService/ListBuckets").reason == "SCOPE_MISSING"
    # A member cannot hand the session on.
    assert page.send("POST", "/gateway/v1/signInLinks", {}).reason == "CREDENTIAL_NOT_SUPPORTED"
    sessions = page.send("GET", f"/attendance/v1/members/{member['id']}/sessions").json["sessions"]
    assert page.send("DELETE", "/console/session").status == 200
    again = Page(port)
    assert again.sign_in(lodge={"name": "Marco Rossi", "pin": pins["Marco Rossi"]}).status == 200
    left = again.send("GET", f"/attendance/v1/members/{member['id']}/sessions").json["sessions"]
    assert len(left) == len(sessions), "signing out has ended the session at Attendance"


def test_sessions_are_listed_and_revoked(own, port, admin):
    user = own.key("user/lister")
    first, second = Page(port), Page(port)
    assert first.sign_in(apiKey=user).status == second.sign_in(apiKey=user).status == 200
    listed = first.send("GET", "/gateway/v1/consoleSessions").json["sessions"]
    assert len(listed) == 2 and [session.get("current", False) for session in listed].count(True) == 1
    assert first.send("GET", "/gateway/v1/consoleSessions?allPrincipals=true").reason == "SCOPE_MISSING"
    theirs = next(session["id"] for session in listed if not session.get("current"))
    stranger = Page(port)
    assert stranger.sign_in(apiKey=own.key("user/stranger")).status == 200
    assert stranger.send("POST", f"/gateway/v1/consoleSessions/{theirs}:revoke", {}).reason == "SESSION_NOT_FOUND"
    stream = Events(port, WATCH, {}, OWN | {"Cookie": f"{COOKIE}={second.cookie}"})
    assert next(stream)["started"]["streamId"]
    assert first.send("POST", f"/gateway/v1/consoleSessions/{theirs}:revoke", {}).status == 200
    assert second.caller().status == 401
    with pytest.raises(AssertionError, match="CREDENTIAL_REVOKED"):
        next(stream)
    stream.close()
    # An admin sees and ends everybody's.
    everyone = admin.send("GET", "/gateway/v1/consoleSessions?allPrincipals=true&pageSize=1000").json["sessions"]
    left = next(session["id"] for session in everyone if session["principal"] == "user/lister")
    assert admin.send("POST", f"/gateway/v1/consoleSessions/{left}:revoke", {}).status == 200
    assert first.caller().status == 401
    # The end of the key ends its sessions.
    key = json.loads(own.run("keys", "create", "user/ended", check=0).stdout)
    page = Page(port)
    assert page.sign_in(apiKey=key["secret"]).status == 200
    own.run("keys", "revoke", key["apiKey"]["id"], check=0)
    assert page.caller().status == 401


def test_actions_are_in_the_audit_log(own, port, admin):
    for _ in range(3):
        Page(port).sign_in(apiKey="cmp_" + "x" * 43)
    key = json.loads(own.run("keys", "create", "user/audited", check=0).stdout)
    page = Page(port)
    page.sign_in(apiKey=key["secret"])
    session = page.caller().json["caller"]["sessionId"]
    page.send("DELETE", "/console/session")
    own.run("keys", "rotate", key["apiKey"]["id"], check=0)
    own.run("keys", "revoke", key["apiKey"]["id"], check=0)
    events = admin.send("GET", "/gateway/v1/auditEvents?pageSize=1000").json["events"]
    found = {(event["action"], event.get("subject")) for event in events}
    for action, subject in [("SIGNED_IN", session), ("SIGNED_OUT", session), ("KEY_CREATED", key["apiKey"]["id"]),
                            ("KEY_ROTATED", key["apiKey"]["id"]), ("KEY_REVOKED", key["apiKey"]["id"])]:
        assert (f"ACTION_{action}", subject) in found
    failed = [event for event in events if event["action"] == "ACTION_SIGN_IN_FAILED" and event["method"] == "SIGN_IN_METHOD_API_KEY"]
    # A slow machine may take more than the minute that one event covers.
    assert sum(event["count"] for event in failed) == 3
    assert {(event["address"], event["reason"]) for event in failed} == {("127.0.0.1", "CREDENTIAL_INVALID")}
    assert [int(event["id"]) for event in events] == sorted((int(event["id"]) for event in events), reverse=True)
    everything = json.dumps(events)
    assert "cmp_" not in everything and "ccs_" not in everything and "csl_" not in everything


def test_cookie_is_refused_for_every_method_unless_the_page_sends_it(own, port, admin):
    contract = Contract(own)
    rules = {path: scope_of(contract.methods[path]) for path in contract.listed}
    ended = Page(port)
    assert ended.sign_in(apiKey=own.key("user/gone")).status == 200
    assert ended.send("DELETE", "/console/session").status == 200
    weak = Page(port)
    key = own.run("keys", "create", "user/weak", "--scope", "sync:publish", "--secret-only", check=0).stdout.strip()
    assert weak.sign_in(apiKey=key).status == 200
    checked = refused = 0
    for path, scope in sorted(rules.items()):
        method = contract.methods[path]
        if path in PUBLIC or path.startswith("grpc.") or method.client_streaming:
            continue
        kind = {"Content-Type": "application/connect+json"} if method.server_streaming else {"Content-Type": "application/json"}
        body = b"\0\0\0\0\2{}" if method.server_streaming else b"{}"

        def told(page, path=path, body=body, kind=kind, **changes):
            def answer():
                found = page.send("POST", "/" + path, body, headers=kind | changes).body.decode(errors="replace")
                return found if "RATE_LIMITED" not in found else None
            return eventually(answer, f"an answer within the rate: {path}")
        assert "CREDENTIAL_MISSING" in told(admin, **{"Sec-Fetch-Site": "cross-site"}), path
        assert "CREDENTIAL_MISSING" in told(admin, **{"x-campanile-console": None}), path
        assert "CREDENTIAL_MISSING" in told(admin, Origin="https://evil.example"), path
        assert "CREDENTIAL_MISSING" in told(ended), path
        if scope not in ("authenticated", "sync:publish") and not method.server_streaming:
            assert "SCOPE_MISSING" in told(weak), path
            refused += 1
        checked += 1
    assert checked > 150 and refused > 120


def test_sessions_survive_a_killed_gateway(start):
    suite = start("killed").wait_ready()
    port = suite.endpoints["gateway"]["http"]
    page = Page(port)
    assert page.sign_in(apiKey=suite.endpoints["gateway"]["adminKey"]).status == 200
    pid = suite.children()["gateway"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: suite.children().get("gateway") not in (None, pid), "the gateway is back")

    def works():
        try:
            return page.caller().status == 200
        except OSError:
            return False
    eventually(works, "the session is open")


def test_console_can_be_off(start):
    suite = start("off", settings={"CAMPANILE_NO_CONSOLE": "true"}).wait_ready()
    page = Page(suite.endpoints["gateway"]["http"])
    assert page.send("GET", "/console", own=False).status == 404
    assert page.sign_in(apiKey=suite.endpoints["gateway"]["adminKey"]).status == 404
    assert "CONSOLE_DISABLED" in suite.run("console", "--print").stderr
    assert "Console:" not in suite.text()

"""The commands of docs/reference and of `campanile describe`, run against a suite."""

import datetime
import http.client
import json
import os
import re
import select
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import declared_reasons
import pytest
from campanile import BIN, CLI, PATIENCE_S, ROOT, Suite, environment

sys.path.append(str(ROOT / "Tests" / "Wire"))
from campanile_wire import Peer  # noqa: E402

DEFAULT = "http://127.0.0.1:7480"
PAGES = sorted(path.name for path in (ROOT / "docs/reference").glob("*.md"))
# gRPC's statuses of calls whose request was accepted as well-formed. Ids and secrets of the examples are placeholders.
ACCEPTED = {"OK", "NOT_FOUND", "UNAUTHENTICATED", "ALREADY_EXISTS", "FAILED_PRECONDITION", "ABORTED", "DEADLINE_EXCEEDED"}
EXIT_CODES = {0: "OK", 3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 5: "NOT_FOUND", 6: "ALREADY_EXISTS", 7: "PERMISSION_DENIED",
              9: "FAILED_PRECONDITION", 10: "ABORTED", 12: "UNIMPLEMENTED", 16: "UNAUTHENTICATED"}


def check(page, results):
    """Checks the calls of a page, each a name, a line, its status and its output. An error must have a listed reason."""
    refused = {name: rest for name, *rest in results
               if rest[1] not in ACCEPTED or re.search("ROUTE_UNKNOWN|SCOPE_MISSING|CREDENTIAL_(?!KIND)", rest[2])}
    assert not refused, json.dumps(refused, indent=1)
    package = page.removesuffix(".md")
    missing = {(name, reason) for name, _, status, output in results if status != "OK"
               for reason in re.findall("\\b[A-Z]+(?:_[A-Z]+)+\\b", output) if declared_reasons.is_missing(f"{package}/{name}", reason)}
    assert not missing, f"declare these in the protos (campanile.rpc.v1.errors): {sorted(missing)}"


@pytest.fixture(scope="module")
def substitute(suite, key_for):
    """Replaces what the pages tell a reader to replace, where a placeholder would be refused as malformed."""
    key = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
                         capture_output=True, text=True, check=True).stdout
    administrator = key_for("attendance:write")
    now = datetime.datetime.now(datetime.UTC)
    meeting = suite.call("CreateMeeting", {"meeting": {"startTime": now.isoformat(), "discussion": "The pages"}}, key=administrator)
    code = suite.call("GetCheckInCode", {"meetingId": meeting["meeting"]["id"]}, key=administrator)["code"]
    real = {"PutSigningKey": ("PRIVATE_KEY_PEM", json.dumps(key)[1:-1]),
            "CheckIn": (r"ci1\.[0-9.]+A+", code),
            "PostponeNotification": ("2030-01-31T18:30:00Z", (now + datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ"))}

    def replaced(name, line):
        if name not in real:
            return line
        pattern, value = real[name]
        changed = re.sub(pattern, lambda _: value, line)
        assert changed != line, line
        return changed
    return replaced


def sections(page):
    """The methods of a page: name, scope, command line of the CLI and, if the method has one, of curl."""
    text = (ROOT / "docs/reference" / page).read_text()
    for section in text.split("\n## ")[1:]:
        if scope := re.search(r"^- Scope: `(.*?)`", section, re.MULTILINE):
            lines = re.search(r"^```sh\n(.*?)\n```$", section, re.MULTILINE | re.DOTALL)[1].split("\n")
            yield section.split("\n")[0], scope[1], lines[0], lines[1] if len(lines) > 1 else None


def end_faults(suite):
    """Ends the faults of the simulator that examples have made, which would refuse the pushes of others."""
    for fault in suite.call("ListFaults", {}).get("faults", []):
        suite.call("DeleteFault", {"faultId": fault["id"]})


PAGES_OF_SERVICES = [page for page in PAGES if any(sections(page))]


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A separate suite, because some examples change the data."""
    running = Suite(tmp_path_factory.mktemp("reference") / "data", "--demo")
    try:
        yield running.wait_ready()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def key_for(suite):
    """Returns a key that may call the methods of a scope. In the lodge, it is an administrator's."""
    user = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
    keys = {"admin": suite.endpoints["gateway"]["adminKey"]}

    def create(principal, *scopes):
        options = [word for scope in scopes for word in ("--scope", scope)]
        return suite.run("keys", "create", principal, *options, "--secret-only", check=0).stdout.strip()

    def key(scope):
        if scope not in keys:
            if scope.endswith(":operate"):
                keys[scope] = create("service/reference", scope)
            elif scope.startswith("attendance:"):
                keys[scope] = create("user/giulia", "attendance", "admin")
        return keys.get(scope, user)
    return key


class Curl:
    """The request that curl sends for a line of a page."""

    def __init__(self, line, key):
        words = shlex.split(line.replace("$CAMPANILE_KEY", key))
        assert words.pop(0) == "curl", line
        self.method, self.headers, self.body, urls = None, {"Accept": "*/*"}, None, []
        while words:
            word = words.pop(0)
            if word == "-H":
                name, _, value = words.pop(0).partition(": ")
                self.headers[name] = value
            elif word == "-X":
                self.method = words.pop(0)
            elif word == "-d":
                self.body = words.pop(0)
            elif word != "-N":
                urls.append(word)
        [url] = urls
        assert url.startswith(DEFAULT + "/"), line
        self.target = url.removeprefix(DEFAULT)
        self.method = self.method or ("GET" if self.body is None else "POST")
        if self.body is not None:
            self.headers.setdefault("Content-Type", "application/x-www-form-urlencoded")

    def status(self, port):
        """Sends the request and returns the status of gRPC with the response; of a stream, up to its first event."""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            link.request(self.method, self.target, body=self.body, headers=self.headers)
            answer = link.getresponse()
            if answer.getheader("Content-Type", "").startswith("text/event-stream"):
                text = self.events(link.sock, answer)
                failure = re.search(r"event: failure\ndata: (.*)", text)
                return (json.loads(failure[1])["error"]["status"] if failure else "OK"), text
            text = answer.read().decode()
            if answer.status < 300:
                json.loads(text or "{}")
                return "OK", text
            error = json.loads(text)
            return (error["error"]["status"] if "error" in error else error["code"].upper()), text
        finally:
            link.close()

    @staticmethod
    def events(socket, answer):
        """The beginning of an event stream: what has arrived when nothing follows for a moment."""
        text = b""
        while select.select([socket], [], [], 0.5)[0] and len(text) < 1 << 16:
            part = answer.read1(1 << 16)
            if not part:
                break
            text += part
        return text.decode()


def test_pages_describe_every_method_of_the_gateway(suite):
    with Peer(suite.endpoints["gateway"]["rpc"]) as link:
        services = link.call("campanile.rpc.v1.ReflectionService/ListServices", {})["result"]["services"]
    described = {f"{page.removesuffix('.md')}/{name}": curl for page in PAGES_OF_SERVICES for name, _, _, curl in sections(page)}
    assert set(described) == {f"{service['name']}/{method['name']}" for service in services for method in service["methods"]}
    streaming = {f"{service['name']}/{method['name']}" for service in services for method in service["methods"]
                 if method.get("clientStreaming")}
    assert {name for name, curl in described.items() if curl is None} == streaming


def test_links_of_the_pages_resolve():
    anchors = {page: {re.sub(r"[^a-z0-9_-]", "", heading.lower()) for heading in
                      re.findall(r"^## (.*)$", (ROOT / "docs/reference" / page).read_text(), re.MULTILINE)} for page in PAGES}
    count = 0
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / "docs/reference" / page).read_text()):
            path, _, anchor = target.partition("#")
            if path.startswith(".."):
                assert (ROOT / "docs/reference" / path).exists(), (page, target)
            else:
                assert (path or page) in anchors, (page, target)
                assert not anchor or anchor in anchors[path or page], (page, target)
            count += 1
    assert count > 500


@pytest.mark.parametrize("page", PAGES_OF_SERVICES)
def test_lines_for_curl_are_accepted(suite, key_for, substitute, page):
    lines = [(name, substitute(name, line), key_for(scope)) for name, scope, _, line in sections(page) if line]
    check(page, [(name, line, *Curl(line, key).status(suite.endpoints["gateway"]["http"])) for name, line, key in lines])
    end_faults(suite)


@pytest.mark.parametrize("page, name", [
    ("campanile.notifications.v1.NotificationsService.md", "CreateBucket"),
    ("campanile.notifications.v1.NotificationsService.md", "ListBuckets"),
    ("campanile.notifications.v1.NotificationsService.md", "UpdateBucket"),
    ("campanile.notifications.v1.AutomationService.md", "DeleteTemplate"),
    ("campanile.attendance.v1.AttendanceService.md", "WatchRosterChanges"),
])
def test_curl_itself_sends_these_requests(suite, key_for, page, name):
    [(scope, line)] = [(scope, line) for other, scope, _, line in sections(page) if other == name]
    line = line.replace(DEFAULT, f"http://127.0.0.1:{suite.endpoints['gateway']['http']}")
    line = line.replace("curl ", "curl -sS --max-time 2 ", 1)
    result = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ | {"CAMPANILE_KEY": key_for(scope)})
    # A watch ends by the time limit of curl.
    assert result.returncode == (28 if "-N" in line else 0), result.stderr
    body = result.stdout
    assert "ROUTE_UNKNOWN" not in body and "INVALID_ARGUMENT" not in body and "event: failure" not in body, body


def run_line(suite, key, line):
    """Runs a line of the CLI. Returns the status and the output."""
    words = shlex.split(line)
    assert words.pop(0) == "campanile", line
    result = subprocess.run(
        [CLI, *words, "--data-dir", str(suite.folder), "--timeout", "10s" if words[0] == "call" else "1s"], text=True,
        capture_output=True, timeout=PATIENCE_S, env=environment() | {"CAMPANILE_KEY": key}, stdin=subprocess.DEVNULL)
    return EXIT_CODES.get(result.returncode, str(result.returncode)), result.stdout + result.stderr


@pytest.mark.parametrize("page", PAGES_OF_SERVICES)
def test_lines_of_the_cli_are_accepted(suite, key_for, substitute, page):
    lines = [(name, substitute(name, line), key_for(scope)) for name, scope, line, _ in sections(page)]
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda item: (item[0], item[1], *run_line(suite, item[2], item[1])), lines)
    check(page, list(results))
    end_faults(suite)


def test_describe_prints_the_lines_of_the_pages(suite):
    count = 0
    for page in ("campanile.sync.v1.ZonesService.md", "campanile.notifications.v1.SharingService.md"):
        for name, scope, line, _ in sections(page):
            described = suite.run("describe", f"{page.removesuffix('.md')}/{name}", check=0).stdout.split("\n")
            assert f"  // Scope: {scope}" in described
            assert described[-3:] == ["// Command:", line, ""]
            count += 1
    assert count > 20


PROTO = """syntax = "proto3";
package test.v1;

// MarksService has <b>tags</b>, *stars*, [brackets](x), `a|b <c>` in code and an unpaired ` mark:
// - an _item_ of a snake_case list
service MarksService {
  // Mark marks.
  rpc Mark(MarkRequest) returns (MarkResponse);
}

message MarkRequest {
  // One | two `a|b` <i>.
  //
  // A second paragraph.
  string text = 1 [deprecated = true];
  oneof choice {
    Inner inner = 2;
    Kind kind = 3;
  }
  message Inner {}
  enum Kind {
    KIND_UNSPECIFIED = 0;
    // Old | odd.
    KIND_OLD = 1 [deprecated = true];
  }
}

message MarkResponse {}
"""


def test_generated_markdown_escapes_what_comments_contain(tmp_path):
    (tmp_path / "marks.proto").write_text(PROTO)
    subprocess.run(
        ["protoc", f"-I{tmp_path}", f"--plugin={BIN}/protoc-gen-campanile", "--campanile_opt=Language=markdown",
         f"--campanile_out={tmp_path}", "marks.proto"], check=True)
    service = (tmp_path / "test.v1.MarksService.md").read_text()
    assert (r"MarksService has \<b\>tags\</b\>, \*stars\*, \[brackets\](x), `a|b <c>` in code and an unpaired \` mark:"
            "\n\n- an \\_item\\_ of a snake_case list\n") in service
    assert r"| `text` | string | Deprecated. One \| two `a\|b` \<i\>.<br>A second paragraph. |" in service
    assert "| `inner` | [MarkRequest.Inner](test.v1.md#markrequestinner) | At most one field of `choice` is set. |" in service
    types = (tmp_path / "test.v1.md").read_text()
    assert "## MarkRequest.Inner\n\nIt has no fields.\n" in types
    assert "| `KIND_OLD` | Deprecated. Old \\| odd. |" in types

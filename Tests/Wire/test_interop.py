"""Runs the interoperability cases of Tests/Interop with this independent client and with `campanile call`, against every executable and
through the gateway."""

import json
import subprocess

import pytest

from campanile_wire import Credit, Peer
from wire_process import BINARIES, ROOT, Process

INTERNAL = "internal-token-of-the-interop-test"
ECHO = json.loads((ROOT / "Tests" / "Interop" / "echo.json").read_text())
ANY = json.loads((ROOT / "Tests" / "Interop" / "any.json").read_text())
NAMES = ["campanile-notifications", "campanile-activities", "campanile-sync", "campanile-attendance", "campanile-gateway", "campanile-echo"]
STATUSES = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
            "UNAUTHENTICATED"]


def full(value):
    """Returns a message with its `fill` members expanded."""
    if isinstance(value, dict):
        return value.get("with", "x") * value["fill"] if "fill" in value else {key: full(one) for key, one in value.items()}
    return value


def path(suite, case):
    return case["method"] if "/" in case["method"] else f"{suite['service']}/{case['method']}"


def requests(case):
    return [full(one) for one in case["requests"]] * case.get("repeat", 1)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """Starts every executable separately; the gateway's backend is the echo service."""
    folder, running = tmp_path_factory.mktemp("interop"), {}
    try:
        for name in NAMES[:4] + NAMES[5:]:
            running[name] = Process(name, folder, "--data-dir", str(folder / name), internal_token=INTERNAL)
        running["campanile-gateway"] = Process(
            "campanile-gateway", folder, "--data-dir", str(folder / "gateway"), "--backends",
            f"echo@campanile.rpc.v1.EchoService=127.0.0.1:{running['campanile-echo'].port}", internal_token=INTERNAL)
        yield running
    finally:
        for process in reversed(running.values()):
            assert process.is_running(), process.log_path.read_text()[-2000:]
            process.stop()


class Exchange:
    """One case on one connection. Observes the credit granted by the server, and grants credit for each message received."""

    def __init__(self, peer, suite, case):
        self.peer, self.case, self.responses, self.credit, self.last = peer, case, [], Credit(), None
        kind = self.kind(suite, case)
        self.streams_requests, self.streams_responses = kind
        frame = {"jsonrpc": "2.0", "id": "i", "method": path(suite, case), "metadata": case.get("metadata", {})}
        if "timeoutMs" in case:
            frame["timeoutMs"] = case["timeoutMs"]
        if not self.streams_requests:
            frame["params"] = requests(case)[0]
        peer.send(frame)

    @staticmethod
    def kind(suite, case):
        return {"Collect": (True, False), "Chat": (True, True), "Expand": (False, True), "Watch": (False, True)}.get(
            case["method"], (False, False))

    def receive(self):
        frame = self.peer.receive()
        assert frame is not None, "the connection was closed"
        if frame.get("method") == "rpc.message":
            assert frame["params"]["id"] == "i"
            self.responses.append(frame["params"]["message"])
            self.peer.grant("i")
        elif frame.get("method") == "rpc.credit":
            # A credit without an id is that of the connection, which no case uses up.
            if "id" in frame["params"]:
                self.credit.add(frame["params"])
        else:
            assert frame["id"] == "i", frame
            self.last = frame

    def tell(self, method, **params):
        return self.peer.send({"jsonrpc": "2.0", "method": method, "params": {"id": "i", **params}})

    def play(self):
        case = self.case
        if self.streams_requests:
            for number, one in enumerate(requests(case)):
                while self.last is None and (not self.credit.allows or case.get("turns") and len(self.responses) < number):
                    self.receive()
                self.credit.take(self.tell("rpc.message", message=one))
            if not case.get("open") and "stop" not in case:
                self.tell("rpc.end")
        while case.get("stop") == "first" and not self.responses:
            self.receive()
        if "stop" in case:
            self.tell("rpc.cancel")
        while self.last is None:
            self.receive()
        if "result" in self.last and not self.streams_responses:
            self.responses.append(self.last["result"])
        return self


def judged(case, responses, status, message=None):
    assert status == case.get("status", "OK"), (status, message)
    if "responses" in case:
        assert responses == [full(one) for one in case["responses"]]
    if "responseCount" in case:
        assert len(responses) == case["responseCount"]
        assert [one.get("index", 0) for one in responses] == list(range(case["responseCount"]))
    if "message" in case and message is not None:
        assert message == case["message"]


def play(port, suite, case):
    with Peer(port) as peer:
        peer.hello(INTERNAL)
        exchange = Exchange(peer, suite, case).play()
        status, message = "OK", None
        if "error" in exchange.last:
            status, message = exchange.last["error"]["data"]["status"], exchange.last["error"]["message"]
        judged(case, exchange.responses, status, message)
        # The connection remains usable, and the id is free again.
        assert "result" in peer.call("rpc.ping")


def call(port, suite, case, token_file):
    """Runs a case with `campanile call`."""
    lines = "\n".join(json.dumps(one) for one in requests(case))
    command = [str(BINARIES / "campanile"), "call", path(suite, case), "-", "--address", f"127.0.0.1:{port}",
               "--internal-token-file", str(token_file), "--as", "user/interop", "--output", "json"]
    command += ["--timeout", f"{case['timeoutMs']}ms"] if "timeoutMs" in case else []
    for key, value in case.get("metadata", {}).items():
        command += [word for one in (value if isinstance(value, list) else [value]) for word in ("-H", f"{key}:{one}")]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)
    status = STATUSES[done.returncode] if done.returncode < len(STATUSES) else f"exit code {done.returncode}"
    judged(case, [json.loads(line) for line in done.stdout.split("\n") if line], status)
    if status != "OK":
        assert status in done.stderr, done.stderr


def named(cases):
    return [pytest.param(case, id=case["name"]) for case in cases]


@pytest.mark.parametrize("server", ["campanile-echo", "campanile-gateway"])
@pytest.mark.parametrize("case", named(ECHO["cases"]))
def test_echo_by_python(servers, server, case):
    play(servers[server].port, ECHO, case)


@pytest.mark.parametrize("server", ["campanile-echo", "campanile-gateway"])
@pytest.mark.parametrize("case", named(one for one in ECHO["cases"] if not any(key in one for key in ("wireOnly", "stop", "open"))))
def test_echo_by_swift(servers, server, case, tmp_path):
    token = tmp_path / "token"
    token.write_text(INTERNAL)
    token.chmod(0o600)
    call(servers[server].port, ECHO, case, token)


@pytest.mark.parametrize("server", NAMES)
@pytest.mark.parametrize("case", named(ANY["cases"]))
def test_any_by_python(servers, server, case):
    play(servers[server].port, ANY, case)


@pytest.mark.parametrize("server", NAMES)
@pytest.mark.parametrize("case", named(one for one in ANY["cases"] if not any(key in one for key in ("wireOnly", "stop", "open"))))
def test_any_by_swift(servers, server, case, tmp_path):
    token = tmp_path / "token"
    token.write_text(INTERNAL)
    token.chmod(0o600)
    call(servers[server].port, ANY, case, token)


def test_a_wrong_answer_is_seen():
    """The control: the check of a case can fail."""
    for case, responses, status in [
        ({"responses": [{"a": 1}]}, [{"a": 2}], "OK"), ({"responses": []}, [{}], "OK"), ({"status": "UNKNOWN"}, [], "OK"),
        ({"responseCount": 2}, [{}, {"index": 2}], "OK")]:
        with pytest.raises(AssertionError):
            judged(case, responses, status)

"""Runs the interoperability cases of Tests/Interop with this independent client and with `campanile call`, against every executable,
through the gateway, and against both servers of Examples/python-peer."""

import json
import subprocess

import pytest

from campanile_wire import Credit, Peer
from wire_cases import ANY, ECHO, for_a_command, judged, named, path, requests, streams
from wire_process import BINARIES, Process

INTERNAL = "internal-token-of-the-interop-test"
NAMES = ["campanile-notifications", "campanile-activities", "campanile-sync", "campanile-attendance", "campanile-gateway", "campanile-echo"]
STATUSES = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
            "UNAUTHENTICATED"]


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


@pytest.fixture
def identity(tmp_path):
    """The options of `campanile call` that present the internal token."""
    token = tmp_path / "token"
    token.write_text(INTERNAL)
    token.chmod(0o600)
    return ["--internal-token-file", str(token), "--as", "user/interop"]


class Exchange:
    """One case on one connection. Observes the credit granted by the server, and grants credit for each message received."""

    def __init__(self, peer, suite, case, step=1):
        """Grants credit after each `step` messages, or after 512 KiB. Many small grants need a trusted connection."""
        self.peer, self.case, self.responses, self.credit, self.last = peer, case, [], Credit(), None
        self.step, self.consumed = step, Credit(0, 0)
        self.streams_requests, self.streams_responses = streams(case)
        frame = {"jsonrpc": "2.0", "id": "i", "method": path(suite, case), "metadata": case.get("metadata", {})}
        if "timeoutMs" in case:
            frame["timeoutMs"] = case["timeoutMs"]
        if not self.streams_requests:
            frame["params"] = requests(case)[0]
        peer.send(frame)

    def receive(self):
        frame = self.peer.receive()
        assert frame is not None, "the connection was closed"
        if frame.get("method") == "rpc.message":
            assert frame["params"]["id"] == "i"
            self.responses.append(frame["params"]["message"])
            self.consumed.add({"messages": 1, "bytes": self.peer.received_bytes})
            if self.consumed.messages >= self.step or self.consumed.size_bytes >= 512 << 10:
                self.peer.grant("i", self.consumed.messages, self.consumed.size_bytes)
                self.consumed = Credit(0, 0)
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


def play(port, suite, case, token=INTERNAL):
    with Peer(port) as peer:
        peer.hello(token)
        exchange = Exchange(peer, suite, case, step=1 if token else 16).play()
        status, message = "OK", None
        if "error" in exchange.last:
            status, message = exchange.last["error"]["data"]["status"], exchange.last["error"]["message"]
        judged(case, exchange.responses, status, message)
        # The connection remains usable, and the id is free again.
        assert "result" in peer.call("rpc.ping")


def call(port, suite, case, *identity):
    """Runs a case with `campanile call`."""
    lines = "\n".join(json.dumps(one) for one in requests(case))
    command = [str(BINARIES / "campanile"), "call", path(suite, case), "-", "--address", f"127.0.0.1:{port}", "--output", "json",
               *identity]
    command += ["--timeout", f"{case['timeoutMs']}ms"] if "timeoutMs" in case else []
    for key, value in case.get("metadata", {}).items():
        command += [word for one in (value if isinstance(value, list) else [value]) for word in ("-H", f"{key}:{one}")]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60)
    status = STATUSES[done.returncode] if done.returncode < len(STATUSES) else f"exit code {done.returncode}"
    judged(case, [json.loads(line) for line in done.stdout.split("\n") if line], status)
    if status != "OK":
        assert status in done.stderr, done.stderr


@pytest.mark.parametrize("server", ["campanile-echo", "campanile-gateway"])
@pytest.mark.parametrize("case", named(ECHO["cases"]))
def test_echo_by_python(servers, server, case):
    play(servers[server].port, ECHO, case)


@pytest.mark.parametrize("server", ["campanile-echo", "campanile-gateway"])
@pytest.mark.parametrize("case", for_a_command(ECHO["cases"]))
def test_echo_by_swift(servers, server, case, identity):
    call(servers[server].port, ECHO, case, *identity)


@pytest.mark.parametrize("server", NAMES)
@pytest.mark.parametrize("case", named(ANY["cases"]))
def test_any_by_python(servers, server, case):
    play(servers[server].port, ANY, case)


@pytest.mark.parametrize("server", NAMES)
@pytest.mark.parametrize("case", for_a_command(ANY["cases"]))
def test_any_by_swift(servers, server, case, identity):
    call(servers[server].port, ANY, case, *identity)


@pytest.mark.parametrize("case", named(ECHO["cases"]))
def test_echo_without_a_token_by_python(any_server, case):
    play(any_server.port, ECHO, case, token=None)


# The cases of 80 MB take half a minute, and the command plays them against the suite's servers.
@pytest.mark.parametrize("server", ["python_peer", "plain_peer"])
@pytest.mark.parametrize("case", named(ANY["cases"]))
def test_any_of_the_python_peer(request, server, case):
    play(request.getfixturevalue(server).port, ANY, case, token=None)


@pytest.mark.parametrize("server", ["python_peer", "plain_peer"])
@pytest.mark.parametrize("case", for_a_command(ANY["cases"]))
def test_any_of_the_python_peer_by_swift(request, server, case):
    call(request.getfixturevalue(server).port, ANY, case)


@pytest.mark.parametrize("server", ["python_peer", "plain_peer"])
@pytest.mark.parametrize("case", for_a_command(one for one in ECHO["cases"] if not one["name"].endswith("_of_largest_messages")))
def test_python_peer_by_swift(request, server, case):
    call(request.getfixturevalue(server).port, ECHO, case)


def test_a_wrong_answer_is_seen():
    """The control: the check of a case can fail."""
    for case, responses, status in [
        ({"responses": [{"a": 1}]}, [{"a": 2}], "OK"), ({"responses": []}, [{}], "OK"), ({"status": "UNKNOWN"}, [], "OK"),
        ({"responseCount": 2}, [{}, {"index": 2}], "OK")]:
        with pytest.raises(AssertionError):
            judged(case, responses, status)

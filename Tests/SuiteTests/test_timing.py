"""What a secret is compared with must not show in how long it takes. Statistics over many attempts, in a random order, so that whatever
else the machine does meets all kinds of attempts alike; the same statistics see an early exit that is planted."""

import hmac
import itertools
import pathlib
import random
import socket
import statistics
import sys
import threading
import time

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Wire"))
from campanile_wire import Peer, reason  # noqa: E402
from wire_process import Process  # noqa: E402

from attendance import PACKAGE, TOKEN, Link, member  # noqa: E402

# A token of 4,000 bytes multiplies what a comparison that ends at the first difference would tell.
LONG = "t" * 4000
NEAR, FAR = LONG[:-1] + "x", "x" + LONG[1:]


def measured(attempts, rounds):
    """Makes each attempt so many times, in a random order, and answers the seconds that each took, by their names."""
    took = {name: [] for name in attempts}
    for _ in range(rounds):
        for name in random.sample(list(attempts), len(attempts)):
            took[name].append(attempts[name]())
    return took


def timed(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def differ(took, one, other):
    """Whether one kind of attempt takes another time than the other: by more than 10 us in the median of the pairs, and by more than
    eight times that median's own error, which grows with what else the machine does."""
    differences = [a - b for a, b in zip(took[one], took[other])]
    median = statistics.median(differences)
    spread = statistics.median(abs(value - median) for value in differences)
    error = 1.2533 * 1.4826 * spread / len(differences) ** 0.5
    return abs(median) > max(10e-6, 8 * error)


def told_apart(attempts, one, other, rounds=600):
    """Whether two kinds of attempts are told apart three times in a row."""
    return all(differ(measured(attempts, rounds), one, other) for _ in range(3))


def hello(port, token):
    """How long a refusal takes, on a connection of its own."""
    with Peer(port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "rpc.ping"})
        peer.receive()
        frame = Peer.frame({"jsonrpc": "2.0", "id": 2, "method": "rpc.hello", "params": {"protocol": "1", "agent": "t", "token": token}})

        def ask():
            peer.send_bytes(frame)
            assert b"UNAUTHENTICATED" in peer.receive_raw()
        return timed(ask)


def test_how_much_of_the_internal_token_is_right_does_not_show(tmp_path):
    process = Process("campanile-echo", tmp_path, internal_token=LONG)
    try:
        with Peer(process.port) as peer:
            assert "result" in peer.hello(LONG)
        assert not told_apart({"near": lambda: hello(process.port, NEAR), "far": lambda: hello(process.port, FAR)}, "near", "far")
    finally:
        assert process.stop() == 0


def test_how_much_of_a_key_is_right_does_not_show(tmp_path):
    secret = tmp_path / "admin-key"
    process = Process("campanile-gateway", tmp_path, "--data-dir", str(tmp_path / "data"), "--bootstrap-admin-key-file", str(secret),
                      "--backends", "echo@campanile.rpc.v1.EchoService=127.0.0.1:1", "--anonymous-rate", "100000:100000")
    try:
        key = secret.read_text().strip()
        with Peer(process.port) as peer:
            assert "result" in peer.hello(key)
        # The last character stays: not every one may end a text of 256 bits.
        near = key[:-2] + ("A" if key[-2] != "A" else "B") + key[-1]
        far = key[:4] + "".join(random.sample(key[4:-1], len(key) - 5)) + key[-1]
        assert not told_apart({"near": lambda: hello(process.port, near), "far": lambda: hello(process.port, far)}, "near", "far")
    finally:
        assert process.stop() == 0


class Model(threading.Thread):
    """A model of a service whose comparison ends at the first difference, or not."""

    def __init__(self, exits):
        super().__init__(daemon=True)
        self.exits, self.listener = exits, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def is_right(self, token):
        if not self.exits:
            return hmac.compare_digest(token, LONG)
        return len(token) == len(LONG) and all(one == other for one, other in zip(token, LONG))

    def run(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            peer = Peer.__new__(Peer)
            peer.socket, peer.buffer = near, b""
            while (frame := peer.receive()) is not None:
                if frame["method"] == "rpc.hello" and not self.is_right(frame["params"]["token"]):
                    peer.send({"jsonrpc": "2.0", "id": frame["id"], "error": {"code": 16, "message": "UNAUTHENTICATED"}})
                else:
                    peer.send({"jsonrpc": "2.0", "id": frame["id"], "result": {}})
            near.close()


@pytest.mark.parametrize("exits", [True, False])
def test_an_early_exit_would_be_seen(exits):
    """The statistics themselves: of two models that differ in nothing else, the one whose comparison ends early is found."""
    model = Model(exits)
    attempts = {"near": lambda: hello(model.port, NEAR), "far": lambda: hello(model.port, FAR)}
    # On a machine that has much else to do it may take more attempts to see it.
    seen = any(told_apart(attempts, "near", "far", rounds) for rounds in ([200, 600, 2000] if exits else [200]))
    model.listener.close()
    assert seen == exits


def test_who_has_a_pin_does_not_show(tmp_path):
    """A wrong PIN, a member without one, and a name that nobody has: each is judged by the same work. The control is an attempt that is
    refused before it is judged, and the fastest of each kind counts, which no other work on the machine can make faster."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    process = Process("campanile-attendance", folder, "--data-dir", str(folder), "--log-level", "warning", internal_token=TOKEN)
    try:
        with Link(process.port) as link:
            for number in range(4):
                one = member(link, f"Wrong {number}")
                link.ask("MembersService/SetMemberPin", {"memberId": one["id"], "pin": "4711"})
                member(link, f"Without {number}")

            def login(name, expected="CREDENTIALS_INVALID"):
                answers = []
                took = timed(lambda: answers.append(link.call(PACKAGE + "SessionsService/Login", {"name": name, "pin": "0815"})))
                assert reason(answers[0]) == expected, answers
                return took
            # An address may fail 30 times, and a name five times.
            counters = {kind: itertools.count() for kind in ("Wrong", "Without", "Nobody")}
            took = measured({kind: (lambda kind=kind: login(f"{kind} {next(counters[kind]) % 4}")) for kind in counters}, 9)
            for _ in range(2):
                login("Wrong 0")
            fastest = {kind: min(values) for kind, values in took.items()}
            assert min(fastest.values()) > 0.5 * max(fastest.values()), fastest
            control = min(login("Wrong 0", "LOGIN_THROTTLED") for _ in range(16))
            assert control < 0.5 * max(fastest.values()), (control, fastest)
    finally:
        assert process.stop() == 0

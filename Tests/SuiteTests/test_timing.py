"""The time of a refusal must not reveal anything about a secret.

The statistics use many attempts in random order, so that other load on the machine affects all kinds of attempts alike.
The same statistics detect a planted early exit.
"""

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

from campanile import eventually  # noqa: E402
from attendance import PACKAGE, TOKEN, Link, member  # noqa: E402
from sync_client import TOKEN as USERS_TOKEN, Link as UserLink  # noqa: E402

# A token of 4,000 bytes amplifies the time that a comparison with an early exit would reveal.
LONG = "t" * 4000
NEAR, FAR = LONG[:-1] + "x", "x" + LONG[1:]


def measured(attempts, rounds):
    """Makes each attempt `rounds` times in random order, and returns the durations in seconds, by name."""
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
    """Whether two kinds of attempts differ in their duration.

    The median difference of the pairs must exceed 10 us and eight times its own error, which grows with other load.
    """
    differences = [a - b for a, b in zip(took[one], took[other])]
    median = statistics.median(differences)
    spread = statistics.median(abs(value - median) for value in differences)
    error = 1.2533 * 1.4826 * spread / len(differences) ** 0.5
    return abs(median) > max(10e-6, 8 * error)


def told_apart(attempts, one, other, rounds=600):
    """Whether the statistics distinguish two kinds of attempts three times in a row."""
    return all(differ(measured(attempts, rounds), one, other) for _ in range(3))


def hello(port, token):
    """The duration of a refusal on a new connection, in seconds."""
    with Peer(port) as peer:
        peer.send({"jsonrpc": "2.0", "id": 1, "method": "rpc.ping"})
        peer.receive()
        frame = Peer.frame({"jsonrpc": "2.0", "id": 2, "method": "rpc.hello", "params": {"versions": ["1"], "agent": "t", "token": token}})

        def ask():
            peer.send_bytes(frame)
            assert b"UNAUTHENTICATED" in peer.receive_raw()
        return timed(ask)


def test_refusal_time_does_not_reveal_the_internal_token(tmp_path):
    process = Process("campanile-echo", tmp_path, internal_token=LONG)
    try:
        with Peer(process.port) as peer:
            assert "result" in peer.hello(LONG)
        assert not told_apart({"near": lambda: hello(process.port, NEAR), "far": lambda: hello(process.port, FAR)}, "near", "far")
    finally:
        assert process.stop() == 0


def test_refusal_time_does_not_reveal_an_api_key(tmp_path):
    secret = tmp_path / "admin-key"
    process = Process("campanile-gateway", tmp_path, "--data-dir", str(tmp_path / "data"), "--bootstrap-admin-key-file", str(secret),
                      "--backends", "echo@campanile.rpc.v1.EchoService=127.0.0.1:1", "--anonymous-rate", "100000:100000")
    try:
        key = secret.read_text().strip()
        with Peer(process.port) as peer:
            assert "result" in peer.hello(key)
        # The last character stays, because not every character can end the encoding of 256 bits.
        near = key[:-2] + ("A" if key[-2] != "A" else "B") + key[-1]
        far = key[:4] + "".join(random.sample(key[4:-1], len(key) - 5)) + key[-1]
        assert not told_apart({"near": lambda: hello(process.port, near), "far": lambda: hello(process.port, far)}, "near", "far")
    finally:
        assert process.stop() == 0


class Model(threading.Thread):
    """A model of a service. With `exits`, its comparison ends at the first difference."""

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
def test_early_exit_would_be_detected(exits):
    """Tests the statistics themselves: of two otherwise equal models, the one with an early exit is detected."""
    model = Model(exits)
    attempts = {"near": lambda: hello(model.port, NEAR), "far": lambda: hello(model.port, FAR)}
    # On a busy machine, the detection may need more attempts.
    seen = any(told_apart(attempts, "near", "far", rounds) for rounds in ([200, 600, 2000] if exits else [200]))
    model.listener.close()
    assert seen == exits


def test_login_time_does_not_reveal_who_has_a_pin(tmp_path):
    """A wrong PIN, a member without a PIN and an unknown name cost the same work.

    The control is an attempt that is refused before the PIN is verified. The fastest attempt of each kind counts, because
    other load cannot make it faster.
    """
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    process = Process("campanile-attendance", folder, "--data-dir", str(folder), "--log-level", "warning", internal_token=TOKEN)
    try:
        with Link(process.port) as link:
            for number in range(4):
                one = member(link, f"Wrong {number}")
                link.ask("MembersService/SetMemberPin", {"memberId": one["id"], "pin": "471147"})
                member(link, f"Without {number}")

            def login(name, expected="CREDENTIALS_INVALID"):
                answers = []
                took = timed(lambda: answers.append(link.call(PACKAGE + "SessionsService/Login", {"name": name, "pin": "081508"})))
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


PAIRS = 250


def area(took, one, other):
    """The area under the curve (AUC): how often one kind of attempt takes longer than the other; 0.5 if alike."""
    pairs = [(a > b) + (a == b) / 2 for a in took[one] for b in took[other]]
    return sum(pairs) / len(pairs)


def areas_apart(attempts, one, other):
    """The AUCs of three series of 250 pairs if all three distinguish the two kinds; None otherwise.

    An AUC of 0.45 to 0.55 does not distinguish them. Chance alone leaves that range once in 20 series, and three times in
    a row once in 8,000.
    """
    areas = []
    for _ in range(3):
        areas.append(area(measured(attempts, PAIRS), one, other))
        if 0.45 <= areas[-1] <= 0.55:
            return None
    return areas


def test_search_time_does_not_reveal_texts_of_other_users(tmp_path):
    """The time of one user's search must not reveal whether, or how often, another user's texts have a word.

    This includes words that both users have. The same statistics do detect the user's own words, because more texts are
    found and sent.
    """
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    process = Process("campanile-notifications", folder, "--data-dir", str(folder), "--log-level", "warning", internal_token=USERS_TOKEN)
    try:
        with UserLink(process.port, "anna") as anna, UserLink(process.port, "bruno") as bruno:
            def publish(link, titles):
                bucket = link.ask("NotificationsService/CreateBucket", {"bucket": {"name": "b", "color": "#112233"}})["bucket"]["id"]
                for at in range(0, len(titles), 500):
                    requests = [{"notification": {"bucketId": bucket, "title": title}} for title in titles[at:at + 500]]
                    link.ask("NotificationsService/BatchCreateNotifications", {"requests": requests})

            publish(anna, [f"zanzibarexpedition pelican {number}" for number in range(2_000)])
            publish(bruno, [f"harvest {number}" for number in range(100)] + ["pelican lobster"])

            def search(query, found):
                answers = []
                took = timed(lambda: answers.append(bruno.ask("NotificationsService/SearchNotifications", {"query": query})))
                assert len(answers[0].get("notifications", [])) == found, query
                return took

            kinds = {"beginning": ("zanzibarex", 0), "no beginning": ("qwertyuiop", 0), "short": ("zanzi", 0), "no short": ("qwert", 0),
                     "word": ('"zanzibarexpedition"', 0), "no word": ('"qwertyuiopasdfghjk"', 0),
                     "shared": ('"pelican"', 1), "not shared": ('"lobster"', 1), "own": ("harvest", 50)}
            attempts = {kind: (lambda query=query, found=found: search(query, found)) for kind, (query, found) in kinds.items()}
            # Wait until all texts are indexed and the service is idle.
            for link in (anna, bruno):
                eventually(lambda link=link: "result" in link.answer("NotificationsService/SearchNotifications", {"query": "pelican"}), "the index is ready")
            time.sleep(1)

            def apart(one, other):
                return areas_apart({kind: attempts[kind] for kind in (one, other)}, one, other)

            for one, other in [("beginning", "no beginning"), ("short", "no short"), ("word", "no word"), ("shared", "not shared")]:
                assert apart(one, other) is None, (one, other)
            assert apart("own", "no beginning") is not None
    finally:
        assert process.stop() == 0

"""Two gateways on one database of a PostgreSQL server, and two processes of Attendance."""

import json
import signal
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from campanile import eventually
from postgresql_server import Server
from sync_client import TOKEN

from campanile_wire import Peer, reason  # noqa: E402 (sync_client added its folder to the path)
from wire_marks import on_sqlite  # noqa: E402
from wire_process import Process, fixed_port  # noqa: E402

pytestmark = on_sqlite

ACCESS = "campanile.gateway.v1.AccessService"
NOTIFICATIONS = "campanile.notifications.v1.NotificationsService"
SESSIONS = "campanile.attendance.v1.SessionsService"
MEMBERS = "campanile.attendance.v1.MembersService"
# Of ListBuckets, which no other test calls.
RATE, BURST = 2, 60


class Link(Peer):
    """A connection with a credential."""

    def __init__(self, process, token=TOKEN):
        super().__init__(process.port, timeout_s=60)
        answer = self.hello(token)
        assert "error" not in answer, answer["error"]

    def ask(self, method, params=None, **metadata):
        answer = self.call(method, params or {}, metadata=metadata)
        assert "error" not in answer, answer["error"]
        return answer["result"]


class Suite:
    """A PostgreSQL server, one process of Notifications, and processes that share databases."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder
        self.started = []
        self.notifications_port = fixed_port()

    def start(self, name, *arguments, folder=None):
        folder = self.folder / (folder or f"{name}-{len(self.started)}")
        folder.mkdir(mode=0o700, exist_ok=True)
        self.started.append(
            Process(name, folder, "--data-dir", str(folder), "--log-level", "warning", *arguments, internal_token=TOKEN))
        return self.started[-1]

    def start_on(self, database, name, *arguments):
        return self.start(name, "--store", f"postgresql://postgres@/{database}?host={self.server.folder}", *arguments)

    def start_notifications(self):
        """Starts the service, with the data of its predecessor."""
        return self.start("campanile-notifications", "--port", str(self.notifications_port), folder="notifications")

    def start_gateway(self):
        return self.start_on(
            "gateways", "campanile-gateway", "--backends", f"notifications=127.0.0.1:{self.notifications_port}", "--method-rates",
            f"{NOTIFICATIONS}/ListBuckets={RATE}:{BURST}")

    def claims(self):
        return int(self.server.run("psql", "-h", self.server.folder, "-U", "postgres", "-XAtq", "-d", "gateways", "-c",
                                   "SELECT count(*) FROM reply_claims"))

    def stop(self):
        for process in self.started:
            process.stop()
        self.server.stop()


def known_gateways(gateway):
    """The number of gateways that one of them knows of."""
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.ready['admin']}/admin/limits", timeout=10) as answer:
        return json.load(answer)["gateways"]


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    for database in ["gateways", "lodge"]:
        server.create(database)
    suite = Suite(server, tmp_path_factory.mktemp("suite"))
    yield suite
    suite.stop()


@pytest.fixture(scope="module")
def pair(suite):
    """Two gateways that know of each other, in front of Notifications."""
    suite.start_notifications()
    gateways = [suite.start_gateway(), suite.start_gateway()]
    for gateway in gateways:
        eventually(lambda gateway=gateway: known_gateways(gateway) == 2, "both gateways are counted")
    return gateways


def make_key(gateway, user):
    with Link(gateway) as admin:
        made = admin.ask(f"{ACCESS}/CreateApiKey", {"principal": f"user/{user}"})
    return made["apiKey"]["id"], made["secret"]


def is_accepted(gateway, secret):
    with Peer(gateway.port) as peer:
        return "error" not in peer.hello(secret)


def test_keys_are_shared_and_revoked_everywhere(pair):
    first, second = pair
    for number in range(3):
        identifier, secret = make_key(first, f"u{number}")
        eventually(lambda secret=secret: is_accepted(second, secret), "the key works at the other gateway")
        with Link(second, secret) as watcher, Link(second, secret) as caller, Link(first) as admin:
            watcher.send({"jsonrpc": "2.0", "id": "w", "method": f"{NOTIFICATIONS}/WatchNotifications"})
            assert watcher.receive()["method"] == "rpc.message"
            caller.ask(f"{NOTIFICATIONS}/GetUnreadCounts")
            admin.ask(f"{ACCESS}/RevokeApiKey", {"keyId": identifier})
            frame = watcher.receive()
            while "error" not in frame:
                frame = watcher.receive()
            assert reason(frame) == "CREDENTIAL_REVOKED"
            assert reason(caller.call(f"{NOTIFICATIONS}/GetUnreadCounts", {})) == "CREDENTIAL_REVOKED"
        assert not is_accepted(second, secret)


def create(gateway, secret, title, key):
    with Link(gateway, secret) as link:
        return link.call(f"{NOTIFICATIONS}/CreateNotification", {"notification": {"bucketId": buckets[secret], "title": title}},
                         metadata={"idempotency-key": key})


buckets = {}


def make_user(pair, user):
    """A key that both gateways know, with a bucket."""
    _, secret = make_key(pair[0], user)
    eventually(lambda: is_accepted(pair[1], secret), "the key works at the other gateway")
    with Link(pair[0], secret) as link:
        buckets[secret] = link.ask(f"{NOTIFICATIONS}/CreateBucket", {"bucket": {"name": "b"}})["bucket"]["id"]
    return secret


def titles(gateway, secret):
    with Link(gateway, secret) as link:
        found = link.ask(f"{NOTIFICATIONS}/ListNotifications", {"pageSize": 1000})
    return sorted(one["title"] for one in found.get("notifications", []))


def test_a_request_is_carried_out_by_one_gateway(pair, suite):
    secret = make_user(pair, "ada")
    with ThreadPoolExecutor(8) as pool:
        for number in range(15):
            answers = list(pool.map(lambda index, number=number: create(pair[index % 2], secret, f"n{number:02}", f"k{number}"), range(8)))
            assert all("error" not in answer for answer in answers), answers
            assert len({answer["result"]["notification"]["id"] for answer in answers}) == 1
    assert titles(pair[0], secret) == [f"n{number:02}" for number in range(15)]
    assert reason(create(pair[1], secret, "other", "k1")) == "IDEMPOTENCY_KEY_REUSED"
    assert suite.claims() == 0


def test_rates_are_those_of_all_gateways_together(pair):
    secret = make_user(pair, "rates")
    method = f"{NOTIFICATIONS}/ListBuckets"
    begun = time.monotonic()

    def count(gateway):
        with Link(gateway, secret) as link:
            return sum("error" not in link.call(method, {}) for _ in range(2 * BURST))

    with ThreadPoolExecutor(2) as pool:
        accepted = sum(pool.map(count, pair))
    # The upper bound holds for every speed of the machine.
    assert BURST <= accepted <= BURST + RATE * (time.monotonic() - begun) + 2


def test_a_request_of_a_killed_gateway_is_carried_out_by_the_other(pair, suite):
    first, second = pair
    secret = make_user(pair, "grace")
    notifications = next(process for process in suite.started if process.port == suite.notifications_port)
    # The service receives the first call, and never carries it out.
    notifications.process.send_signal(signal.SIGSTOP)
    with ThreadPoolExecutor(2) as pool:
        lost = pool.submit(create, first, secret, "n", "killed")
        eventually(lambda: suite.claims() == 1, "the first gateway has claimed the request")
        first.kill()
        assert lost.exception() is not None or lost.result() is None or "error" in lost.result()
        notifications.kill()
        suite.start_notifications()
        repeated = pool.submit(create, second, secret, "n", "killed")
        # While the gateway may be alive, its request is not carried out again. Afterwards it is.
        answer = repeated.result(60)
    assert "error" not in answer, answer
    assert titles(second, secret) == ["n"]
    assert create(second, secret, "n", "killed")["result"] == answer["result"]
    eventually(lambda: known_gateways(second) == 1, "one gateway is counted")
    assert suite.claims() == 0


def test_guesses_at_two_processes_count_once(suite):
    processes = [suite.start_on("lodge", "campanile-attendance") for _ in range(2)]

    def login(process, pin):
        with Link(process) as link:
            answer = link.call(f"{SESSIONS}/Login", {"name": "Anna Rossi", "pin": pin}, metadata={
                "campanile-principal": "service/kiosk", "campanile-remote-address": "192.0.2.7"})
        return reason(answer) if "error" in answer else "OK"

    with Link(processes[0]) as admin:
        def manage(method, params):
            return admin.ask(f"{MEMBERS}/{method}", params, **{"campanile-principal": "user/root", "campanile-scopes": "admin"})

        member = manage("CreateMember", {"member": {"name": "Anna Rossi"}})["member"]["id"]
        manage("SetMemberPin", {"memberId": member, "pin": "471147"})
    guesses = [login(processes[number % 2], "000000") for number in range(7)]
    assert guesses == ["CREDENTIALS_INVALID"] * 5 + ["LOGIN_THROTTLED"] * 2
    assert login(processes[1], "471147") == "LOGIN_THROTTLED"

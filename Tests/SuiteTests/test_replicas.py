"""Two processes of Notifications, Sync and Activities each, on one database of a PostgreSQL server, both serving calls."""

import base64
import itertools
import json
import os
import signal
import threading
import time

import pytest
from activities import Activities, Load, ask
from apns import BUNDLE, Key, Simulator
from campanile import Suite, Threads, eventually
from postgresql_server import Server
from sync_client import LAST_WRITE_WINS, TOKEN, Link

from campanile_wire import Peer  # noqa: E402  (sync_client added its folder to the path)
from wire_marks import on_sqlite  # noqa: E402
from wire_process import Process  # noqa: E402
from wire_store import DATABASES  # noqa: E402

pytestmark = on_sqlite

NOTIFICATIONS = "NotificationsService/"
SECONDS = 4
ROOT_METADATA = {"campanile-principal": "user/root", "campanile-scopes": "admin"}


@pytest.fixture
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("server"))
    running.create("data")
    yield running
    running.stop()


def store(server):
    return f"postgresql://postgres@/data?host={server.folder}"


@pytest.fixture
def pair(server, tmp_path):
    """Starts two processes of a service on one database."""
    started = []

    def run(service):
        for number in range(2):
            folder = tmp_path / f"{service}-{number}"
            folder.mkdir(mode=0o700)
            started.append(Process(
                service, folder, "--data-dir", str(folder), "--log-level", "warning", "--store", store(server), internal_token=TOKEN))
        return started

    yield run
    for process in started:
        process.stop()


class Clients(Threads):
    """Threads that repeat each of their calls, with the same request id, until one of the processes has responded."""

    def __init__(self, processes, count, call):
        self.processes = processes
        self.call = call
        self.stopped = threading.Event()
        self.acknowledged = {}
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(number,), daemon=True) for number in range(count)]

    def __exit__(self, *error):
        super().__exit__(*error)
        assert not self.failures, self.failures

    def run(self, number):
        try:
            for index in itertools.count():
                if self.stopped.is_set():
                    return
                name = f"{number}-{index}"
                self.acknowledged[name] = self.until_acknowledged(name, number + index)
        except Exception as error:  # noqa: BLE001  (the test reports it)
            self.failures.append(repr(error))

    def until_acknowledged(self, name, turn):
        """Alternates between the processes, as a gateway may."""
        for attempt in range(600):
            process = self.processes[(turn + attempt) % 2]
            try:
                with Link(process.port, timeout_s=20) as link:
                    answer = self.call(link, name)
                if answer is not None and "error" not in answer:
                    return answer["result"]
                code = answer["error"]["data"]["status"] if answer else "UNAVAILABLE"
                assert code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"), answer
            except (OSError, TypeError, json.JSONDecodeError):
                pass  # The process was killed: whether it has carried out the call is unknown.
            time.sleep(0.02)
        raise AssertionError(f"{name} was not acknowledged")


class Watch:
    """A watch, in a thread of its own. `messages` are those after the first one."""

    def __init__(self, link, method, metadata):
        self.messages = []
        self.link = link
        link.send({"jsonrpc": "2.0", "id": "w", "method": method, "metadata": metadata})
        assert link.receive()["method"] == "rpc.message"
        link.grant_all("w")
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            while (frame := self.link.receive()) and frame.get("method") == "rpc.message":
                self.messages.append(frame["params"]["message"])
        except OSError:
            pass


class Creations(Watch):
    """A watch of all notifications."""

    def __init__(self, process):
        link = Link(process.port, timeout_s=60)
        super().__init__(link, "campanile.notifications.v1.NotificationsService/WatchNotifications", link.metadata)

    def values(self, field):
        changes = [message.get("change", {}).get("notificationCreated") for message in self.messages]
        return [made[field] for made in changes if made]


def listed(process):
    titles, token = [], ""
    with Link(process.port) as link:
        while True:
            page = link.ask(NOTIFICATIONS + "ListNotifications", {"pageSize": 1000, "pageToken": token})
            titles += [one["title"] for one in page.get("notifications", [])]
            token = page.get("nextPageToken")
            if not token:
                return titles


def test_publications_through_both_processes_survive_the_end_of_one(pair):
    processes = pair("campanile-notifications")
    with Link(processes[0].port) as link:
        bucket = link.ask(NOTIFICATIONS + "CreateBucket", {"bucket": {"name": "b"}})["bucket"]["id"]

    def publish(link, name):
        return link.answer(NOTIFICATIONS + "CreateNotification", {
            "notification": {"bucketId": bucket, "title": name}, "requestId": f"r{name}"})

    watches = [Creations(process) for process in processes]
    with Clients(processes, 6, publish) as clients:
        time.sleep(SECONDS)
        processes[0].kill()
        killed_after = len(clients.acknowledged)
        time.sleep(SECONDS)
    made = {name: result["notification"]["id"] for name, result in clients.acknowledged.items()}
    assert killed_after > 50 and len(made) > killed_after
    # Nothing acknowledged is lost, and nothing happened twice.
    titles = listed(processes[1])
    assert sorted(titles) == sorted(made)
    with Link(processes[1].port) as link:
        assert link.ask(NOTIFICATIONS + "GetUnreadCounts")["unreadCounts"]["total"] == len(made)
        # A request id is known to the process that has not carried it out.
        for name in list(made)[:20]:
            assert publish(link, name)["result"]["notification"]["id"] == made[name]
    # The watch has seen every notification once, in the order of their ids, whichever process has published it.
    eventually(lambda: len(watches[1].values("id")) >= len(made), "all are watched")
    watched, ids = watches[1].values("title"), watches[1].values("id")
    assert sorted(watched) == sorted(made)
    assert ids == sorted(ids)
    assert titles == [title for _, title in sorted(zip(ids, watched), reverse=True)]
    # The other watch, until its process ended.
    before = watches[0].values("title")
    assert before == watched[:len(before)] and len(before) > 50


def test_files_through_both_processes_survive_the_end_of_one(pair):
    processes = pair("campanile-sync")
    with Link(processes[0].port) as link:
        for number in range(6):
            link.register(f"phone{number}", "WRITER")

    def commit(link, name):
        number, index = name.split("-")
        content = base64.b64encode(f"[{index}]".encode()).decode()
        return link.answer("AssetsService/CommitAssets", {
            "deviceId": f"phone{number}", "requestId": f"r{name}",
            "changes": [{"put": {"name": f"f{number}", "recordType": "Note", "inlineContent": content, "onConflict": LAST_WRITE_WINS}}]})

    with Clients(processes, 6, commit) as clients:
        time.sleep(SECONDS)
        processes[0].kill()
        time.sleep(SECONDS)
    done = len(clients.acknowledged)
    assert done > 100
    with Link(processes[1].port) as link:
        # Each commit is a revision: none is lost, and none was made twice.
        assert int(link.ask("ZonesService/GetZone")["zone"]["revision"]) == done
        for number in range(6):
            last = max(int(name.split("-")[1]) for name in clients.acknowledged if name.startswith(f"{number}-"))
            assert link.content(f"f{number}") == f"[{last}]".encode()


class ActivitiesPair:
    """Two processes of Activities. New connections take turns between those that run."""

    def __init__(self, folder, simulator, server):
        self.turns = itertools.count()
        self.running = []
        for number in range(2):
            self.running.append(Activities(folder / f"activities-{number}", simulator, [], "--store", store(server)))

    def link(self):
        return self.running[next(self.turns) % len(self.running)].link()

    def log(self):
        return "".join(one.log() for one in self.running)


@pytest.fixture
def activities(tmp_path, server):
    key = Key()
    simulator = Simulator(tmp_path / "simulator", keys=[key])
    both = ActivitiesPair(tmp_path, simulator, server)
    started = list(both.running)
    yield both, simulator, key
    for one in started:
        one.stop()
    simulator.stop()


def admin(link, method, params):
    answer = link.call(f"campanile.activities.v1.{method}", params, metadata=ROOT_METADATA)
    assert "error" not in answer, answer["error"]
    return answer["result"]


def start_activity(link):
    return ask(link, "ActivitiesService/StartActivity", {
        "app": BUNDLE, "environment": "sandbox", "origin": "ACTIVITY_ORIGIN_LOCAL", "contentStateJson": '{"n":0}',
        "attributesType": "Test", "attributesJson": "{}"})["activity"]["id"]


def test_activities_are_updated_and_pushed_through_both_processes(activities):
    both, simulator, key = activities
    first, second = both.running
    with first.link() as at_first, second.link() as at_second:
        admin(at_first, "SigningService/PutSigningKey", {
            "key": {"keyId": key.key_id, "teamId": key.team_id, "apps": [BUNDLE]}, "privateKeyPem": key.private_pem})
        # At once, and at the other process.
        start_activity(at_second)
        assert [one["keyId"] for one in admin(at_second, "SigningService/ListSigningKeys", {})["keys"]] == [key.key_id]
        tokens = {admin(link, "SigningService/SignProviderToken", {"keyId": key.key_id})["token"] for link in (at_first, at_second)}
        assert len(tokens) == 1
        # No file has the key.
        assert not list(first.folder.glob("signing-keys/*")) and not list(second.folder.glob("signing-keys/*"))
    ends = [PushEnds(process) for process in both.running]
    load = Load(both, BUNDLE)
    with load:
        time.sleep(SECONDS)
        # One of them sends the pushes. Its end must not matter, whichever it is.
        both.running = [second]
        first.kill()
        time.sleep(SECONDS)
    screens = load.check(simulator)
    assert len(screens) == len(load.ids) and sum(load.acknowledged.values()) > 100
    assert set(simulator.statistics()["answers"]) == {"200"}
    assert not load.refusals
    with second.link() as link:
        pushes = admin(link, "PushDeliveryService/ListPushes", {"pageSize": 1000})["pushes"]
    known = {push["apnsId"] for push in pushes}
    eventually(lambda: known <= set(ends[1].ids), f"all ends are watched: {len(known - set(ends[1].ids))} are missing")
    assert len(ends[1].ids) == len(set(ends[1].ids))
    assert len(ends[0].ids) > 10 and ends[0].ids == ends[1].ids[:len(ends[0].ids)]


class PushEnds(Watch):
    """A watch of the ends of pushes."""

    def __init__(self, process):
        super().__init__(process.link(), "campanile.activities.v1.PushDeliveryService/WatchPushes", ROOT_METADATA)

    @property
    def ids(self):
        return [message["push"]["apnsId"] for message in self.messages if "push" in message]


def test_a_suite_of_replicas_survives_the_end_of_each_process(tmp_path, tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("server"))
    for database in DATABASES:
        server.create(database)
    suite = Suite(tmp_path / "data", "--demo", "--replicas", "2", "--store", f"postgresql://postgres@/?host={server.folder}")
    try:
        suite.wait_ready()
        names = {"gateway", "notifications", "activities", "sync", "attendance"}
        names |= {f"{name}-2" for name in names}
        assert names <= set(suite.endpoints)
        key = json.loads((suite.folder / "demo.json").read_text())["users"]["user/giulia"]["key"]
        bucket = suite.call("ListBuckets", {}, key)["buckets"][0]["id"]

        def publish(gateway, title):
            with Peer(suite.endpoints[gateway]["rpc"], timeout_s=60) as peer:
                assert "error" not in peer.hello(key)
                # A killed process may have carried out the call, so only its caller may repeat it.
                eventually(lambda: "error" not in peer.call(
                    "campanile.notifications.v1.NotificationsService/CreateNotification",
                    {"notification": {"bucketId": bucket, "title": title}, "requestId": title}), f"{title} is published")

        def published():
            return {one["title"] for one in suite.call("ListNotifications", {"pageSize": 100}, key)["notifications"]}

        for number, name in enumerate(["notifications", "notifications-2", "activities", "gateway-2"]):
            eventually(lambda: suite.run("health", "--cluster").returncode == 0, "all processes serve")
            processes = json.loads(suite.run("health", "--cluster", check=0).stdout)["processes"]
            assert processes == dict.fromkeys(names, "SERVING")
            pids = suite.children()
            os.kill(pids[name], signal.SIGKILL)
            titles = {f"{number}-{index}" for index in range(10)}
            for index, title in enumerate(sorted(titles)):
                publish("gateway" if name == "gateway-2" or index % 2 else "gateway-2", title)
            assert titles <= published()
            eventually(lambda name=name, pids=pids: suite.children().get(name) not in (None, pids[name]), f"{name} runs again")
        os.kill(suite.children()["sync-2"], signal.SIGSTOP)
        sick = suite.run("health", "--cluster", "--timeout", "1s", check=14)
        assert json.loads(sick.stdout)["processes"]["sync-2"] == "UNREACHABLE" and "sync-2" in sick.stderr
        os.kill(suite.children()["sync-2"], signal.SIGCONT)
        assert suite.stop() == 0
    finally:
        suite.stop()
        server.stop()

"""Processes that freeze, clocks that jump, and resources that run out."""

import collections
import contextlib
import json
import random
import resource
import select
import signal
import socket
import threading
import time

from fleet import ORDER, SERVICES, Fleet, eventually, run
from load import NOTIFICATIONS, MixedLoad
from campanile_wire import Peer, reason
from network import judged
from disk import reads_go_on
from probes import METHODS, Probes, caller

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"


def freezes(context):
    """Each process is stopped for a while under load, and continued: calls to it end by their deadlines, other services are not
    affected, and nothing is lost."""
    with context.fleet("data") as fleet, context.judged_load(fleet) as load:
        victims = list(ORDER)
        context.random.shuffle(victims)
        for victim in victims * context.pick(quick=1, full=5):
            # A stopped gateway affects all clients: no response can arrive in time.
            services = [] if victim == "gateway" else list(METHODS)
            with Probes(fleet, context, services=services, each=1) as probes:
                fleet.signal(victim, signal.SIGSTOP)
                begun = time.monotonic()
                load.clients[0].stopping.wait(context.random.uniform(1, context.pick(quick=2, full=8)))
                ended = time.monotonic()
                fleet.signal(victim, signal.SIGCONT)
                load.all_served(2)
            judged(context, probes, f"{victim} was stopped for {ended - begun:.1f} s")
            for service in set(services) - {victim}:
                statuses = [status for probe in probes.of(service) for status in probe.statuses(begun, ended - 1)]
                bad = [status for status in statuses if status != "OK"]
                assert len(bad) <= 0.1 * len(statuses), f"{service} is affected while {victim} is stopped: {bad[:5]}"
            context.count(rounds=1)


def clocks(context):
    """The clock of all processes jumps by a day in both directions, and by some seconds, under load. Data keeps its order, watches
    continue, and deadlines hold, because they use the monotonic clock."""
    # libfaketime names its shared memory by process ids, which other processes have outside the namespace.
    run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    stamp = context.folder / "faketime"
    stamp.write_text("+0\n")
    env = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(stamp), "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1"}
    fleet = Fleet(context.folder / "data", users=MixedLoad.users())
    # Started by `env`: libfaketime moves the environment of the first program it is loaded into, and Swift then finds
    # no arguments.
    fleet.start(*ORDER, prefix=["env"], env=env)
    fleet.wait_serving()
    try:
        with context.judged_load(fleet, activities=0) as load:
            jumps = ["+86400", "+0", "-86400", "+5", "-5", "+0"]
            for jump in context.pick(quick=["+86400", "-86400"], full=jumps * 3):
                with Probes(fleet, context, each=1) as probes:
                    stamp.write_text(f"{jump}\n")
                    load.clients[0].stopping.wait(2.5)
                    load.all_served(5)
                judged(context, probes, f"the clock is at {jump} s")
                context.count(jumps=1)
            stamp.write_text("+0\n")
            load.clients[0].stopping.wait(1.5)
        (spread_ms,), = fleet.rows("notifications", "SELECT max(created_at_ms) - min(created_at_ms) FROM notifications")
        assert spread_ms > 86_000_000, f"the clock did not jump: {spread_ms} ms"
    finally:
        fleet.stop()


def descriptors(context):
    """Every process has a low limit of descriptors, and more strangers connect than it allows. Existing clients are served, no process
    dies, and strangers are served once others have disconnected. (libdispatch ends a process that has no descriptors left.)"""
    limit, crowd = 256, 600
    fleet = Fleet(context.folder / "data", users=MixedLoad.users())
    fleet.start(*ORDER, prefix=["prlimit", f"--nofile={limit}:{limit}"])
    fleet.wait_serving()
    try:
        with context.judged_load(fleet) as load:
            links = {service: fleet.peer(caller(fleet, service)) for service in METHODS}
            doors = [(name, port) for name in ["gateway", *SERVICES] for port in ("rpc", "http") if name == "gateway" or port == "rpc"]
            for victim, door in context.pick(quick=context.random.sample(doors, 4), full=doors * 3):
                strangers = [stranger(fleet.ready[victim][door]) for _ in range(crowd)]
                end, peak = time.monotonic() + context.pick(quick=0.5, full=3), 0
                while time.monotonic() < end:
                    peak = max(peak, fleet.descriptors(victim))
                    time.sleep(0.002)
                used = fleet.descriptors(victim)
                # One more stranger may have been accepted since the last sample.
                peak = max(peak, used)
                assert limit / 4 < used and peak < limit - 16, f"{victim} has {used} descriptors of {limit} in use, {peak} at most"
                reads_go_on(fleet, links)
                load.all_served(2, seconds=30)
                assert fleet.all_running(), f"a process ended: {fleet.text()[-3000:]}"
                for one in strangers:
                    one.close()
                eventually(lambda: answers(fleet.ready[victim]["rpc"]), f"{victim} accepts strangers again")
                context.tell(f"{victim}, {door}: {used} of {limit} descriptors in use, {peak} at most, and served; refused: {load.refusals()}")
                context.count(rounds=1)
    finally:
        fleet.stop()


def stranger(port):
    """Starts to connect to a port. The connection sends nothing."""
    one = socket.socket()
    one.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        one.connect(("127.0.0.1", port))
    return one


def answers(port):
    with contextlib.suppress(OSError), Peer(port, timeout_s=10) as peer:
        answer = peer.call("rpc.ping")
        return answer is not None and "result" in answer
    return False


def memory(context):
    """Every process has a low memory limit, while clients send large messages, read nothing and open streams: memory stays within the limit."""
    limit = 768 << 20
    with context.fleet("data") as fleet, context.judged_load(fleet) as load:
        for name in ORDER:
            run("prlimit", "--pid", fleet.pid(name), f"--data={limit}")
        before = {name: fleet.rss_bytes(name) for name in ORDER}
        hogs = [Hog(fleet, context.random.randrange(1 << 30)) for _ in range(context.pick(quick=12, full=40))]
        for hog in hogs:
            hog.start()
        highest = dict(before)
        end = time.monotonic() + context.pick(quick=6, full=60)
        while time.monotonic() < end:
            for name in ORDER:
                highest[name] = max(highest[name], fleet.rss_bytes(name))
            assert fleet.all_running(), f"a process ended: {fleet.text()[-2000:]}"
            time.sleep(0.2)
        for hog in hogs:
            hog.stopping.set()
        for hog in hogs:
            hog.join(20)
        context.note(highest_mib={name: value >> 20 for name, value in highest.items()}, hogged_mib=sum(hog.sent for hog in hogs) >> 20)
        assert sum(hog.sent for hog in hogs) > limit // 8, "the hogs sent nothing"
        assert max(highest.values()) < limit


class Hog(threading.Thread):
    """Sends messages of up to one mebibyte as fast as possible, and reads nothing."""

    def __init__(self, fleet, seed):
        super().__init__(daemon=True)
        self.fleet, self.random, self.stopping, self.sent = fleet, random.Random(seed), threading.Event(), 0

    def run(self):
        while not self.stopping.is_set():
            with contextlib.suppress(OSError):
                link = self.fleet.peer("user/ann", timeout_s=2, receive_buffer_bytes=4096)
                while not self.stopping.is_set():
                    method = self.random.choice([
                        NOTIFICATIONS + "SearchNotifications", "campanile.sync.v1.AssetsService/PutAsset",
                        "campanile.activities.v1.ActivitiesService/UpdateActivity", NOTIFICATIONS + "WatchNotifications"])
                    frame = Peer.frame({"jsonrpc": "2.0", "id": self.random.randrange(1 << 40), "method": method,
                                        "params": {"nothing": "x" * self.random.randrange(1 << 20)}})
                    link.send_bytes(frame)
                    self.sent += len(frame)
            self.stopping.wait(0.05)


def connections(context):
    """The gateway is killed and restarted, and 10,000 clients connect at once: each is served. The control is a gateway that accepts
    half as many."""
    count = 10_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    fleet = Fleet(context.folder / "data", users=MixedLoad.users())
    # All of them connect from one address.
    wide = lambda name, command: command + ["--max-connections-per-address", f"{count * 2}"] * (name == "gateway")
    control = lambda name, command: wide(name, command) + ["--max-connections", f"{count // 2}"] * (name == "gateway")
    for change, wanted in ((wide, True), (control, False)):
        fleet.change = change
        fleet.start()
        try:
            for _ in range(context.pick(quick=1, full=3) if wanted else 1):
                fleet.kill("gateway")
                fleet.start("gateway")
                begun = time.monotonic()
                answered, refused = herd(fleet, count, 60 if wanted else 5)
                took = time.monotonic() - begun
                context.tell(f"{answered} of {count} clients served after {took:.1f} s, {fleet.rss_bytes('gateway') >> 20} MiB, "
                             f"refusals: {dict(refused)}")
                assert (answered == count) == wanted, f"{answered} of {count} served"
                context.count(callers=answered)
                if wanted:
                    context.note(seconds=round(took, 1))
        finally:
            fleet.stop()


def herd(fleet, count, patience_s):
    """Connects `count` clients at the same time, each of which calls until it has a result. Returns the number of clients with a result
    in time, and the refusals by reason."""
    port, key = fleet.endpoints["gateway"]["rpc"], fleet.keys["user/ann"]
    hello = Peer.frame({"jsonrpc": "2.0", "id": 1, "method": "rpc.hello", "params": {"versions": ["1"], "agent": "herd", "token": key}})
    call = Peer.frame({"jsonrpc": "2.0", "id": 2, "method": METHODS["notifications"]})
    poll, callers, waiting, done, refused = select.epoll(), {}, collections.deque(), 0, collections.Counter()
    for _ in range(count):
        one = Herded(port)
        callers[one.socket.fileno()] = one
        poll.register(one.socket, select.EPOLLOUT)
    end = time.monotonic() + patience_s
    try:
        while done < count and time.monotonic() < end:
            while waiting and waiting[0][0] <= time.monotonic():
                waiting.popleft()[1].socket.send(call)
            for descriptor, event in poll.poll(0.05):
                one = callers[descriptor]
                if event & select.EPOLLOUT and not event & (select.EPOLLERR | select.EPOLLHUP):
                    one.socket.send(hello + call)
                    poll.modify(descriptor, select.EPOLLIN)
                    continue
                answer = one.read()
                if answer is None:
                    poll.unregister(descriptor)
                elif "result" in answer:
                    done += 1
                    poll.unregister(descriptor)
                elif answer:
                    refused[reason(answer)] += 1
                    waiting.append((time.monotonic() + 0.3, one))
    finally:
        for one in callers.values():
            one.socket.close()
        poll.close()
    return done, refused


class Herded:
    """One of many clients, without a thread."""

    def __init__(self, port):
        self.socket, self.bytes = socket.socket(), b""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            self.socket.connect(("127.0.0.1", port))

    def read(self):
        """Returns the response to the call; `{}` if there is none yet; `None` if the server has closed the connection."""
        try:
            data = self.socket.recv(65_536)
        except OSError:
            data = b""
        self.bytes += data
        while len(self.bytes) >= 4 and len(self.bytes) >= 4 + (size := int.from_bytes(self.bytes[:4], "big")):
            frame, self.bytes = json.loads(self.bytes[4:4 + size]), self.bytes[4 + size:]
            if frame.get("id") == 2:
                return frame
        return {} if data else None


def slow(context):
    """Hundreds of clients send byte by byte, or open watches and never read, on both ports: others are served within their deadlines,
    and memory stays low."""
    count = context.pick(quick=100, full=400)
    with context.fleet("data") as fleet, context.judged_load(fleet) as load:
        before = fleet.rss_bytes("gateway")
        port, web = fleet.endpoints["gateway"]["rpc"], fleet.endpoints["gateway"]["http"]
        readers, writers = [], []
        for number in range(count):
            with contextlib.suppress(OSError):
                reader = fleet.peer("user/p0", receive_buffer_bytes=2048)
                reader.send({"jsonrpc": "2.0", "id": 1, "method": NOTIFICATIONS + "WatchNotifications", "params": {}})
                readers.append(reader)
            writer = socket.create_connection(("127.0.0.1", web if number % 2 else port), 10)
            writers.append((writer, b"POST /notifications/v1/notifications HTTP/1.1\r\nHost: a\r\n" if number % 2 else Peer.frame({"a": "b" * 200})))
        with Probes(fleet, context, each=1, longest_ms=2000) as probes:
            for position in range(context.pick(quick=30, full=200)):
                for writer, text in writers:
                    with contextlib.suppress(OSError):
                        writer.send(text[position % len(text):][:1])
                load.clients[0].stopping.wait(0.1)
            load.all_served(5)
        judged(context, probes, f"{len(readers)} clients that do not read and {len(writers)} that trickle")
        statuses = [status for probe in probes.all for status in probe.statuses()]
        assert statuses.count("OK") > 0.9 * len(statuses), f"{len(statuses) - statuses.count('OK')} of {len(statuses)} refused"
        grown = fleet.rss_bytes("gateway") - before
        assert grown < 300 << 20, f"the gateway grew by {grown >> 20} MiB"
        context.note(grown_mib=grown >> 20, slow=len(readers) + len(writers))
        for peer in readers:
            peer.close()
        for writer, _ in writers:
            writer.close()

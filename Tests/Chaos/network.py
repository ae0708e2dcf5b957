"""Networks that lose and delay packets, and partitions. Notifications, Sync and Attendance run on another host, which is a
separate network namespace."""

import contextlib
import select
import socket
import subprocess
import threading
import time

from fleet import Fleet, eventually, run
from judge import judge
from load import MixedLoad
from probes import METHODS, Probes, received

HERE, THERE = "10.77.0.1", "10.77.0.2"
AWAY = ("notifications", "sync", "attendance")


class Hosts:
    """Two hosts and the cable between them."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        eventually(lambda: run("readlink", f"/proc/{self.holder.pid}/ns/net").stdout != run("readlink", "/proc/self/ns/net").stdout,
                   "the other host is up")
        run("ip", "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", str(self.holder.pid))
        self.enter = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]
        for prefix, device, address in (([], "here", HERE), (self.enter, "there", THERE)):
            run(*prefix, "ip", "address", "add", f"{address}/24", "dev", device)
            run(*prefix, "ip", "link", "set", device, "up")
        run(*self.enter, "ip", "link", "set", "lo", "up")

    def fleet(self, context, name, lines=None):
        """Starts a fleet with the services of `AWAY` on the other host. The gateway reaches some of them through `lines`."""
        fleet = Fleet(context.folder / name, users=MixedLoad.users())
        away = {one: fleet.ready[one]["rpc"] for one in AWAY}
        lines = lines or {}
        for service, line in lines.items():
            line.target = (THERE, away[service])

        def change(one, command):
            def moved(word):
                for service, port in fleet.endpoints.items():
                    if not isinstance(port, dict) or "rpc" not in port:
                        continue
                    other = THERE if service in away else HERE
                    target = f"{other}:{port['rpc']}"
                    if one == "gateway" and service in lines:
                        target = f"127.0.0.1:{lines[service].port}"
                    word = word.replace(f"127.0.0.1:{port['rpc']}", target)
                return word
            return [moved(word) for word in command] + ["--host", "0.0.0.0", "--insecure-plaintext"]
        fleet.change = change
        metrics = fleet.metrics
        fleet.metrics = lambda one: metrics(one, THERE if one in away else "127.0.0.1")
        for one in ("notifications", "apns-simulator", "activities", "sync", "attendance", "gateway"):
            fleet.begin(one, prefix=self.enter if one in away else ())
        for one in fleet.processes:
            fleet.wait(one)
        fleet.wait_serving()
        fleet.away = self.enter
        return fleet

    # Faults of the cable, as firewall rules that `heal` removes.

    def rule(self, chain, *words):
        run("iptables", "-A", chain, *words)

    def lose(self, probability):
        for chain, direction in (("OUTPUT", "-o"), ("INPUT", "-i")):
            self.rule(chain, direction, "here", "-m", "statistic", "--mode", "random", "--probability", f"{probability}", "-j", "DROP")

    def cut(self, requests=True, answers=True, port=None):
        """Cuts one direction or both, for all traffic or that of one service."""
        if requests:
            self.rule("OUTPUT", "-o", "here", *(["-p", "tcp", "--dport", str(port)] if port else []), "-j", "DROP")
        if answers:
            self.rule("INPUT", "-i", "here", *(["-p", "tcp", "--sport", str(port)] if port else []), "-j", "DROP")

    def heal(self):
        run("iptables", "-F")

    def end(self):
        self.holder.kill()
        self.holder.wait()


class Line:
    """A connection to `target`, a host and a port, with a delay and a bandwidth that may change at any time. Bytes keep their order."""

    def __init__(self):
        self.target, self.delay_s, self.bytes_per_s = None, 0.0, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(self.target, 10)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.carry, args=(one, other), daemon=True).start()

    def carry(self, source, sink):
        waiting, free_at, is_open = [], 0.0, True
        try:
            while is_open or waiting:
                timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
                # The data in flight is bounded, as on a real connection.
                listening = [source] if is_open and len(waiting) < 64 else []
                if select.select(listening, [], [], timeout)[0]:
                    data = source.recv(16_384)
                    is_open = bool(data)
                    if data:
                        rate = self.bytes_per_s
                        free_at = max(free_at, time.monotonic()) + (len(data) / rate if rate else 0)
                        waiting.append((free_at + self.delay_s, data))
                while waiting and waiting[0][0] <= time.monotonic():
                    sink.sendall(waiting.pop(0)[1])
        except OSError:
            pass
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def judged(context, probes, what):
    late = probes.late()
    context.count(probed=probes.count())
    context.tell(f"{what}: {probes.count()} calls with deadlines, at most {1000 * probes.worst_s():.0f} ms beyond them")
    assert not late, f"{what}: {len(late)} calls took longer than their deadline allows: {late[:5]}"


def losses(context):
    """1 to 30 % of all packets are lost in both directions under load: deadlines hold, and nothing acknowledged is lost."""
    hosts = Hosts()
    fleet = hosts.fleet(context, "data")
    try:
        with context.judged_load(fleet) as load:
            for percent in context.pick(quick=[2, 30], full=[1, 2, 5, 10, 20, 30] * 3):
                with Probes(fleet, context, each=1) as probes:
                    hosts.lose(percent / 100)
                    load.clients[0].stopping.wait(context.pick(quick=3, full=8))
                    hosts.heal()
                judged(context, probes, f"{percent} % lost")
                context.count(rounds=1)
                load.all_served(3)
    finally:
        hosts.heal()
        fleet.stop()
        hosts.end()


def delays(context):
    """The gateway's connections to two services have high latency or low bandwidth: deadlines hold."""
    hosts = Hosts()
    lines = {service: Line() for service in ("notifications", "sync")}
    fleet = hosts.fleet(context, "data", lines)
    try:
        with context.judged_load(fleet) as load:
            for _ in range(context.pick(quick=2, full=12)):
                for line in lines.values():
                    line.delay_s = context.random.choice([0.05, 0.15, 0.4])
                    line.bytes_per_s = context.random.choice([None, 1_000_000, 200_000])
                with Probes(fleet, context, each=1) as probes:
                    load.clients[0].stopping.wait(context.pick(quick=3, full=8))
                judged(context, probes, "delays " + ", ".join(f"{line.delay_s} s at {line.bytes_per_s}" for line in lines.values()))
                context.count(rounds=1)
            for line in lines.values():
                line.delay_s, line.bytes_per_s = 0.0, None
    finally:
        fleet.stop()
        hosts.end()


def partitions(context):
    """The network is cut in one or both directions, to all or one service, or while the other side dies, and is restored. Deadlines
    hold, other services are not affected, and everything recovers."""
    hosts = Hosts()
    fleet = hosts.fleet(context, "data")
    ways = [(True, True), (True, False), (False, True)]
    kinds = [(way, service) for way in ways for service in (None, *AWAY)] + [((True, True), "half-open")]
    if not context.full:
        kinds = [context.random.choice(kinds[:4]), ((True, False), "notifications"), ((False, True), context.random.choice(AWAY)), kinds[-1]]
    try:
        with context.judged_load(fleet) as load:
            for (requests, answers), service in kinds * context.pick(quick=1, full=2):
                partition(context, hosts, fleet, load, requests, answers, service)
    finally:
        hosts.heal()
        fleet.stop()
        hosts.end()


def partition(context, hosts, fleet, load, requests, answers, service):
    half_open = service == "half-open"
    victim = context.random.choice(AWAY) if half_open else service
    what = f"cut {'requests ' * requests}{'responses ' * answers}{'of ' + service if service else 'of all'}"
    with Probes(fleet, context, each=2) as probes:
        load.clients[0].stopping.wait(0.5)
        begun = time.monotonic()
        hosts.cut(requests, answers, None if half_open or service is None else fleet.ready[victim]["rpc"])
        load.clients[0].stopping.wait(context.random.uniform(1.5, 3))
        if half_open:
            # The service dies without closing its connections, and a new process takes its place.
            fleet.kill(victim)
            fleet.start(victim, prefix=fleet.away)
        ended = time.monotonic()
        hosts.heal()
        target = victim or "notifications"
        back = lambda: any(status == "OK" for probe in probes.of(target) for status in probe.statuses(ended))
        eventually(back, f"{target} is back after {what}")
        healed = time.monotonic() - ended
        load.clients[0].stopping.wait(1)
    judged(context, probes, f"{what}, back after {healed:.1f} s")
    for untouched in set(METHODS) - ({victim} if victim and not half_open else set(AWAY)):
        statuses = [status for probe in probes.of(untouched) for status in probe.statuses(begun, ended - 1)]
        bad = [status for status in statuses if status != "OK"]
        # A deadline of 50 ms can expire on a busy machine regardless of the network.
        assert statuses and len(bad) <= 0.1 * len(statuses), f"{what}: {untouched} is affected as well: {bad[:5]}"
    context.count(rounds=1)


def storm(context):
    """A service that was unreachable receives at most 1.2 times as many calls as clients make. The control is clients that make twice as
    many calls as they count."""
    hosts = Hosts()
    fleet = hosts.fleet(context, "data")
    try:
        for extra in (0, 1):
            for number in range(context.pick(quick=1, full=5) if extra == 0 else 1):
                before = received(fleet, "notifications")
                with Probes(fleet, context, services=("notifications",), each=12, pause_s=0.02, extra=extra, longest_ms=600) as probes:
                    probes.all[0].stopping.wait(1)
                    hosts.cut(port=fleet.ready["notifications"]["rpc"])
                    probes.all[0].stopping.wait(context.random.uniform(2, 4))
                    hosts.heal()
                    begun = time.monotonic()
                    eventually(lambda: sum(status == "OK" for probe in probes.all for status in probe.statuses(begun)) > 50,
                               "notifications is back")
                    probes.all[0].stopping.wait(2)
                after = received(fleet, "notifications")
                offered = (after - before) / probes.count()
                context.tell(f"{probes.count()} calls, {after - before:.0f} received: {offered:.2f} times")
                context.note(**{"control" if extra else "offered": round(offered, 2)})
                assert (offered <= 1.2) == (extra == 0), f"received {offered:.2f} times the calls made"
    finally:
        hosts.heal()
        fleet.stop()
        hosts.end()


def deadlines_control(context):
    """The control for all deadlines: clients that send a later deadline than they measure must be detected as late."""
    with context.fleet("data") as fleet:
        fleet.signal("notifications", 19)
        with Probes(fleet, context, services=("notifications",), each=2, longest_ms=100, truth=1500) as probes:
            probes.all[0].stopping.wait(3)
        fleet.signal("notifications", 18)
        assert probes.late(), "calls that end a second late are not detected"
        context.count(late=len(probes.late()))

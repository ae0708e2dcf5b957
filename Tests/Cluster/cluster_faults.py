"""The faults of a cluster. Each function causes one, and returns the function that ends it, if it does not end by itself."""

import contextlib
import signal
import time

from fleet import eventually

# The longest pause of acknowledgements that is accepted, in seconds.
PROCESS_S, PLANNED_S, MACHINE_S = 5, 4, 25
# With the machine, the leader of etcd may be lost. The new one begins the primary's 20 s anew.
CUT_S = 30


class Scene:
    """The cluster, the suite on it, and a source of random choices."""

    def __init__(self, cluster, fleet, random):
        self.cluster, self.fleet, self.random = cluster, fleet, random

    @property
    def network(self):
        return self.cluster.network


def postmaster(scene):
    scene.cluster.primary().kill_server()


def switchover(scene):
    scene.cluster.switch()


def machine(scene):
    node = scene.cluster.primary()
    node.kill_all()
    return lambda: scene.cluster.rejoin(node)


def standby(scene):
    node = scene.cluster.synchronous()
    node.kill_all()
    return lambda: scene.cluster.rejoin(node)


def frozen(scene):
    node = scene.cluster.primary()
    node.signal(signal.SIGSTOP)
    return lambda: node.signal(signal.SIGCONT)


def etcd(scene):
    node = scene.random.choice(scene.cluster.nodes)
    node.kill_etcd()
    time.sleep(3)
    return lambda: scene.cluster.rejoin(node)


def gateway(scene):
    name = scene.random.choice(scene.fleet.named("gateway"))
    scene.fleet.kill(name)
    return lambda: scene.fleet.start(name)


def replica(scene):
    """Kills a process that others can stand in for."""
    name = scene.random.choice([one for one, part in scene.fleet.parts.items() if part != "gateway" and len(scene.fleet.named(part)) > 1])
    scene.fleet.kill(name)
    return lambda: scene.fleet.start(name)


def service(scene):
    """Kills a process that no other can stand in for. It is started again at once, as a supervisor does."""
    alone = [one for one, part in scene.fleet.parts.items() if len(scene.fleet.named(part)) == 1 and part != "apns-simulator"]
    name = scene.random.choice(alone) if alone else scene.random.choice(scene.fleet.named("notifications"))
    scene.fleet.kill(name)
    scene.fleet.start(name)


def cut(sent, received):
    def fault(scene):
        scene.network.cut(scene.cluster.primary().number, sent, received)
        return scene.network.heal
    return fault


def cut_from_standby(scene):
    scene.network.cut(scene.cluster.primary().number, others=scene.cluster.synchronous().number)
    return scene.network.heal


def disk(scene):
    """Fills the disk of the primary's machine. The server then cannot write its log, and the member of etcd ends as well."""
    node = scene.cluster.primary()
    path = node.folder / "server" / "filler"
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 20))
        except OSError:
            pass

    # The server ends when its log needs a new file. Until then, it refuses some writes.
    with contextlib.suppress(AssertionError):
        eventually(lambda: scene.cluster.leader() not in (node, None), "another node is the primary", 12)
    path.unlink()
    scene.cluster.rejoin(node)


def clock(scene):
    """The clock of the primary jumps, by up to a day."""
    node, jump = scene.cluster.primary(), scene.random.choice([86_400, -86_400, 5, -5])

    def moved(by):
        with scene.cluster.connect("postgres") as server:
            (now,), = server.execute("SELECT extract(epoch FROM clock_timestamp())::float").fetchall()
        return abs(now - time.time() - by) < 2

    node.set_clock(f"{jump:+}")
    eventually(lambda: moved(jump), "the clock has jumped")
    time.sleep(3)

    def back():
        node.set_clock("+0")
        eventually(lambda: moved(0), "the clock is right again")
    return back


# Name: function, bar, whether it needs namespaces.
FAULTS = {
    "postmaster": (postmaster, PROCESS_S, False),
    "switchover": (switchover, PLANNED_S, False),
    "machine": (machine, MACHINE_S, False),
    "standby": (standby, MACHINE_S, False),
    "frozen": (frozen, MACHINE_S, False),
    "etcd": (etcd, PROCESS_S, False),
    "gateway": (gateway, PROCESS_S, False),
    "replica": (replica, PROCESS_S, False),
    "service": (service, PROCESS_S, False),
    "cut": (cut(True, True), CUT_S, True),
    "cut-sent": (cut(True, False), CUT_S, True),
    "cut-received": (cut(False, True), CUT_S, True),
    "cut-standby": (cut_from_standby, MACHINE_S, True),
    "disk": (disk, MACHINE_S, True),
    "clock": (clock, PROCESS_S, True),
}
QUICK = ["postmaster", "switchover", "machine"]

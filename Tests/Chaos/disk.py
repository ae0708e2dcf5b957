"""Disks that are full, fail, or lose power."""

import contextlib
import fcntl
import os
import signal
import time

from fleet import ORDER, SERVICES, Fleet, Tracer, eventually, run
from judge import Wrong, judge
from load import MixedLoad
from probes import METHODS, caller

# FS_IOC_GOINGDOWN, and its flag to drop what was not flushed, the file system's log included.
GOING_DOWN, NO_LOG_FLUSH = 0x8004587D, (2).to_bytes(4, "little")


def reads_go_on(fleet, links=None):
    """Every service answers what only reads, on connections that are there or on new ones."""
    for service, method in METHODS.items():
        link = links[service] if links else fleet.peer(caller(fleet, service), timeout_s=30)
        answer = link.call(method, {}, timeoutMs=20_000)
        assert answer is not None and "result" in answer, f"{service} does not read: {answer}"
        if not links:
            link.close()


def full(context):
    """The disk fills up under load: writes are refused, reads go on, and all goes on by itself when there is space again."""
    data = context.folder / "data"
    data.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", data)
    with context.fleet("data") as fleet, context.judged_load(fleet) as load:
        pids = {name: fleet.pid(name) for name in ORDER}
        for number in range(context.pick(quick=2, full=20)):
            before = load.refusals()
            ballast = data / "ballast"
            fill(ballast)

            def refused():
                load.raise_faults()
                fill(ballast)
                return sum(count for key, count in load.refusals().items() if "RESOURCE_EXHAUSTED" in key) > sum(
                    count for key, count in before.items() if "RESOURCE_EXHAUSTED" in key)
            eventually(refused, "a write is refused for want of space")
            reads_go_on(fleet)
            load.clients[0].stopping.wait(context.random.uniform(0.2, 1.5))
            ballast.unlink()
            load.all_served(5, seconds=40)
            context.count(filled=1)
            context.tell(f"filled {number + 1} times: {load.refusals()}")
        assert pids == {name: fleet.pid(name) for name in ORDER} and fleet.all_running()


def fill(path):
    """Takes all space that is left."""
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)


def failing(context):
    """fsync and writes fail with EIO, ENOSPC and EROFS, in each service and the gateway in turn: no process dies, none believes a
    failed sync, and all go on when the disk works."""
    kinds = ["fdatasync,fsync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC", "pwrite64,ftruncate:error=EROFS",
             "fdatasync,fsync:error=EIO:when=2+3", "pwrite64:error=EIO:when=3+7"]
    with context.fleet("data") as fleet, context.judged_load(fleet) as load:
        victims = [*SERVICES, "gateway"]
        for number in range(context.pick(quick=4, full=60)):
            if number % len(kinds) == 0:
                context.random.shuffle(kinds)
            if number % len(victims) == 0:
                context.random.shuffle(victims)
            victim, kind = victims[number % len(victims)], kinds[number % len(kinds)]
            tracer = Tracer(fleet, victim, kind)
            load.clients[0].stopping.wait(context.random.uniform(0.3, 1.0))
            reads_go_on(fleet)
            injected = tracer.end()
            context.tell(f"{victim}: {kind}: {injected} calls failed")
            context.count(faults=1, injected=injected)
            load.all_served(3, seconds=40)
            assert fleet.all_running(), f"a process ended: {fleet.text()[-2000:]}"
    assert context.figures["injected"] > 0


class Disk:
    """An ext4 file system of its own that can lose its power."""

    def __init__(self, context, name):
        self.image, self.folder = context.folder / f"{name}.img", context.folder / name
        with open(self.image, "wb") as file:
            file.truncate(192 << 20)
        run("mkfs.ext4", "-q", "-F", self.image)
        self.folder.mkdir()
        self.mount()

    def mount(self):
        run("mount", "-o", "loop", self.image, self.folder)

    def cut_power(self):
        """From now on nothing reaches the disk, and what was not flushed is gone."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        fcntl.ioctl(descriptor, GOING_DOWN, NO_LOG_FLUSH)
        os.close(descriptor)

    def restart(self):
        run("umount", self.folder)
        self.mount()


def power(context):
    """Power cuts under load, with durability=full: nothing acknowledged is lost. A disk that only says that it has flushed is the
    control, which must lose something."""
    for number in range(context.pick(quick=1, full=30)):
        cut(context, f"round{number}", lies=False)
        context.count(rounds=1)
        context.tell(f"{number + 1} power cuts, {context.figures['acknowledged']} acknowledged and found")
    for number in range(context.pick(quick=1, full=3)):
        try:
            cut(context, f"control{number}", lies=True)
        except (Wrong, AssertionError) as seen:
            context.tell(f"the control fails as it must: {str(seen).splitlines()[0][:160]}")
            context.count(controls_failed=1)
        else:
            raise AssertionError("a disk that lies lost nothing: this scenario cannot fail")


def cut(context, name, lies):
    disk = Disk(context, name)
    fleet = Fleet(disk.folder, users=MixedLoad.users())
    # What was pushed has left the house: APNs has power of its own.
    elsewhere = context.folder / f"{name}-apns"
    run("cp", "-a", disk.folder / "apns-simulator", elsewhere)
    run("mount", "--bind", elsewhere, disk.folder / "apns-simulator")
    os.sync()
    fleet.start()
    load = MixedLoad(fleet, context.random.randrange(1 << 30))
    with load:
        load.all_served(5)
        tracers = [Tracer(fleet, service, "fdatasync,fsync:retval=0") for service in SERVICES] if lies else []
        load.clients[0].stopping.wait(context.random.uniform(0.3, 1.5))
        fleet.is_dying = True
        disk.cut_power()
        for victim in ORDER:
            fleet.kill(victim)
        for client in load.clients:
            client.stopping.set()
        load.activities.stopped.set()
        for tracer in tracers:
            tracer.end()
    fleet.is_dying = False
    run("umount", disk.folder / "apns-simulator")
    disk.restart()
    run("mount", "--bind", elsewhere, disk.folder / "apns-simulator")
    try:
        fleet.start()
        context.count(acknowledged=judge(load, patience_s=20))
    finally:
        for watcher in load.watchers:
            watcher.stopping.set()
        for watcher in load.watchers:
            watcher.join(10)
        fleet.stop()
        run("umount", disk.folder / "apns-simulator")
        run("umount", disk.folder)
        disk.image.unlink()

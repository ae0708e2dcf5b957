"""Disks that are full, fail, become read-only, are slow, or lose power."""

import contextlib
import fcntl
import os
import pathlib
import time

from fleet import ORDER, SERVICES, Fleet, Tracer, eventually, run
from judge import Wrong, judge
from load import NOTIFICATIONS, MixedLoad
from network import judged
from probes import METHODS, Probes, caller

# FS_IOC_GOINGDOWN, and its flag that drops all unflushed data, including the file system's journal.
GOING_DOWN, NO_LOG_FLUSH = 0x8004587D, (2).to_bytes(4, "little")


def reads_go_on(fleet, links=None):
    """Checks that every service responds to reads, on the given connections or on new ones."""
    for service, method in METHODS.items():
        link = links[service] if links else fleet.peer(caller(fleet, service), timeout_s=30)
        answer = link.call(method, {}, timeoutMs=20_000)
        assert answer is not None and "result" in answer, f"{service} failed to read: {answer}"
        if not links:
            link.close()


def full(context):
    """The disk fills up under load: writes are refused, reads work, and everything recovers without a restart once there is space."""
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
            eventually(refused, "a write is refused for lack of space")
            reads_go_on(fleet)
            load.clients[0].stopping.wait(context.random.uniform(0.2, 1.5))
            ballast.unlink()
            load.all_served(5, seconds=40)
            context.count(filled=1)
            context.tell(f"filled {number + 1} times: {load.refusals()}")
        assert pids == {name: fleet.pid(name) for name in ORDER} and fleet.all_running()


def fill(path):
    """Fills all remaining space."""
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"\0" * size)


def failing(context):
    """fsync and writes fail with EIO, ENOSPC and EROFS, in each service and the gateway in turn. No process dies, a failed sync is
    never treated as successful, and everything recovers when the disk works again."""
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
    """A separate ext4 file system that can lose power, become read-only, or block."""

    def __init__(self, context, name, size_mib=192):
        self.image, self.folder = context.folder / f"{name}.img", context.folder / name
        with open(self.image, "wb") as file:
            file.truncate(size_mib << 20)
        run("mkfs.ext4", "-q", "-F", "-e", "remount-ro", self.image)
        self.folder.mkdir()
        self.mount()

    def mount(self):
        run("mount", "-o", "loop", self.image, self.folder)

    def become_read_only(self):
        """Makes the kernel stop writing after an error while files are open. (A remount by an operator would be refused in this case.)"""
        device = run("findmnt", "-no", "SOURCE", self.folder).stdout.strip().rpartition("/")[2]
        pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")

    @contextlib.contextmanager
    def standing_still(self):
        """Blocks all writes until the end of the block."""
        run("fsfreeze", "--freeze", self.folder)
        try:
            yield
        finally:
            run("fsfreeze", "--unfreeze", self.folder)

    def cut_power(self):
        """Prevents all further writes to the disk and drops unflushed data."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        fcntl.ioctl(descriptor, GOING_DOWN, NO_LOG_FLUSH)
        os.close(descriptor)

    def restart(self):
        run("umount", self.folder)
        self.mount()

    def mend(self):
        """Repairs the file system after `become_read_only`."""
        run("umount", self.folder)
        # 1: errors were found and corrected.
        checked = run("e2fsck", "-p", self.image, check=False)
        assert checked.returncode in (0, 1), checked
        self.mount()

    def end(self):
        run("umount", self.folder)
        self.image.unlink()

    @contextlib.contextmanager
    def fleet(self, context, name):
        """Runs a fleet on this disk, except for the APNs simulator, whose data survives a power cut because Apple has its own disks."""
        fleet = Fleet(self.folder, users=MixedLoad.users())
        fleet.elsewhere = context.folder / f"{name}-apns"
        run("cp", "-a", self.folder / "apns-simulator", fleet.elsewhere)
        self.bind(fleet)
        os.sync()
        try:
            yield fleet
        finally:
            fleet.stop()
            self.unbind(fleet)
            self.end()

    def bind(self, fleet):
        run("mount", "--bind", fleet.elsewhere, self.folder / "apns-simulator")

    def unbind(self, fleet):
        run("umount", self.folder / "apns-simulator")


def power(context):
    """Power cuts under load, with durability=full: nothing acknowledged is lost. The control is a disk that only pretends to flush,
    which must lose data."""
    for number in range(context.pick(quick=1, full=30)):
        cut(context, f"round{number}", lies=False)
        context.count(rounds=1)
        context.tell(f"{number + 1} power cuts, {context.figures['acknowledged']} acknowledged and found")
    for number in range(context.pick(quick=1, full=3)):
        try:
            cut(context, f"control{number}", lies=True)
        except (Wrong, AssertionError) as seen:
            context.tell(f"the control failed as expected: {str(seen).splitlines()[0][:160]}")
            context.count(controls_failed=1)
        else:
            raise AssertionError("a disk that ignores flushes lost nothing: this scenario cannot fail")


def cut(context, name, lies):
    disk = Disk(context, name)
    with disk.fleet(context, name) as fleet:
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
        disk.unbind(fleet)
        disk.restart()
        disk.bind(fleet)
        try:
            fleet.start()
            context.count(acknowledged=judge(load, patience_s=20))
        finally:
            for watcher in load.watchers:
                watcher.stopping.set()
            for watcher in load.watchers:
                watcher.join(10)


# Calls that must write. Names are unique, so that no response comes from a stored one.
WRITES = {
    "notifications": (NOTIFICATIONS + "CreateBucket", lambda name: {"bucket": {"name": name}}),
    "sync": ("campanile.sync.v1.DevicesService/RegisterDevice", lambda name: {"device": {"id": name, "role": "DEVICE_ROLE_READER"}}),
    "attendance": ("campanile.attendance.v1.MembersService/CreateMember", lambda name: {"member": {"name": name}}),
    "activities": ("campanile.activities.v1.ActivitiesService/StartActivity", lambda name: {
        "app": name, "environment": "development", "origin": "ACTIVITY_ORIGIN_LOCAL", "attributesType": "A", "contentStateJson": "{}"}),
}


def write(fleet, service):
    """Tries a write. Returns its status."""
    method, params = WRITES[service]
    with fleet.peer(caller(fleet, service), timeout_s=30) as link:
        answer = link.call(method, params(f"w{time.monotonic_ns()}"), timeoutMs=20_000)
        return answer["error"]["data"]["status"] if "error" in answer else "OK"


def read_only(context):
    """The file system becomes read-only under load, as after a disk error. No process dies, writes are refused and reads work. After
    a restart on the repaired disk all previously acknowledged changes exist."""
    for number in range(context.pick(quick=1, full=10)):
        disk = Disk(context, f"disk{number}")
        with disk.fleet(context, f"disk{number}") as fleet:
            fleet.start()
            assert {service: write(fleet, service) for service in WRITES} == dict.fromkeys(WRITES, "OK")
            with context.judged_load(fleet) as load:
                load.clients[0].stopping.wait(context.random.uniform(0.2, 1.5))
                # In that moment, ext4 lets a running sync succeed without effect, and a repeated write is reported as
                # done. Such responses do not count.
                fleet.is_dying = True
                disk.become_read_only()
                told = {}
                for service in WRITES:
                    eventually(lambda: told.update({service: write(fleet, service)}) or told[service] != "OK", f"{service} refuses writes")
                reads_go_on(fleet)
                load.clients[0].stopping.wait(context.random.uniform(0.5, 2))
                told = {service: write(fleet, service) for service in WRITES}
                assert set(told.values()) <= {"UNAVAILABLE", "RESOURCE_EXHAUSTED"}, told
                reads_go_on(fleet)
                assert fleet.all_running(), f"a process ended: {fleet.text()[-3000:]}"
                context.tell(f"read-only: {told}")
                for name in reversed(ORDER):
                    if number % 2:
                        fleet.kill(name)
                fleet.stop()
                disk.unbind(fleet)
                disk.mend()
                disk.bind(fleet)
                fleet.is_dying = False
                fleet.start()
            context.count(rounds=1)


def slow(context):
    """The disk is slow under load: each sync of one process takes 300 ms and each write 3 ms, or the whole file system blocks for some
    seconds. No call exceeds its deadline and nothing is lost. While the disk is only slow, reads work and writes are acknowledged."""
    disk = Disk(context, "disk", size_mib=2048)
    with disk.fleet(context, "disk") as fleet:
        fleet.start()
        with context.judged_load(fleet) as load:
            victims = [*SERVICES, "gateway"]
            for number in range(context.pick(quick=4, full=40)):
                if number % len(victims) == 0:
                    context.random.shuffle(victims)
                victim = victims[number % len(victims)]
                with Probes(fleet, context, each=1) as probes:
                    if number % 2:
                        seconds = context.random.uniform(1, context.pick(quick=2, full=8))
                        with disk.standing_still():
                            load.clients[0].stopping.wait(seconds)
                        text = f"the disk blocked for {seconds:.1f} s"
                    else:
                        tracer = Tracer(fleet, victim, "fdatasync,fsync:delay_enter=300000", "pwrite64:delay_enter=3000")
                        reads_go_on(fleet)
                        load.all_served(2, seconds=60)
                        tracer.end()
                        text = f"{victim}: slow syncs and writes"
                    load.all_served(2, seconds=60)
                judged(context, probes, text)
                assert fleet.all_running(), f"a process ended: {fleet.text()[-3000:]}"
                context.count(rounds=1)

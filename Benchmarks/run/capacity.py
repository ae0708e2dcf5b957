"""Compares the capacity model with the CPU time of a suite on PostgreSQL, with one and with two replicas by turns. See scripts/bench.

Each run has a new server, which waits for the disk, and a new `campanile up`. The load is that of the model's example in the busiest hour, with
more attendance records, whose CPU time would not be measurable otherwise. Calls are counted by the services, pushes by the simulator, copies by
unread counts, and events by watches. Ratios are raw: the model's `speed` is 1.
"""

import contextlib
import functools
import json
import os
import pathlib
import signal
import tempfile
import time
import urllib.request

from bench import NOTIFICATIONS, OURS, TICK_S, cpu_s, median_of, run, start_tester, tester_report
from capacity_load import ACTIVITIES, MEMBERS, MIX, SYNC, User, prepare
from postgresql import place

os.environ.setdefault("CAMPANILE_BIN", str(OURS))
from campanile import Suite, eventually  # noqa: E402
from capacity import check, load, samples  # noqa: E402  (the package, because capacity_load has put its folder first)
from wire_store import DATABASES  # noqa: E402

REPLICAS = (1, 2)
# The inputs of a run that the counted rates do not replace.
VALUES = {name: getattr(MIX, name) for name in ("http_share", "sync_bytes")}
# Work that the model leaves out.
EXPORTS, IDLE = "exports of notifications to files", "CPU of all processes without load"
WARM_UP_S, PATIENCE_S = 2, 60
# Two processes of the load test share each method, one at each gateway, or both at the only one.
DRIVERS = 2
# More than a run takes: each load ends when its run does.
LOAD_LIMIT = "10m"
WATCHES = {"notifications": NOTIFICATIONS + "WatchNotifications", "activities": ACTIVITIES + "ActivitiesService/WatchActivities",
           "sync": SYNC + "ZonesService/WatchZoneChanges"}


def end(process):
    process.kill()
    process.wait()


def start(stack, suite, folder, method, requests, key, *pace):
    """Starts a load at each gateway by turns, or all at the only one. Returns the processes."""
    gateways = [name for name in suite.endpoints if name.startswith("gateway")]
    started = []
    for number in range(DRIVERS):
        # Their own requests, because a repeated one changes nothing.
        file = folder / f"{method.replace('/', '.')}-{number}.jsonl"
        file.write_text("\n".join(map(json.dumps, requests[number::DRIVERS] or requests)))
        started.append(start_tester(method, f"@{file}", "--target", gateways[number % len(gateways)], "--data-dir", suite.folder,
                                    "--duration", LOAD_LIMIT, *pace, key=key, prefix=[]))
        stack.callback(end, started[-1])
    return started


def metrics(suite, service):
    """Returns the metrics of all processes of a service."""
    texts = []
    for name, ports in suite.endpoints.items():
        if kind(name) == service:
            with urllib.request.urlopen(f"http://127.0.0.1:{ports['http']}/metrics", timeout=PATIENCE_S) as reply:
                texts.append(reply.read().decode())
    return "".join(texts)


def kind(name):
    """Returns the name of a member of the suite without the number of a replica."""
    return name.partition("-")[0]


def server_cpu_s(server):
    """Returns the CPU seconds of the PostgreSQL server with all its processes, also those that have ended."""
    postmaster = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    stats = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        # A process may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            stats[int(file.parent.name)] = file.read_text()
    return samples.tree_ticks(postmaster, stats) * TICK_S


def pushes(suite):
    """Returns the pushes that the simulator has accepted."""
    return suite.simulator("GET", "/statistics")["answers"].get("200", 0)


def calls(suite, parts):
    """Returns the successful calls of each part."""
    texts = {service: metrics(suite, service) for service in load.SERVICES}
    return [samples.handled(texts[part.service], part.name) for part in parts]


def unread(users):
    return sum(user.ask(NOTIFICATIONS + "GetUnreadSummary", {})["summary"].get("unreadCount", 0) for user in users)


def exports(suite):
    """Returns how often Sync has written a user's notifications to files."""
    return samples.total(metrics(suite, "sync"), 'campanile_sync_exports_total{outcome="written"}')


def sample(server, suite, parts):
    """Returns the totals of now."""
    at_s, cpu = time.monotonic(), dict.fromkeys(check.PROCESSES, 0.0)
    for name, pid in suite.children().items():
        if kind(name) in cpu:
            cpu[kind(name)] += cpu_s(pid)
    cpu[load.POSTGRESQL] = server_cpu_s(server)
    counts = dict.fromkeys(check.CALLS, 0.0) | {"pushes": pushes(suite)}
    for part, count in zip(parts, calls(suite, parts)):
        counts[part.kind] += count
    return samples.Sample(at_s, counts, cpu)


def over(seconds, take):
    """Returns two samples, one at each end of so many seconds."""
    first = take()
    time.sleep(seconds)
    return first, take()


def stop(processes):
    """Ends loads early. Returns their reports. Raises if one has ended before, or if a call failed."""
    if any(process.poll() is not None for process in processes):
        raise RuntimeError("a load ended before the run")
    for process in processes:
        process.send_signal(signal.SIGINT)
    return [tester_report(process) for process in processes]


@contextlib.contextmanager
def filled(suite, users):
    """Fills a suite for the load of so many users. Yields the parts of the load, and the users of the set-up: the publisher is the first."""
    with contextlib.ExitStack() as stack:
        admin = stack.enter_context(User(suite, suite.endpoints["gateway"]["adminKey"]))
        made = {}
        for name in ("owner", *(f"member-{number}" for number in range(MEMBERS))):
            key = admin.ask("campanile.gateway.v1.AccessService/CreateApiKey", {"principal": f"user/{name}"})["secret"]
            made[name] = stack.enter_context(User(suite, key))
        owner, *_ = made.values()
        parts = prepare(admin, owner, {name: user for name, user in made.items() if user is not owner}, users)
        eventually(lambda: len(set(over(WARM_UP_S, lambda: pushes(suite)))) == 1, "the end of the pushes of the set-up")
        yield parts, list(made.values())


def start_all(stack, suite, folder, parts, owner):
    """Starts all parts of the load and then the watches. Returns their processes, those of the watches by service."""
    before = calls(suite, parts)
    calling = [process for part in parts for process in start(
        stack, suite, folder, part.method, part.requests, part.key, "--rate", f"{part.per_s / DRIVERS:.3f}", "--arrivals", "uniform")]
    eventually(lambda: all(now > count for now, count in zip(calls(suite, parts), before)), "calls of all parts")
    watching = {service: start(stack, suite, folder, method, [{}], owner.key, "--concurrency", "1") for service, method in WATCHES.items()}
    eventually(lambda: all(samples.total(metrics(suite, service), "campanile_watches_open") >= DRIVERS for service in WATCHES), "open watches")
    time.sleep(WARM_UP_S)
    return calling, watching


def loaded(server, suite, folder, options, name):
    """Runs the load. Returns the run, and values for the rows that no run has, by their names."""
    with contextlib.ExitStack() as stack:
        parts, users = stack.enter_context(filled(suite, options.users))
        take, unread_before = functools.partial(sample, server, suite, parts), unread(users)
        before, after = over(options.seconds, take)
        idle = sum(samples.growth(before.cpu_s, after.cpu_s, "CPU time").values()) / (after.at_s - before.at_s)
        calling, watching = start_all(stack, suite, folder, parts, users[0])
        (begin, exported_before), (finish, exported) = over(options.seconds, lambda: (take(), exports(suite)))
        # The first message of a watch is no event.
        others = {f"{service}_events": sum((report["messagesReceived"] - 1) * 1_000 / report["durationMs"] for report in stop(processes))
                  for service, processes in watching.items()}
        stop(calling)
        # Copies are counted without load, because that takes long.
        copies = (unread(users) - unread_before) / (take().counts["notifications"] - after.counts["notifications"])
        others["copies"] = copies * samples.rates(begin, finish)["notifications"]
    return samples.run(name, begin, finish, VALUES, others), {
        EXPORTS: (exported - exported_before) / (finish.at_s - begin.at_s), IDLE: idle * 1_000}


def measured(replicas, options, turn):
    """Runs a suite with so many replicas. Returns the same as `loaded`."""
    with place() as here, tempfile.TemporaryDirectory() as own:
        for database in DATABASES:
            here.server.create(database)
        folder = pathlib.Path(own)
        suite = Suite(folder / "data", "--replicas", str(replicas), "--store", f"postgresql://postgres@/?host={here.host}")
        try:
            return loaded(here.server, suite.wait_ready(), folder, options, f"{title(replicas)}, turn {turn}")
        finally:
            suite.stop()


def ms_per_s(runs, process):
    """Returns the measured CPU time of a kind of process in each run: at least a tick, because it is a divisor."""
    return [max(one["cpuSeconds"][process], TICK_S) / one["seconds"] * 1_000 for one in runs]


def title(replicas):
    return "1 replica" if replicas == 1 else f"{replicas} replicas"


def show(rows, name, runs, left_out):
    followed = [load.follow(MIX, *split(one["rates"])) for one in runs]
    for work in ("calls", "pushes", "events"):
        rows.add(f"{name}: {work}", median_of([getattr(rates, work) for rates in followed]), "a second")
    for what, unit in ((EXPORTS, "a second"), (IDLE, "ms/s")):
        rows.add(f"{name}: {what}", median_of([one[what] for one in left_out]), unit)
    found = check.check(json.dumps({"runs": runs}), {})
    for process in check.PROCESSES:
        predicted = [row["predicted"] / one["seconds"] * 1_000 for one in runs for row in found
                     if (row["run"], row["process"]) == (one["name"], process)]
        rows.add_pairs(f"{name}: predicted CPU of {process} (baseline: measured)", list(zip(predicted, ms_per_s(runs, process))), "ms/s")


def split(rates):
    """Returns the calls of measured rates, and the work that follows from them."""
    return tuple({name: rate for name, rate in rates.items() if name in names} for names in (check.CALLS, check.FOLLOWING))


def compare(rows, options):
    runs, left_out = ({replicas: [] for replicas in REPLICAS} for _ in range(2))
    for turn in range(1, options.turns + 1):
        for replicas in REPLICAS:
            one, others = measured(replicas, options, turn)
            runs[replicas].append(one)
            left_out[replicas].append(others)
    for replicas in REPLICAS:
        show(rows, title(replicas), runs[replicas], left_out[replicas])
    for process in check.PROCESSES:
        one, two = (ms_per_s(runs[replicas], process) for replicas in REPLICAS)
        rows.add_pairs(f"CPU of {process} with two replicas (baseline: one)", list(zip(two, one)), "ms/s")
    if options.runs:
        pathlib.Path(options.runs).write_text(json.dumps({"runs": [one for replicas in REPLICAS for one in runs[replicas]]}, indent=1) + "\n")


if __name__ == "__main__":
    run(__doc__, {"replicas": compare}, users=(200_000, "users of the example load, in the busiest hour"), seconds=(15, "seconds of each run"),
        turns=(3, "runs with each number of replicas"), runs=("", "file for the runs, which scripts/capacity --check reads"))

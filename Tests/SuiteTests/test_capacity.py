"""The capacity model of scripts/capacity: its plans, limits, errors, outputs, and its comparison with measured runs."""

import dataclasses
import itertools
import json
import math
import re
import subprocess
import sys

import pytest
from campanile import ROOT

sys.path.append(str(ROOT / "scripts" / "lib"))
from capacity import check, costs, inputs, limits, load, plan, report, samples  # noqa: E402

SIZES = [1, 10, 1_000, 50_000, 100_000, 150_000, 200_000, 1_000_000, 1_500_000, 3_000_000, 3_100_000, 10**7, 10**8, 10**9, 10**11]
# Texts, and values that concern one cluster.
NOT_NEEDED_MORE = ("deployment", "limit", "limit_users", "database_connections")
VARIANTS = [{}, {"connected": 0.5}, {"sync_bytes": 0, "devices": 0}, {"cores": 64, "disk_gb": 1e6}, {"speed": 0.05}, {"utilization": 0.9}]


def planned(users, **values):
    return {row.key: row.value for row in plan.rows(inputs.parse(values), users)}


def run(*arguments):
    return subprocess.run([ROOT / "scripts" / "capacity", *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("values", VARIANTS)
def test_more_users_never_need_less(values):
    sizes = sorted({*SIZES, *(math.ceil(1_000 * 1.3**step) for step in range(60))})
    plans = [planned(users, **values) for users in sizes]
    for before, after in itertools.pairwise(plans):
        less = [key for key in before if key not in NOT_NEEDED_MORE and after[key] < before[key]]
        assert not less, (before["users"], after["users"], less)


@pytest.mark.parametrize("name", ["reads", "notifications", "activities", "sync", "attendance", "peak", "recipients", "devices",
                                  "connected", "sync_bytes", "days"])
def test_more_load_never_needs_less(name):
    default = getattr(inputs.Inputs(), name)
    less, more = planned(10**7, **{name: default}), planned(10**7, **{name: min(default * 2, inputs.FIELDS[name].metadata["high"])})
    assert [key for key in less if key not in NOT_NEEDED_MORE and more[key] < less[key]] == []


def test_twice_the_cores_halve_the_processes_that_cores_limit():
    # Without connected users and with a fast network, only cores determine the number of processes.
    def count(cores):
        chosen = inputs.parse({"connected": 0, "network_mbit": 1e6, "cores": cores})
        rates = load.peak_rates(chosen, 10**8)
        rows = plan.process_rows(chosen, 10**8, load.cpu(chosen, rates), load.traffic(chosen, rates), 1)
        return {row.key: row.value for row in rows}

    one, two = count(4), count(8)
    for kind, processes in one.items():
        assert two[kind] == max(2, math.ceil(processes / 2)) or two[kind] == math.ceil((processes - 1) / 2), kind
    assert min(one["gateways"], one["notifications_processes"], one["activities_processes"]) > 4


def test_faster_machine_needs_fewer_lanes():
    assert planned(10**8, speed=2)["activities_lanes"] == pytest.approx(planned(10**8)["activities_lanes"] / 2, abs=1)


@pytest.mark.parametrize("values", VARIANTS)
@pytest.mark.parametrize("stage", [limits.sqlite, limits.cluster])
def test_first_limit_is_the_first_at_which_the_plan_is_infeasible(stage, values):
    found = stage(inputs.parse(values))
    first = limits.first(found)
    assert all(limit.fits(first.users_max) for limit in found)
    beyond = math.ceil(first.users_max * 1.000001) + 1
    assert [limit.resource for limit in found if not limit.fits(beyond)] == [first.resource]


@pytest.mark.parametrize("values", VARIANTS)
def test_deployment_changes_at_the_limit(values):
    chosen = inputs.parse(values)
    machine, cluster = limits.first(limits.sqlite(chosen)), limits.first(limits.cluster(chosen))
    assert planned(machine.users_max, **values)["deployment"] == "SQLite"
    after = planned(math.ceil(machine.users_max * 1.000001) + 1, **values)
    assert (after["deployment"], after["nodes"]) == ("PostgreSQL", 3 * after["clusters"])
    for clusters in (2, 7):
        users = cluster.users_max * clusters
        assert planned(users, **values)["clusters"] == clusters
        assert planned(math.ceil(users * 1.00001) + clusters, **values)["clusters"] == clusters + 1
    assert (after["limit"], after["limit_users"]) == (cluster.resource, plan.rounded(cluster.users_max))


def test_resource_that_no_user_needs_has_no_limit():
    found = {limit.resource: limit for limit in limits.sqlite(inputs.parse({"attendance": 0, "connected": 0}))}
    assert found["writer of attendance"].users_max == found["watches of a service"].users_max == math.inf
    full = limits.sqlite(inputs.parse({"memory_gb": 0.5, "utilization": 0.05}))
    assert limits.first(full) == next(limit for limit in full if limit.resource == "memory")
    assert limits.first(full).users_max == 0


def test_units():
    # A million users with one read a day each, all at the mean rate.
    only = dict.fromkeys(["notifications", "activities", "sync", "attendance", "connected"], 0)
    chosen = inputs.parse(only | {"reads": 1, "peak": 1, "http_share": 0, "read_bytes": 700})
    rates = load.peak_rates(chosen, 86_400 * 10**6)
    assert rates.calls == pytest.approx(10**6)
    assert load.traffic(chosen, rates) == pytest.approx({"in": 300e6, "out": 1000e6})
    assert load.cpu(chosen, rates)["gateway"] == pytest.approx(2.25 * 1.09 * 1.04)
    assert load.cpu(chosen, rates)["notifications"] == pytest.approx(1e6 / 81_288 * 0.5 * 1.04)
    value = planned(86_400 * 10**6, **only, reads=1, peak=1, read_bytes=700)
    assert (value["in_mbit_per_s"], value["out_mbit_per_s"], value["data_gb"]) == (2_400, 8_000, 0)
    # 4,000 updates a second are a lane that is always busy.
    chosen = inputs.parse(only | {"reads": 0, "activities": 1, "peak": 1, "devices": 0})
    assert load.writer_time(chosen, load.peak_rates(chosen, 86_400 * 4_000), load.SQLITE)["activities"] == pytest.approx(1)
    # 10 GB a day for 30 days.
    chosen = inputs.parse(only | {"sync": 1, "sync_bytes": 10_000 - 500})
    assert load.stored_bytes(chosen, 10**6) == pytest.approx(300e9)
    # Connections: 5 % of the users, and 62 MB for 5,000 streams.
    value = planned(100_000, sync=0)
    assert (value["connections"], value["watches"]) == (5_000, 15_000)
    assert value["gateway_memory_gb"] == pytest.approx((50e6 + 3 * 62e6) / 1e9)


def test_costs_name_their_sources():
    for name, cost in costs.all_costs().items():
        assert cost.value > 0 and cost.text and cost.source, name
        for path in re.findall(r"docs/[a-z/-]*(?:\d{4}|[a-z]\.md)", cost.source):
            assert list(ROOT.glob(path + ("*.md" if path[-1].isdigit() else ""))), (name, path)
    assumed = [cost for cost in costs.all_costs().values() if cost.source == costs.ASSUMED]
    text = "\n".join(report.assumptions())
    assert assumed and all(cost.text in text for cost in assumed)


@pytest.mark.parametrize("field", dataclasses.fields(inputs.Inputs), ids=lambda field: field.name)
def test_bad_value_is_refused_with_flag_value_and_range(field):
    flag, high = inputs.flag_name(field.name), inputs.shown(field.metadata["high"])
    for value in ("-1", "nan", "many", "", str(field.metadata["high"] * 2 + 1)):
        with pytest.raises(inputs.InputError) as error:
            inputs.parse({field.name: value})
        assert str(error.value).startswith(f"{flag} is {value}; allowed: ") and str(error.value).endswith(f" to {high}")
    if isinstance(field.default, int):
        with pytest.raises(inputs.InputError, match="an integer"):
            inputs.parse({field.name: "2.5"})


@pytest.mark.parametrize(("arguments", "message"), [
    (["--users", "0"], "--users is 0; allowed: an integer from 1 to 100,000,000,000"),
    (["--users", "5,x"], "--users is x; allowed"),
    (["--users", ",".join("1" * 11)], "--users has 11 numbers; allowed: 1 to 10"),
    (["--connected", "1.5"], "--connected is 1.5; allowed: a number from 0 to 1"),
    (["--cores", "2.5"], "--cores is 2.5; allowed: an integer from 1 to 64"),
    (["--format", "xml"], "--format is xml; allowed: text, json"),
    (["--core", "2"], "unrecognized arguments: --core 2; see --help"),
    (["--check", "missing.json"], "--check: cannot read missing.json"),
])
def test_program_refuses_wrong_usage(arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith(f"capacity: {message}") and done.stderr.count("\n") == 1


def test_help_lists_every_flag_with_its_default():
    text = run("--help").stdout
    for name, field in inputs.FIELDS.items():
        assert re.search(rf"{inputs.flag_name(name)} N .*\({re.escape(inputs.shown(field.default))}; ", text), name
    assert all(name in run("--costs").stdout for name in costs.all_costs())


def numbers(text):
    return [float(number.replace(",", "")) if number != "none" else None for number in re.findall(r"\d[\d,.]*\d|\d|none", text)]


def test_text_has_the_numbers_of_the_json():
    arguments = ["--users", "100000,2000000", "--attendance", "0"]
    text, value = run(*arguments).stdout, json.loads(run(*arguments, "--format", "json").stdout)
    sections = text.split("\n\n")
    lines, keys = sections[0].splitlines(), [key for key in value["plans"][0] if key not in report.LIMIT_KEYS]
    assert len(lines) == len(keys)
    for line, key in zip(lines, keys):
        # The label and each value are separated by two spaces at least.
        cells = re.split(r"\s{2,}", line)[1:]
        expected = [one[key] for one in value["plans"]]
        assert cells == expected if key == "deployment" else [numbers(cell)[0] for cell in cells] == expected, line
    for line, one in zip(sections[1].splitlines(), value["plans"]):
        assert line.startswith(f"limit: {one['limit']}, at {one['limit_users']:,} users")
    for section, stage in zip(sections[2:4], ("sqlite", "cluster")):
        shown = [re.split(r"\s{2,}", line.strip()) for line in section.splitlines()[1:]]
        assert [name for name, _ in shown] == [one["resource"] for one in value["limits"][stage]]
        assert [numbers(users)[0] for _, users in shown] == [one["users"] for one in value["limits"][stage]]
    assert value["limits"]["cluster"][-1] == {"resource": "lane of attendance", "users": None}
    assert all(f"- {assumption}" in text for assumption in value["assumptions"] + value["leftOut"])


def test_worked_results_of_the_guide_are_those_of_the_model():
    guide = (ROOT / "docs" / "scaling.md").read_text()
    plans = [planned(users) for users in (10**5, 10**7, 10**9)]
    for label, *keys in [
        ("calls/s, and pushes/s, in the busiest hour", "calls_per_s", "pushes_per_s"), ("gateways", "gateways"),
        ("processes of Notifications, Activities and Sync, each", "sync_processes"),
        ("lanes of Notifications, Activities, Sync, Attendance", *(f"{name}_lanes" for name in load.SERVICES)),
    ]:
        cells = [", ".join(f"{one[key]:,}" for key in keys) for one in plans]
        assert f"| {label} | {' | '.join(cells)} |" in guide
        assert all(one["notifications_processes"] == one["activities_processes"] == one["sync_processes"] for one in plans)
    assert " | ".join(f"{one['clusters']:,} clusters, {one['nodes']:,} nodes" for one in plans[1:]) in guide
    assert [one["limit"] for one in plans] == ["data", "lane of activities", "lane of activities"]


MADE_UP = {"runs": [
    {"name": "even", "seconds": 100, "rates": {"reads": 1_000}, "inputs": {"http_share": 0},
     "cpuSeconds": {"gateway": 2.25e-6 * 1.09 * 1.04 * 100_000, "attendance": 1e6 / 81_288 * 1e-6 * 0.1 * 1.04 * 50_000}},
    {"seconds": 10, "rates": {"notifications": 10, "pushes": 100}, "cpuSeconds": {"activities": 67e-6 * 1.04 * 1_000, "sync": 0}},
]}


def test_check_reports_the_ratio_of_each_process(tmp_path):
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(MADE_UP))
    rows = json.loads(run("--check", file, "--format", "json").stdout)
    assert [(row["run"], row["process"]) for row in rows] == [
        ("even", "gateway"), ("even", "attendance"), ("runs[1]", "activities"), ("runs[1]", "sync")]
    alerts = 10 * 2 * costs.ALERT.value * 10 * 1e-6 * 1.04
    assert [row["ratio"] for row in rows] == [1, 2, pytest.approx(1 + alerts / (67e-6 * 1.04 * 1_000), rel=0.01), None]
    # A machine at half the speed takes twice the time.
    slow = json.loads(run("--check", file, "--format", "json", "--speed", "0.5").stdout)
    assert [row["ratio"] for row in slow][:2] == [2, 4]
    lines = run("--check", file).stdout.splitlines()
    assert len(lines) == 5 and [line.split()[-1] for line in lines[1:]] == ["1", "2", inputs.shown(rows[2]["ratio"]), "none"]


@pytest.mark.parametrize(("file", "message"), [
    ("{", "the file is not JSON"),
    ("[]", r"the file is \[\]; allowed: an object"),
    ("{}", "runs is missing or empty"),
    ({"runs": [{"seconds": 0}]}, r"runs\[0\].seconds is 0; allowed: a number from 1 to"),
    ({"runs": [{"seconds": 1}]}, r"runs\[0\].rates is null; allowed: an object"),
    ({"runs": [{"seconds": 1, "rates": {"writes": 1}}]}, r"runs\[0\].rates has writes; allowed: reads, "),
    ({"runs": [{"seconds": 1, "rates": {"reads": True}}]}, r"runs\[0\].rates.reads is True; allowed"),
    ({"runs": [{"seconds": 1, "rates": {}, "cpuSeconds": {"redis": 1}}]}, r"runs\[0\].cpuSeconds has redis; allowed: gateway, "),
    ({"runs": [{"seconds": 1, "rates": {}, "cpuSeconds": {}, "inputs": {"cores": 1.5}}]}, "--cores is 1.5; allowed: an integer"),
    ({"runs": [{"seconds": 1, "rates": {}, "cpuSeconds": {}, "inputs": {"users": 1}}]}, r"runs\[0\].inputs has users; allowed: "),
])
def test_check_refuses_a_wrong_file(file, message):
    with pytest.raises(inputs.InputError, match=message):
        check.check(file if isinstance(file, str) else json.dumps(file), {})


METRICS = """\
# TYPE campanile_server_handled_total counter
campanile_server_handled_total{code="OK",method="PutAsset",service="campanile.sync.v1.AssetsService"} 1.5e+03
campanile_server_handled_total{code="ABORTED",method="PutAsset",service="campanile.sync.v1.AssetsService"} 7
campanile_server_handled_total{code="OK",method="PutAssets",service="campanile.sync.v1.AssetsService"} 9
campanile_watches_open 3
campanile_sync_exports_total{outcome="written"} 4
"""


def test_only_successful_calls_of_the_method_are_counted():
    assert [samples.handled(METRICS, method) for method in ("PutAsset", "PutAssets", "GetAsset")] == [1500, 9, 0]
    # Of two processes.
    names = ["campanile_watches_open", "campanile_watches", 'campanile_sync_exports_total{outcome="written"}']
    assert [samples.total(METRICS * 2, name) for name in names] == [6, 0, 8]


def stat(parent, *ticks):
    """/proc/PID/stat of a process whose name has spaces and parentheses."""
    return f"1 (postgres: a) S 7 ({parent}) S {parent} " + " ".join(["0"] * 9 + [str(value) for value in ticks] + ["0"] * 30)


def test_time_of_a_server_is_that_of_its_processes_also_of_ended_ones():
    stats = {10: stat(1, 1, 2, 30, 40), 11: stat(10, 100, 200, 1_000, 1_000), 12: stat(10, 300, 400, 0, 0),
             13: stat(11, 5_000, 0, 0, 0), 110: stat(1, 9_000, 0, 0, 0)}
    assert samples.tree_ticks(10, stats) == 1 + 2 + 30 + 40 + 100 + 200 + 300 + 400


BEGIN = samples.Sample(100.0, {"reads": 50.0, "sync": 1.0, "copies": 10.0, "pushes": 0.0}, {"gateway": 1.0, "postgresql": 2.0})
END = samples.Sample(110.0, {"reads": 1_050.0, "sync": 1.0, "copies": 110.0, "pushes": 70.0}, {"gateway": 1.5, "postgresql": 2.0})


def test_run_between_two_samples_is_one_that_check_reads():
    made = samples.run("a run", BEGIN, END, {"http_share": 0, "sync_bytes": 9}, {"sync_events": 2.5})
    assert made == {
        "name": "a run", "seconds": 10, "rates": {"reads": 100, "sync": 0, "copies": 10, "pushes": 7, "sync_events": 2.5},
        "cpuSeconds": {"gateway": 0.5, "postgresql": 0}, "inputs": {"http_share": 0, "sync_bytes": 9}}
    gateway, postgresql = check.check(json.dumps({"runs": [made]}), {})
    chosen, calls = inputs.parse(made["inputs"]), dict.fromkeys(check.CALLS, 0) | {"reads": 100}
    rates = load.follow(chosen, calls, {"copies": 10, "pushes": 7, "notifications_events": 0, "activities_events": 0, "sync_events": 2.5})
    assert gateway["ratio"] == pytest.approx(load.cpu(chosen, rates)["gateway"] * 10 / 0.5)
    assert postgresql["ratio"] is None and postgresql["predicted"] == pytest.approx(load.cpu(chosen, rates)["postgresql"] * 10)


@pytest.mark.parametrize(("end", "events", "message"), [
    (END._replace(at_s=100.0), {}, "the same moment"),
    (END._replace(cpu_s={"gateway": 0.5, "postgresql": 2.0}), {}, "CPU time: gateway became smaller; a process was restarted"),
    (END._replace(counts={"reads": 60.0}), {}, "counts: the samples have different names: .*'copies', 'pushes', 'sync'"),
    (END, {"attendance_events": 1.0}, "unknown rates: attendance_events"),
])
def test_samples_that_are_not_of_one_run_are_refused(end, events, message):
    with pytest.raises(samples.SampleError, match=message):
        samples.run("a run", BEGIN, end, {}, events)

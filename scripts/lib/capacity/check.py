"""Comparison of the model with measured runs."""

import json

from . import inputs, load

CALLS = ("reads", *load.SERVICES)
FOLLOWING = ("copies", "pushes", "notifications_events", "activities_events", "sync_events")
PROCESSES = ("gateway", *load.SERVICES, load.POSTGRESQL)
FORMAT = """\
FILE.json of --check has the runs, each with its duration, rates and CPU time of each kind of process:

  {"runs": [{
    "name": "evening",
    "seconds": 600,
    "rates": {"reads": 900, "notifications": 40, "activities": 60, "sync": 20, "attendance": 1, "pushes": 130},
    "cpuSeconds": {"gateway": 9.1, "notifications": 14.0, "activities": 31.5},
    "inputs": {"http_share": 0, "speed": 0.8}}]}

  rates       calls per second: reads, notifications, activities, sync, attendance (missing: 0). The work that follows from them may
              be given as well: copies, pushes, notifications_events, activities_events, sync_events. Otherwise it is computed.
  cpuSeconds  CPU time during the run of all processes of a kind: gateway, notifications, activities, sync, attendance, and
              postgresql for the primary. The difference of process_cpu_seconds_total at its end and its begin, for instance.
  inputs      values of flags, with _ instead of -; they replace those of the command line

The output is the predicted time divided by the measured one. The costs were measured with many calls in flight, which share system calls
and commits. Expect less than 1 at moderate rates (docs/scaling.md, "Comparison with runs")."""


def known(value, allowed, place):
    """Returns an object whose names are among the allowed ones. Throws InputError otherwise."""
    if not isinstance(value, dict):
        raise inputs.InputError(f"{place} is {json.dumps(value)}; allowed: an object")
    for name in value:
        if name not in allowed:
            raise inputs.InputError(f"{place} has {name}; allowed: {', '.join(allowed)}")
    return value


def numbers(run, member, allowed, place):
    found = known(run.get(member), allowed, f"{place}.{member}")
    return {name: inputs.number(f"{place}.{member}.{name}", value, float, 0, 1e12) for name, value in found.items()}


def ratios(run, values, place):
    """Returns predicted and measured CPU seconds, and their ratio, of each process of a run. A ratio is None if nothing was measured."""
    known(run, ("name", "seconds", "rates", "cpuSeconds", "inputs"), place)
    seconds = inputs.number(f"{place}.seconds", run.get("seconds"), float, 1, 1e9)
    given = numbers(run, "rates", CALLS + FOLLOWING, place)
    measured = numbers(run, "cpuSeconds", PROCESSES, place)
    chosen = inputs.parse(values | known(run.get("inputs", {}), inputs.FIELDS, f"{place}.inputs"))
    calls = {name: given.get(name, 0.0) for name in CALLS}
    rates = load.follow(chosen, calls, {name: given[name] for name in FOLLOWING if name in given})
    predicted = load.cpu(chosen, rates)
    return [{
        "run": str(run.get("name", place)), "process": name, "predicted": predicted[name] * seconds, "measured": spent,
        "ratio": predicted[name] * seconds / spent if spent else None,
    } for name, spent in measured.items()]


def check(text, values):
    """Returns the ratios of all runs in a JSON text."""
    try:
        file = json.loads(text)
    except ValueError as error:
        raise inputs.InputError(f"--check: the file is not JSON: {error}") from None
    runs = known(file, ("runs",), "--check: the file").get("runs")
    if not isinstance(runs, list) or not runs:
        raise inputs.InputError("--check: runs is missing or empty; allowed: a list of at least one run")
    return [row for at, run in enumerate(runs) for row in ratios(run, values, f"runs[{at}]")]

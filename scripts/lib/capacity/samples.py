"""Runs for --check from samples of a suite at work: counted calls, counted work that follows from them, and CPU time.

Pure functions. `scripts/bench capacity` takes the samples.
"""

import re
from typing import NamedTuple

from . import check


class SampleError(ValueError):
    """Two samples that are not of one run."""


class Sample(NamedTuple):
    """Totals at one moment: calls and the work that follows from them by their names in `rates`, CPU seconds by process."""

    at_s: float
    counts: dict
    cpu_s: dict


def handled(metrics, method):
    """Returns the successful calls of a method in the metrics of processes."""
    found = re.findall(rf'^campanile_server_handled_total{{code="OK",method="{method}",[^}}]*}} (\S+)$', metrics, re.M)
    return sum(map(float, found))


def total(metrics, name):
    """Returns the sum of a metric in the metrics of processes. The name includes its labels."""
    return sum(map(float, re.findall(rf"^{re.escape(name)} (\S+)$", metrics, re.M)))


def tree_ticks(root, stats):
    """Returns the clock ticks of a process, its children, and its children that have ended.

    `stats` has the texts of /proc/PID/stat by process id. A child's own children are not included.
    """
    def fields(pid):
        # The name in parentheses may contain spaces. The state follows it, then the parent.
        return stats[pid].rpartition(")")[2].split()

    own = sum(int(value) for value in fields(root)[11:15])
    children = [fields(pid) for pid in stats if fields(pid)[1] == str(root)]
    return own + sum(int(value) for child in children for value in child[11:13])


def growth(begin, end, what):
    """Returns the differences of totals by name. Throws SampleError if the names differ, or if a total has become smaller."""
    if begin.keys() != end.keys():
        raise SampleError(f"{what}: the samples have different names: {sorted(begin.keys() ^ end.keys())}")
    smaller = [name for name in begin if end[name] < begin[name]]
    if smaller:
        raise SampleError(f"{what}: {', '.join(smaller)} became smaller; a process was restarted")
    return {name: end[name] - begin[name] for name in begin}


def rates(begin, end):
    """Returns the rates of what both samples have counted. Throws SampleError if there is no time between them."""
    seconds = end.at_s - begin.at_s
    if not seconds > 0:
        raise SampleError("the samples are of the same moment")
    return {name: count / seconds for name, count in growth(begin.counts, end.counts, "counts").items()}


def run(name, begin, end, values, others):
    """Returns the run between two samples, as --check reads it.

    `values` are inputs of the model, `others` the rates of what the samples do not count.
    """
    found = rates(begin, end) | others
    unknown = found.keys() - {*check.CALLS, *check.FOLLOWING}
    if unknown:
        raise SampleError(f"unknown rates: {', '.join(sorted(unknown))}")
    return {"name": name, "seconds": end.at_s - begin.at_s, "rates": found, "cpuSeconds": growth(begin.cpu_s, end.cpu_s, "CPU time"),
            "inputs": values}

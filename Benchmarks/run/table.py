"""Rows of measurements with baselines and targets, their table and their JSON file, and medians."""

import json
import pathlib
import statistics


class Rows:
    """Rows of a report. `at_least` and `at_most` are targets for the value, `ratio_*` for value / baseline."""

    def __init__(self):
        self.rows = []

    def add(self, name, value, unit, baseline=None, at_least=None, at_most=None, ratio_at_least=None, ratio_at_most=None,
            ratio=None):
        """Adds and prints a row. Pass `ratio` if it was measured in pairs, which is more stable than the ratio of two medians."""
        ratio = ratio or (value / baseline if baseline else None)
        targets, met = [], []
        for sign, limit, actual in ((">=", at_least, value), ("<=", at_most, value),
                                    (">= x", ratio_at_least, ratio), ("<= x", ratio_at_most, ratio)):
            if limit is not None:
                targets.append(f"{sign} {limit:,}")
                met.append(actual is not None and (actual >= limit if ">" in sign else actual <= limit))
        row = {"name": name, "value": round(value, 3), "unit": unit, "baseline": round(baseline, 3) if baseline else None,
               "ratio": round(ratio, 3) if ratio else None, "target": ", ".join(targets) or None, "met": all(met) if met else None}
        self.rows.append(row)
        show = lambda x: "-" if x is None else (f"{x:,.2f}" if isinstance(x, float) else str(x))
        verdict = {True: "met", False: "MISSED", None: ""}[row["met"]]
        print(f"{name:<62} {show(row['value']):>14} {unit:<8} {show(row['baseline']):>14} {show(row['ratio']):>9}  "
              f"{row['target'] or '':<24} {verdict}", flush=True)

    def add_pairs(self, name, pairs, unit, **targets):
        """Adds the medians of values and baselines that were measured in pairs, with the median of their ratios."""
        ours, theirs = zip(*pairs)
        self.add(name, statistics.median(ours), unit, statistics.median(theirs),
                 ratio=statistics.median(a / b for a, b in pairs), **targets)

    @staticmethod
    def head():
        print(f"{'name':<62} {'value':>14} {'unit':<8} {'baseline':>14} {'ratio':>9}  {'target':<24} met", flush=True)

    def write(self, path):
        if path:
            pathlib.Path(path).write_text(json.dumps(self.rows, indent=1) + "\n")


def median_of(results):
    if isinstance(results[0], tuple):
        return tuple(statistics.median(column) for column in zip(*results))
    return statistics.median(results)


def median(measure, runs=3):
    """Returns the median of several runs, each of which returns a number or a tuple of numbers."""
    return median_of([measure() for _ in range(runs)])


def turns(*measures, runs=5):
    """Returns the results of several measures as one tuple per turn: the machine's speed drifts from minute to minute."""
    return [tuple(measure() for measure in measures) for _ in range(runs)]


def by_turns(*measures, runs=5):
    """Returns the medians of several measures, numbers or tuples of numbers, which run in turns."""
    return [median_of(column) for column in zip(*turns(*measures, runs=runs))]

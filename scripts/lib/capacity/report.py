"""Text and JSON of plans. Both are made from the same rows."""

import dataclasses
import json
import math

from . import costs, inputs, limits, plan

GENERAL = (
    "the calls per user, the sizes and the peak factor are examples unless they are given",
    "a process uses all cores of its machine as well as it uses one or two; more than two cores were not measured",
    "on PostgreSQL, a service uses as much CPU as on SQLite",
    "each copy of a publication costs as much as the publication",
    "clusters have disjoint users: a client knows the address of its own, and sharing does not cross clusters",
    "the load grows in proportion to the users, and clusters have equal numbers of them",
)
LEFT_OUT = (
    "CPU time of processes without load, and exports of notifications to files of Sync after each change",
    "TLS, reconnections of many clients at once, retries, backups, and the copy of the log to standbys",
    "notifications between processes (NOTIFY), whose number grows with the square of the processes of a service",
    "limits of APNs itself, and of load balancers in front of the gateways",
)


# Rows that the text has below its table.
LIMIT_KEYS = ("limit", "limit_users")


def shown(value):
    if value is None:
        return "none"
    return value if isinstance(value, str) else inputs.shown(value)


def plain(value):
    """Returns a number that JSON can express: no limit is null."""
    return None if isinstance(value, float) and math.isinf(value) else value


def assumptions():
    assumed = [f"{cost.text}: {shown(plan.rounded(cost.value))} {cost.unit}".rstrip() for cost in costs.all_costs().values()
               if cost.source == costs.ASSUMED]
    return [*GENERAL, *assumed]


def limit_rows(found):
    ordered = sorted(found, key=lambda limit: limit.users_max)
    return [(limit.resource, plain(limit.users_max)) for limit in ordered]


def stages(chosen):
    return {"sqlite": limit_rows(limits.sqlite(chosen)), "cluster": limit_rows(limits.cluster(chosen))}


def as_json(chosen, sizes):
    return json.dumps({
        "inputs": dataclasses.asdict(chosen),
        "plans": [{row.key: plain(row.value) for row in plan.rows(chosen, users)} for users in sizes],
        "limits": {stage: [{"resource": resource, "users": users} for resource, users in found]
                   for stage, found in stages(chosen).items()},
        "assumptions": assumptions(),
        "leftOut": LEFT_OUT,
    }, indent=2)


def table(columns):
    """Returns lines of columns, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in columns]
    return ["  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(line, widths)))
            for line in zip(*columns)]


def as_text(chosen, sizes):
    plans = [plan.rows(chosen, users) for users in sizes]
    tables = [[row for row in rows if row.key not in LIMIT_KEYS] for rows in plans]
    lines = table([[row.label for row in tables[0]], *([shown(row.value) for row in rows] for rows in tables)])
    lines.append("")
    for rows in plans:
        value = {row.key: row.value for row in rows}
        lines.append(f"limit: {value['limit']}, at {shown(plain(value['limit_users']))} users"
                     f"{' per cluster' if value['clusters'] else ''} ({shown(value['users'])} users: {value['deployment']})")
    titles = {"sqlite": "one machine on SQLite", "cluster": "one PostgreSQL cluster"}
    for stage, found in stages(chosen).items():
        lines += ["", f"Limits of {titles[stage]}, in users:"]
        lines += ["  " + line for line in table([[resource for resource, _ in found], [shown(users) for _, users in found]])]
    lines += ["", "Assumptions:", *("- " + text for text in assumptions()), "", "Left out:", *("- " + text for text in LEFT_OUT)]
    return "\n".join(lines)


def inputs_help():
    return "\n".join(
        f"  {inputs.flag_name(name) + ' N':<29}{field.metadata['text']} ({inputs.shown(field.default)};"
        f" {inputs.shown(field.metadata['low'])} to {inputs.shown(field.metadata['high'])})" for name, field in inputs.FIELDS.items())


def costs_text():
    named = costs.all_costs()
    return "\n".join(table_left([[name, f"{shown(plan.rounded(cost.value))} {cost.unit}".strip(), cost.text, cost.source]
                                 for name, cost in named.items()]))


def table_left(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]

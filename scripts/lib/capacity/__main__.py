"""Entry point of scripts/capacity: reads arguments and files, and prints."""

import json
import sys

from . import arguments, check, inputs, report
from .plan import rounded

WRONG_USAGE = 64


def checked(path, values, form):
    try:
        with open(path, encoding="utf-8") as file:
            rows = check.check(file.read(), values)
    except (OSError, UnicodeDecodeError) as error:
        raise inputs.InputError(f"--check: cannot read {path}: {error}") from None
    rows = [{name: rounded(value) for name, value in row.items()} for row in rows]
    if form == "json":
        return json.dumps(rows, indent=2)
    names = list(rows[0])
    head = ["run", "process", "predicted, s", "measured, s", "predicted/measured"]
    columns = [[title, *(report.shown(row[name]) for row in rows)] for title, name in zip(head, names)]
    return "\n".join(report.table(columns))


def output(texts):
    options, values = arguments.read(texts)
    if "help" in options:
        return arguments.help_text().rstrip()
    if "costs" in options:
        return report.costs_text()
    if "check" in options:
        return checked(options["check"], values, options["format"])
    write = report.as_json if options["format"] == "json" else report.as_text
    return write(inputs.parse(values), inputs.parse_users(options["users"]))


def main():
    try:
        print(output(sys.argv[1:]))
    except inputs.InputError as error:
        print(f"capacity: {error}", file=sys.stderr)
        return WRONG_USAGE
    except BrokenPipeError:
        return 1
    return 0


sys.exit(main())

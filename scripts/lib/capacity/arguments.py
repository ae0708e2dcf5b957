"""Command line of scripts/capacity."""

import argparse

from . import check, inputs, report

USAGE = f"""\
scripts/capacity [--users N,…] [OPTIONS]   compute the processes, lanes, PostgreSQL nodes, memory, network and disk for so many users,
                                           and the resource that they exhaust first
scripts/capacity --check FILE.json         compare the model with measured runs
scripts/capacity --costs                   print each cost of the model with its source
scripts/capacity --help                    print this text

  --users N,…                  numbers of users, side by side (100000,10000000,1000000000; at most 10 of 1 to {inputs.USERS_MAX:,})
  --format text|json           form of the output (text)
{{inputs}}

Defaults and ranges are in parentheses. The calls and sizes are examples: give those of your app.

Nothing is measured or started. The costs come from the documents, and the output lists those that are assumed.
docs/scaling.md explains the results.

{check.FORMAT}
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise inputs.InputError(f"{message}; see --help")


def help_text():
    return USAGE.replace("{inputs}", report.inputs_help())


def read(arguments):
    """Returns the options, and the values of the flags of inputs that were given."""
    parser = Parser(add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--users", default="100000,10000000,1000000000")
    parser.add_argument("--format", default="text")
    parser.add_argument("--check", metavar="FILE")
    for name in inputs.FIELDS:
        parser.add_argument(inputs.flag_name(name), dest=name)
    options = vars(parser.parse_args(arguments))
    if options["format"] not in ("text", "json"):
        raise inputs.InputError(f"--format is {options['format']}; allowed: text, json")
    return options, {name: options[name] for name in inputs.FIELDS if name in options}

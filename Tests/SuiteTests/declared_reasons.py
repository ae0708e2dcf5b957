"""The reasons of errors that docs/reference lists for each method, and those that the services' sources have."""

import collections
import functools
import re

from campanile import ROOT

# The services by their packages.
SOURCES = {"campanile.notifications.v1": "Notifications", "campanile.activities.v1": "Activities", "campanile.sync.v1": "Sync",
           "campanile.attendance.v1": "Attendance", "campanile.simulator.v1": "APNsSimulator"}
# The reasons that every method may have, as the conventions of docs/reference say.
COMMON = set(re.findall("`([A-Z]+(?:_[A-Z]+)+)`", (ROOT / "docs/reference/README.md").read_text()))
REASON = re.compile(r'(?:reason: |Reason\(rawValue: )"([A-Z][A-Z0-9_]+)"')


@functools.cache
def declared():
    """The reasons of each method's page, by `package.Service/Method`. All methods have the key, also those without reasons."""
    found = {}
    for page in sorted((ROOT / "docs/reference").glob("*Service.md")):
        for section in page.read_text().split("\n## ")[1:]:
            line = re.search("^- Reasons of errors: (.*)$", section, re.MULTILINE)
            found[f"{page.stem}/{section.split(chr(10))[0]}"] = set(re.findall("`(.*?)`", line[1])) if line else set()
    return found


@functools.cache
def in_sources(target):
    """The reasons that a target's sources have but the common ones, with one of the files."""
    found = {}
    for file in sorted((ROOT / "Sources" / target).rglob("*.swift")):
        found |= dict.fromkeys(set(REASON.findall(file.read_text())) - COMMON, file.name)
    return found


@functools.cache
def of_fields():
    """The reasons of violations that every service can find."""
    file = ROOT / "Sources/CampanileCodec/Validation/Reason.swift"
    return set(REASON.findall(file.read_text())) - COMMON


def of_package():
    """The union of the declared reasons of each package."""
    union = collections.defaultdict(set)
    for method, reasons in declared().items():
        union[method.rpartition(".")[0]] |= reasons
    return union


def is_missing(method, reason):
    """Whether an error of a method has a reason of its service that its page does not list."""
    package = method.rpartition(".")[0]
    if package not in SOURCES or method not in declared() or reason in declared()[method]:
        return False
    return reason in of_fields() or reason in in_sources(SOURCES[package])

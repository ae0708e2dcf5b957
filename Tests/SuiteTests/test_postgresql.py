"""Every statement that the repositories send to SQLite is parsed and analysed by a real PostgreSQL, 15 or newer.

The schema is the one that the migrations create. Statements that would not run there are listed with the reason in
postgresql_differences.json and docs/scaling.md. No other statement may fail, and no listed one may run.

The statements are recorded while the Swift tests run (Tests/Support/sql-recorder), so the checked statements are the real ones.
"""

import collections
import json
import os
import pathlib
import re

import pytest

from campanile import ROOT
from postgresql_server import Server

RECORDS = pathlib.Path(os.environ.get("CAMPANILE_SQL_RECORDS", ROOT / ".build" / "sql"))
TARGETS = ["ActivitiesTests", "AttendanceTests", "GatewayTests", "NotificationsTests", "SyncTests"]
# Statements of the store itself, which another driver would replace, and those of SQLite's full-text search.
SEAM = re.compile(r"^(PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|EXPLAIN|VACUUM|ANALYZE|ATTACH|DETACH|REINDEX)\b|sqlite_|"
                  r"\bpragma_|\bgrdb_|\bfts5\(|'main'\.", re.I)
KNOWN = json.loads((pathlib.Path(__file__).parent / "postgresql_differences.json").read_text())


def statements(target):
    """Each statement once, in the order of its first use, on one line."""
    seen = {}
    for file in sorted((RECORDS / target).glob("*.sql"), key=lambda file: file.stat().st_mtime):
        for text in file.read_bytes().split(b"\0"):
            statement = re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", text.decode())).strip().rstrip(";").strip()
            if statement:
                seen.setdefault(statement)
    return list(seen)


def reverts(statement):
    """Whether a test sends the statement, to return a table to the schema before a migration."""
    if not re.match(r"DROP\b|ALTER TABLE \S+ DROP\b", statement, re.I):
        return False
    sources = (file.read_text() for file in (ROOT / "Sources").glob("*/**/*Migrations*.swift"))
    return not any(statement in " ".join(source.split()) for source in sources)


def faults_of(server, database, commands):
    """PostgreSQL's first error for each command, by the number of the command."""
    server.create(database)
    script = ["\\set VERBOSITY verbose"]
    for number, command in enumerate(commands):
        script += [f"\\echo @{number}", command + ";"]
    faults, current = {}, None
    for line in server.script(database, "\n".join(script) + "\n").splitlines():
        if line.startswith("@"):
            current = int(line[1:])
        elif "ERROR:  " in line and current not in faults:
            faults[current] = line.split("ERROR:  ")[1]
    return faults


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("postgresql"))
    yield server
    server.stop()


def kind(statement):
    return next((entry["pattern"] for entry in KNOWN if re.search(entry["pattern"], statement, re.I)), None)


@pytest.mark.parametrize("target", TARGETS)
def test_statements_run_on_postgresql(server, target):
    all_of_them = statements(target)
    assert len(all_of_them) > 20, f"no statements of {target} in {RECORDS}: scripts/test --swift records them"
    own = [text for text in all_of_them if not SEAM.search(text) and not reverts(text)]
    schema = [text for text in own if re.match(r"(CREATE|ALTER|DROP)\b", text, re.I)]
    rest = [text for text in own if text not in set(schema)]
    commands = schema + [f"PREPARE s{number} AS {text}" for number, text in enumerate(rest)]
    faults = faults_of(server, target.lower(), commands)
    told = collections.defaultdict(list)
    for number, fault in sorted(faults.items()):
        # Every test creates its tables; after the first test they exist already.
        if not fault.startswith(("42P07", "42701", "42P06")):
            statement = (schema + rest)[number]
            told[kind(statement)].append(f"{fault}\n    {statement}")
    unknown = told.pop(None, [])
    print(f"{target}: {len(own)} statements, {sum(map(len, told.values()))} of them known not to run on PostgreSQL")
    assert not unknown, "these would not run on PostgreSQL:\n" + "\n".join(unknown)
    listed = {entry["pattern"] for entry in KNOWN if target in entry["targets"]}
    assert set(told) == listed, f"postgresql_differences.json lists {listed}, but PostgreSQL rejects {set(told)}"
    # Without an error here, the statements would not have reached PostgreSQL at all.
    assert 0 in faults_of(server, f"{target.lower()}_wrong", ["SELEC 1"])

"""Every statement that the repositories send to one engine is parsed and analysed by the other, PostgreSQL 15 or newer or SQLite.

The schema is the one that the migrations create. Statements that would not run on PostgreSQL are listed with the reason in
postgresql_differences.json and docs/scaling.md, and those that would not run on SQLite in sqlite_differences.json. No other statement
may fail, and no listed one may run.

The statements are recorded while the Swift tests run (Tests/Support/sql-recorder), so the checked statements are the real ones: those for
SQLite by `scripts/test`, those for PostgreSQL by `scripts/test --store postgresql --swift`.
"""

import collections
import contextlib
import json
import os
import pathlib
import re
import sqlite3

import pytest

from campanile import ROOT
from postgresql_server import Server

RECORDS = pathlib.Path(os.environ.get("CAMPANILE_SQL_RECORDS", ROOT / ".build" / "sql"))
# scripts/test reads this line, and records the statements of these targets.
TARGETS = ["ActivitiesTests", "AttendanceTests", "GatewayTests", "NotificationsTests", "SyncTests"]
# Statements of the store itself, which another driver would replace, and those of SQLite's full-text search.
SEAM = re.compile(r"^(PRAGMA|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|EXPLAIN|VACUUM|ANALYZE|ATTACH|DETACH|REINDEX)\b|sqlite_|"
                  r"\bpragma_|\bgrdb_|\bfts5\(|'main'\.", re.I)
# Statements of the engine on a server.
SERVER_SEAM = re.compile(r"^(BEGIN|SET)\b|\bto_regclass\(|\bpg_|\bstore_(lanes|commits|leases|move|moved)\b|\bschema_migrations\b|\bcurrent_schema|\bset_config\(", re.I)
# The engine's form of a change that must affect a row.
CHANGE = re.compile(r"^WITH changed AS \((.*) RETURNING 1\) SELECT 1 / count\(\*\) FROM changed$")
KNOWN, KNOWN_ON_SQLITE = (json.loads((pathlib.Path(__file__).parent / f"{engine}_differences.json").read_text())
                          for engine in ("postgresql", "sqlite"))


def statements(target, engine="sqlite"):
    """Each statement that was sent to an engine once, in the order of its first use, on one line."""
    seen = {}
    for file in sorted((RECORDS / target).glob(f"*.{engine}"), key=lambda file: file.stat().st_mtime):
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


def kind(statement, known=KNOWN):
    return next((entry["pattern"] for entry in known if re.search(entry["pattern"], statement, re.I)), None)


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


def fault_on_sqlite(database, statement):
    try:
        database.execute("EXPLAIN " + CHANGE.sub(r"\1", statement))
    except sqlite3.ProgrammingError as error:
        # SQLite has compiled the statement, and its arguments are missing.
        assert "bindings" in str(error)
    except sqlite3.Error as error:
        return str(error)
    return None


@pytest.mark.skipif(os.environ.get("CAMPANILE_TEST_STORE") != "postgresql", reason="needs the records of a run on PostgreSQL")
@pytest.mark.parametrize("target", TARGETS)
def test_statements_run_on_sqlite(target):
    sent = [text for text in statements(target, "postgresql") if not SERVER_SEAM.search(text)]
    assert len(sent) > 20, f"no statements of {target} in {RECORDS}: scripts/test --store postgresql --swift records them"
    database = sqlite3.connect(":memory:")
    # The data of an earlier version, and the migrations that the tests have upgraded them with.
    database.executescript(max((ROOT / "Tests" / "Golden" / target).glob("????-??.sql")).read_text())
    for statement in statements(target):
        if re.match(r"(CREATE|ALTER|DROP)\b", statement, re.I) and not reverts(statement):
            # Some tables exist, and Python's SQLite lacks the tokenizer of the tables for search.
            with contextlib.suppress(sqlite3.Error):
                database.execute(statement)
    told = collections.defaultdict(list)
    for statement in sent:
        if fault := fault_on_sqlite(database, statement):
            told[kind(statement, KNOWN_ON_SQLITE)].append(f"{fault}\n    {statement}")
    unknown = told.pop(None, [])
    print(f"{target}: {len(sent)} statements, {sum(map(len, told.values()))} of them known not to run on SQLite")
    assert not unknown, "these would not run on SQLite:\n" + "\n".join(unknown)
    listed = {entry["pattern"] for entry in KNOWN_ON_SQLITE if target in entry["targets"]}
    assert set(told) == listed, f"sqlite_differences.json lists {listed}, but SQLite rejects {set(told)}"
    assert fault_on_sqlite(database, "SELEC 1")

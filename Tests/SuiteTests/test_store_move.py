"""A move of a suite to a PostgreSQL server is interrupted, and its copy is changed."""

import contextlib
import json
import re
import sqlite3
import subprocess

from campanile import CLI, environment, eventually
from test_store import contents, refusal, run, schema, server  # noqa: F401

from wire_marks import on_sqlite

pytestmark = on_sqlite


def rows(folder):
    """The rows of the databases in a data folder, by database and table, without what a move does not copy."""
    found = {}
    for file in folder.glob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(file)) as database:
            for table, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                if not re.match(r"sqlite_|store_|search_|schema_migrations$|content_journal$|content_chunks$", table):
                    found[file.stem, table] = sorted(map(repr, database.execute(f'SELECT * FROM "{table}"')))
    return found


def until(condition):
    return f"FOR turn IN 1..30000 LOOP EXIT WHEN {condition}; PERFORM pg_sleep(0.002); END LOOP;"


def copying(table):
    """A script that waits until a move copies a table. It locks none before, because migrations may still change it."""
    conditions = ["EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'store_move')",
                  f"EXISTS (SELECT FROM store_move WHERE name = '{table}')", f"EXISTS (SELECT FROM {table})"]
    return f"DO $$ BEGIN {' '.join(map(until, conditions))} END $$"


FIRST = "id = (SELECT min(id) FROM notifications)"
# A changed row, and a row less; each with its repair.
DAMAGES = [
    (f"UPDATE notifications SET title = title || '!' WHERE {FIRST}", f"UPDATE notifications SET title = left(title, -1) WHERE {FIRST}"),
    (f"CREATE TABLE public.removed AS SELECT * FROM notifications WHERE {FIRST}; DELETE FROM notifications WHERE {FIRST}",
     "INSERT INTO notifications SELECT * FROM public.removed"),
]


def test_a_killed_move_continues_and_a_changed_copy_is_reported(server, start, tmp_path):  # noqa: F811
    folder, back, there = tmp_path / "data", tmp_path / "back", schema(server, "killed")

    def query(text, part="notifications"):
        return server.script(f"campanile_{part}", f"\\t\nSET search_path = killed;\n{text};\n").strip()

    def kill_while_copying(table, part="notifications"):
        mover = subprocess.Popen([CLI, "move", "--from", str(folder), "--to", there], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=environment())
        try:
            assert query(copying(table), part) == ""
        finally:
            mover.kill()
            mover.wait()
        # The program that copies ends with it.
        eventually(lambda: query("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                                 "AND datname LIKE 'campanile%' AND pid <> pg_backend_pid()") == "0", "the move has ended")

    suite = start("data", "--demo").wait_ready()
    key = suite.key("user/mover")
    bucket = suite.call("CreateBucket", {"bucket": {"name": "b"}}, key)["bucket"]["id"]
    request = {"notification": {"bucketId": bucket, "title": "n {{sequence}}"}, "requestId": "{{uuid}}"}
    suite.run("load", "CreateNotification", json.dumps(request), "--count", "4000", "--concurrency", "64", key=key, check=0)
    before = contents(suite)
    suite.stop()
    source, oldest = rows(folder), {}
    for table in ("changes", "notifications"):
        kill_while_copying(table)
        assert 0 < int(query(f"SELECT count(*) FROM {table}")) < len(source["notifications", table])
        oldest[table] = query(f"SELECT min(xmin::text::bigint) FROM {table}")
        unfinished = there.replace("@/", "@/campanile_notifications")
        assert "a move into this database has not ended" in refusal(tmp_path / "other", unfinished, "campanile-notifications")
    for damage, repair in DAMAGES:
        assert query(damage) == ""
        done = run("move", "--from", folder, "--to", there)
        assert done.returncode != 0 and "the copy of the table notifications differs from its source" in done.stderr + done.stdout
        assert query(repair) == ""
    # Some of the databases are complete, and others are empty.
    kill_while_copying("activities", "activities")
    assert query("SELECT to_regclass('store_moved') IS NOT NULL") == "t"
    assert query("SELECT to_regclass('store_moved') IS NULL", "gateway") == "t"
    done = run("move", "--from", folder, "--to", there)
    assert done.returncode == 0, done.stderr
    # The rows that were copied first have stayed.
    assert {table: query(f"SELECT min(xmin::text::bigint) FROM {table}") for table in oldest} == oldest
    done = run("move", "--from", there, "--to", back)
    assert done.returncode == 0, done.stderr
    assert rows(back) == source
    suite = start("data", "--store", there).wait_ready()
    assert contents(suite) == before

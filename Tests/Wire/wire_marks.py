"""Marks of tests."""

import pytest

from wire_store import SERVER

# Tests of SQLite's files.
on_sqlite = pytest.mark.skipif(SERVER is not None, reason="it concerns SQLite's files")

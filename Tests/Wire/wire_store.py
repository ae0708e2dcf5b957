"""Moves the databases of the tests' services to the server of `scripts/test --store postgresql`."""

import hashlib
import os
import subprocess

# The folder of the server's socket; without it, the services use SQLite.
SERVER = os.environ.get("CAMPANILE_TEST_SERVER")
DATABASES = [f"campanile_{name}" for name in ["activities", "attendance", "gateway", "notifications", "sync"]]


def store_settings(folder):
    """The settings of services on a data folder: each folder has a schema of its own in all databases."""
    if not SERVER:
        return {}
    schema = "test_" + hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    for database in DATABASES:
        subprocess.run(["psql", "-X", "-q", "-h", SERVER, "-U", "postgres", "-d", database, "-c",
                        f"SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS {schema}"], check=True, timeout=60)
    return {"CAMPANILE_STORE": f"postgresql://postgres@/?host={SERVER}&options=-c%20search_path%3D{schema}"}

"""Sends what schemathesis derives from the OpenAPI document to a running suite."""

import os
import pathlib
import subprocess
import sys

import pytest
from campanile import Suite, environment

HERE = pathlib.Path(__file__).resolve().parent
# The tags of the document, by the file that tests their operations.
TAGS = {
    "notifications": (
        "AccessService", "AutomationService", "DeliveryService", "EngagementService", "NotificationsService", "SharingService",
        "TransferService"),
    "activities": (
        "ActivitiesService", "ActivityDebugService", "ActivityGroupsService", "BroadcastChannelsService", "PushDeliveryService",
        "PushTokensService", "RoomsService", "SigningService", "TimersService", "UnreadService", "WidgetsService"),
    "sync": ("AssetsService", "DevicesService", "UploadsService", "ZonesService"),
    "attendance": (
        "AttendanceService", "LodgeService", "MeetingsService", "MembersService", "SessionsService", "StatisticsService"),
    "simulator": ("ConsoleService", "SimulatorService", "WatchService"),
}
# Long enough for a slow machine; a run takes less than a minute.
RUN_S = 900


@pytest.fixture(scope="module")
def own_suite(tmp_path_factory):
    """A suite whose data the requests may change. Unauthenticated probes must not be refused because of their rate."""
    running = Suite(tmp_path_factory.mktemp("openapi") / "data", "--demo", settings={"CAMPANILE_ANONYMOUS_RATE": "10000:20000"})
    try:
        yield running.wait_ready()
    finally:
        running.stop()


def check_operations(suite, group, examples=5):
    """Runs all checks on the operations of a group of tags, with data that conforms to their schemas and data that does not."""
    base = f"http://127.0.0.1:{suite.endpoints['gateway']['http']}"
    key = suite.run("keys", "create", "user/openapi", "--scope", "admin", "--secret-only", check=0).stdout.strip()
    result = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", f"{base}/openapi.json", "-H", f"Authorization: Bearer {key}",
         "--phases", "examples,coverage,fuzzing", "--max-examples", str(examples), "--seed", "1", "--workers", "1", "--checks", "all",
         # Those of openapi_checks.py replace them.
         "--exclude-checks", "positive_data_acceptance,negative_data_rejection",
         # Only a disconnected caller ends these streams.
         "--exclude-path-regex", ":watch$", "--request-timeout", "60", "--warnings", "off", "--no-color", "--continue-on-failure",
         # Other data of the suite changes while the requests are sent, so the data of a failure is not shrunk.
         "--no-shrink", "--suppress-health-check", "all",
         *(option for tag in TAGS[group] for option in ("--include-tag", tag))],
        cwd=suite.folder, capture_output=True, text=True, timeout=RUN_S,
        env=environment() | {"SCHEMATHESIS_HOOKS": "openapi_checks", "PYTHONPATH": os.fspath(HERE)})
    assert result.returncode == 0, result.stdout[-20_000:] + result.stderr[-4_000:]
    assert " generated" in result.stdout, result.stdout

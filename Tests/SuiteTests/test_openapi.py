"""The OpenAPI document of the running gateway, read by tools that were written for other servers."""

import importlib
import json
import subprocess
import sys
import time

import pytest
from campanile import PATIENCE_S
from openapi_requests import TAGS
from test_gateway_http import base, curl, key, port, request, rest  # noqa: F401

VERBS = ("get", "head", "post", "put", "patch", "delete")


@pytest.fixture(scope="module")
def document(base):
    return json.loads(curl(f"{base}/openapi.json"))


def operations(document):
    return {(verb, path): item[verb] for path, item in document["paths"].items() for verb in VERBS if verb in item}


def test_document_is_valid(document):
    import openapi_spec_validator as validator
    validator.validate(document)
    assert document["openapi"] == "3.1.0"
    assert len(document["paths"]) > 80


def test_every_operation_is_described_once(document):
    found = operations(document)
    # Publishing with one line has no methods of its own; test_publish.py tests it.
    assert {tag["name"] for tag in document["tags"]} == {tag for tags in TAGS.values() for tag in tags} | {"Publish"}
    assert len({operation["operationId"] for operation in found.values()}) == len(found) > 150
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    for operation in found.values():
        name = operation["operationId"]
        assert operation["summary"] and operation["description"] and {"200", "401", "default"} <= set(operation["responses"]) | {
            "401" if name.endswith("HeadContent") else ""}, name
        assert all(tags[tag] for tag in operation["tags"]), name
        assert name not in operation["summary"], name


def test_only_methods_of_the_path_are_reported(base, document):
    """Every path that the document contains reports exactly the methods that the document has for it."""
    for path, item in document["paths"].items():
        target = path.replace("{", "").replace("}", "")
        status, headers, _ = request(base, "OPTIONS", target)
        assert status == 204, path
        assert set(headers["Allow"].split(", ")) == {"OPTIONS"} | {verb.upper() for verb in VERBS if verb in item}, path


def test_public_operations_need_no_credential(base, document):
    public = {operation["operationId"]: key for key, operation in operations(document).items() if operation["security"] == []}
    assert {"EngagementService_BatchReportEngagement", "SessionsService_Login", "SharingService_PublishWithKey",
            "MeetingsService_GetCalendar"} == set(public)
    for (verb, path), operation in operations(document).items():
        if verb == "head":
            continue
        body = {} if "requestBody" in operation else None
        while b"more than 50 calls a second" in (
                answer := request(base, verb.upper(), path.replace("{", "").replace("}", ""), body=body)[2]):
            time.sleep(0.1)
        assert (b"CREDENTIAL_MISSING" in answer) == (operation["security"] != []), path


@pytest.fixture(scope="module")
def generated(document, tmp_path_factory):
    """The client that openapi-python-client generates, as an importable package. A warning is a failure."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(document))
    made = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none",
         "--output-path", "campanile_client", "--fail-on-warning"],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S * 5)
    assert made.returncode == 0 and "arning" not in made.stdout + made.stderr, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module("campanile_client")
    sys.path.remove(str(folder))


def function(name):
    """A function of the generated client by its operation id, such as `NotificationsService_CreateBucket`."""
    service, _, method = name.partition("_")

    def snake(text):
        return "".join("_" + c.lower() if c.isupper() else c for c in text).removeprefix("_")

    module = f"campanile_client.api.{snake(service)}.{snake(service)}_{snake(method)}"
    return importlib.import_module(module).sync


def test_generated_client_has_every_operation(generated, document):
    for operation in operations(document).values():
        if not operation["operationId"].endswith("_HeadContent"):
            assert function(operation["operationId"])


def test_generated_client_creates_patches_and_lists(generated, base, key):
    from campanile_client import models
    client = generated.AuthenticatedClient(base_url=base, token=key)
    made = function("NotificationsService_CreateBucket")(
        client=client, body=models.CreateBucketRequest(bucket=models.Bucket(name="Generated", color="#102030")))
    bucket = made.bucket
    assert bucket.id.startswith("b_")
    # A patch of one field leaves the others: no default is sent.
    body = models.NotificationsServiceUpdateBucketBody(bucket=models.BucketPatch(name="Renamed"))
    changed = function("NotificationsService_UpdateBucket")(bucket.id, client=client, body=body)
    assert (changed.bucket.name, changed.bucket.color) == ("Renamed", "#102030")
    notification = function("NotificationsService_CreateNotification")(
        client=client, body=models.CreateNotificationRequest(notification=models.Notification(
            bucket_id=bucket.id, title="Hello", priority=models.NotificationPriority.PRIORITY_NORMAL))).notification
    listed = function("NotificationsService_ListNotifications")(client=client, bucket_id=bucket.id)
    assert [n.id for n in listed.notifications] == [notification.id]
    assert listed.notifications[0].create_time.tzinfo
    refused = function("NotificationsService_UpdateBucket")(
        bucket.id, client=client, body=models.NotificationsServiceUpdateBucketBody(bucket=models.BucketPatch(color="red")))
    assert isinstance(refused, models.Error) and refused.error.details[0].reason == "COLOR_INVALID"
    deleted = function("NotificationsService_DeleteBucket")(bucket.id, client=client)
    assert deleted.deleted_notification_count == 1

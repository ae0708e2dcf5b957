"""Checks that the services' protos follow the same rules; docs/decisions/0051 to 0053 give the reasons."""

import re
import subprocess

import declared_reasons
import pytest
from google.protobuf import descriptor_pb2

from campanile import ROOT

FIELD = descriptor_pb2.FieldDescriptorProto
UNKNOWN = descriptor_pb2.MethodOptions.IDEMPOTENCY_UNKNOWN
# Methods that a client must not repeat by itself, and that have no request id.
WITHOUT_REQUEST_ID = {
    "SessionsService/Login": "its caller is not known before",
    "SessionsService/ChangePin": "the stored hash of the request would cover a PIN",
}
UNITS = re.compile("_(ns|us|ms|millis|sec|secs|seconds|min|minutes|hours)$")


@pytest.fixture(scope="module")
def files(includes, tmp_path_factory):
    path = tmp_path_factory.mktemp("contract") / "set"
    protos = sorted(str(file.relative_to(ROOT / "protos")) for file in (ROOT / "protos/campanile").glob("*/v1/*.proto"))
    protos = [name for name in protos if not name.startswith(("campanile/testing/", "campanile/rpc/"))]
    subprocess.run(["protoc", *[f"-I{folder}" for folder in includes], f"-o{path}", "--include_imports", *protos], cwd=ROOT, check=True)
    found = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file
    files = [file for file in found if file.name in protos]
    assert len(files) == len(protos) > 30
    return files


@pytest.fixture(scope="module")
def messages(files):
    found = {}

    def add(prefix, message):
        found[f"{prefix}.{message.name}"] = message
        for inner in message.nested_type:
            if not inner.options.map_entry:
                add(f"{prefix}.{message.name}", inner)
    for file in files:
        for message in file.message_type:
            add(f".{file.package}", message)
    return found


@pytest.fixture(scope="module")
def methods(files):
    return {f"{service.name}/{method.name}": method for file in files for service in file.service for method in service.method}


def names(message):
    return {field.name for field in message.field}


def has_request_id(messages, message):
    """Whether a request, or each entry of a batch, has an id."""
    inner = [messages[field.type_name] for field in message.field if field.name == "requests"]
    return "request_id" in names(message) or any("request_id" in names(entry) for entry in inner)


def test_lists_have_pages(methods, messages):
    lists = {name: method for name, method in methods.items() if method.name.startswith("List")}
    assert len(lists) > 25
    for name, method in lists.items():
        request, response = names(messages[method.input_type]), names(messages[method.output_type])
        if method.name.endswith("Changes") or "after_sequence" in request:
            assert "page_size" in request and "has_more" in response, name
        else:
            assert {"page_size", "page_token"} <= request and "next_page_token" in response, name


def test_unsafe_methods_have_a_request_id(methods, messages):
    unsafe = {name for name, method in methods.items()
              if method.options.idempotency_level == UNKNOWN and not method.client_streaming}
    assert len(unsafe) > 30
    without = {name for name in unsafe if not has_request_id(messages, messages[methods[name].input_type])}
    assert without == set(WITHOUT_REQUEST_ID)


def test_watches_begin_with_started_and_resume(methods, messages):
    # WatchMany carries the tokens of its watches.
    watches = {name: method for name, method in methods.items() if method.name.startswith("Watch") and method.name != "WatchMany"}
    assert len(watches) >= 5
    for name, method in watches.items():
        assert method.server_streaming, name
        request, response = messages[method.input_type], messages[method.output_type]
        assert {"resume_token", "after_sequence"} & names(request) and {"resume_token", "sequence"} & names(response), name
        assert any(field.name == "started" and field.HasField("oneof_index") for field in response.field), name


def test_changes_are_listed_as_they_are_watched(methods, messages):
    lists = {name: method for name, method in methods.items() if method.name.startswith("List") and method.name.endswith("Changes")}
    assert len(lists) == 5
    for name, method in lists.items():
        response = messages[method.output_type]
        change, = (field.type_name for field in response.field if field.name == "changes")
        watch = methods[name.replace("/List", "/Watch").replace("/WatchNotificationChanges", "/WatchNotifications").replace(
            "/WatchActivityChanges", "/WatchActivities")]
        assert change in {field.type_name for field in messages[watch.output_type].field if field.name == "change"}, name
        assert {"resume_token", "has_more"} <= names(response), name


def test_times_and_durations_have_their_types_and_names(messages):
    for name, message in messages.items():
        for field in message.field:
            where = f"{name}.{field.name}"
            if field.type_name == ".google.protobuf.Timestamp":
                assert field.name.endswith(("_time", "_times")), where
            elif field.type not in (FIELD.TYPE_MESSAGE, FIELD.TYPE_BOOL):
                assert not field.name.endswith("_time") and not UNITS.search(field.name), where
            assert field.type_name != ".google.protobuf.Struct", f"{where}: bytes would not survive; use a text named _json"


def test_preconditions_are_etags(messages):
    for name, message in messages.items():
        assert not names(message) & {"if_match", "if_none_match", "version_match"}, name


def test_batches_share_their_error(messages):
    results = {name: message for name, message in messages.items() if name.rsplit(".", 1)[1].startswith("Batch") and name.endswith("Result")}
    assert len(results) >= 2
    for name, message in results.items():
        assert {field.type_name for field in message.field if field.name == "error"} == {".campanile.rpc.v1.BatchError"}, name


# Reasons that no call ends with.
INTERNAL_REASONS = {
    "HTTPActionResult.swift": "the failed requests of actions, in ActionRun",
    "NoticeSender.swift": "the response of Notifications to Attendance",
}


def test_every_reason_of_a_service_is_declared_by_one_of_its_methods():
    declared = declared_reasons.of_package()
    missing = [f"{target}/{file}: {reason}" for package, target in declared_reasons.SOURCES.items()
               for reason, file in declared_reasons.in_sources(target).items()
               if reason not in declared[package] and file not in INTERNAL_REASONS]
    assert not missing, "declare these by campanile.rpc.v1.errors"


def test_listed_reasons_exist(files, includes):
    """A misspelt reason would never be returned."""
    options = "\n".join((ROOT / "protos" / file.name).read_text() for file in files)
    listed = set(re.findall('"([A-Z_0-9]+)"', "\n".join(re.findall(r"rpc\.v1\.errors\) = (.*?);", options, re.DOTALL))))
    sources = "\n".join(path.read_text() for path in (ROOT / "Sources").rglob("*.swift") if "Generated" not in path.parts)
    known = set(re.findall('"([A-Z][A-Z_0-9]+)"', sources)) | set(re.findall('reason: "([A-Z_0-9]+)"', options))
    assert len(listed) > 100 and listed <= known, listed - known

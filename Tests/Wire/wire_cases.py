"""The cases of Tests/Interop, and the checks of their outcomes."""

import json

import pytest

from wire_process import ROOT

ECHO = json.loads((ROOT / "Tests" / "Interop" / "echo.json").read_text())
ANY = json.loads((ROOT / "Tests" / "Interop" / "any.json").read_text())


def full(value):
    """Returns a message with its `fill` members expanded."""
    if isinstance(value, dict):
        return value.get("with", "x") * value["fill"] if "fill" in value else {key: full(one) for key, one in value.items()}
    return value


def path(suite, case):
    return case["method"] if "/" in case["method"] else f"{suite['service']}/{case['method']}"


def requests(case):
    return [full(one) for one in case["requests"]] * case.get("repeat", 1)


def streams(case):
    """Returns whether the requests and the responses of a case are streams."""
    return {"Collect": (True, False), "Chat": (True, True), "Expand": (False, True), "Watch": (False, True)}.get(
        case["method"], (False, False))


def judged(case, responses, status, message=None):
    assert status == case.get("status", "OK"), (status, message)
    if "responses" in case:
        assert responses == [full(one) for one in case["responses"]]
    if "responseCount" in case:
        assert len(responses) == case["responseCount"]
        assert [one.get("index", 0) for one in responses] == list(range(case["responseCount"]))
    if "message" in case and message is not None:
        assert message == case["message"]


def named(cases):
    return [pytest.param(case, id=case["name"]) for case in cases]


def for_a_command(cases):
    """Returns the cases that `campanile call` can play."""
    return named(one for one in cases if not any(key in one for key in ("wireOnly", "stop", "open")))

"""The operations of the OpenAPI document for the console and the simulator, tested by schemathesis."""

from openapi_requests import check_operations, own_suite  # noqa: F401


def test_operations_keep_their_contract(own_suite):
    check_operations(own_suite, "simulator")

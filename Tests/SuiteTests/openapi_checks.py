"""Checks that schemathesis loads: its two that judge the data of requests, with exceptions that no schema expresses."""

import json
import re

import jsonschema
import schemathesis
from hypothesis import strategies
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.specs.openapi import checks

# Refusals of requests that their schema permits, by reason. A schema describes one request by itself.
BEYOND_SCHEMAS = {
    # These depend on the state of the stored objects, or on the clock.
    "FAILED_PRECONDITION", "TIME_PAST", "EXPIRE_TIME_PAST", "TOKEN_INVALID", "PAGE_TOKEN_INVALID", "TOKEN_TOO_OLD",
    "ETAG_MISMATCH",
    # These depend on several fields: on a header and a field, a mask, a range, an order, or the type of an action.
    "REQUIRED", "TIME_RANGE_EMPTY", "FIELD_TWICE", "FIELD_NOT_ALLOWED", "FIELD_MASK_INVALID", "ACTION_VALUE_INVALID",
    "DATES_OUT_OF_ORDER",
    # Two entries have the same name or id.
    "NAME_REPEATED", "WATCH_ID_DUPLICATE",
    # A field accepts only some values of its enum.
    "ENUM_UNKNOWN",
    # The text is a day that the calendar lacks, a scope, or a principal.
    "DATE_INVALID", "SCOPE_INVALID", "SCOPE_UNKNOWN", "PRINCIPAL_INVALID", "DESCRIPTION_INVALID",
    # The text is an address, a time of day, a time zone, a media type, a header, a template or an identifier.
    "URL_INVALID", "EMAIL_INVALID", "TIME_OF_DAY_INVALID", "TIME_ZONE_UNKNOWN", "CONTENT_TYPE_INVALID", "HEADER_NAME_INVALID",
    "HEADER_VALUE_INVALID", "TEXT_INVALID",
    # The text is an asset's name, which has no separators, or a size above the limit that the operator has set.
    "NAME_INVALID", "CONTENT_TOO_LARGE",
    # The text is a JSON object, a broadcast's payload, a bundle id without empty parts, an environment, or a token.
    "JSON_INVALID", "BROADCAST_PAYLOAD_INVALID", "APP_INVALID", "ENVIRONMENT_UNKNOWN", "RESUME_TOKEN_INVALID",
    # Generated times have offsets that no time zone has, such as -16:35.
    "INVALID_FORMAT",
    # Generated headers have no quotes, and a digest of other bytes.
    "CONDITION_UNSUPPORTED", "HASH_MISMATCH",
}

# The same for single operations, such as the key in PEM, and bundle ids that may end with `.*`.
BEYOND_SCHEMA_OF = {
    "SigningService_PutSigningKey": {"SIGNING_KEY_INVALID", "ID_INVALID"},
    # The number of uses is limited by the bucket's shares.
    "SharingService_CreateInviteCode": {"OUT_OF_RANGE"},
    # The user must not be the caller, or the owner of the bucket.
    "SharingService_BlockUser": {"OUT_OF_RANGE"},
    "SharingService_ShareBucket": {"OUT_OF_RANGE"},
    "SharingService_InviteToBucket": {"OUT_OF_RANGE"},
}
JSON_OBJECTS = strategies.dictionaries(strategies.text(), strategies.none() | strategies.integers() | strategies.text(), max_size=5)
schemathesis.openapi.format("json-object", JSON_OBJECTS.map(json.dumps))


def reasons(response):
    """The reasons of an error: its own and those of its fields."""
    try:
        error = json.loads(response.content)["error"]
        found = {detail["reason"] for detail in error["details"] if "reason" in detail}
        for violation in (violation for detail in error["details"] for violation in detail.get("fieldViolations", [])):
            # The range of a time moves with the clock.
            moves = violation["reason"] == "OUT_OF_RANGE" and violation["field"].endswith("Time")
            found = found - {"OUT_OF_RANGE"} | {"TIME_PAST"} if moves else found | {violation["reason"]}
    except (ValueError, KeyError, TypeError):
        return set()
    return {"FAILED_PRECONDITION"} if error["status"] == "FAILED_PRECONDITION" else found - {"FIELDS_INVALID"}


class Canonical:
    """Requests as a service reads them: ProtoJSON has several spellings of a value, of which a schema names one."""

    def __init__(self, case):
        self.case = case
        self.document = case.operation.schema.raw_schema
        self.definition = case.operation.definition.raw

    def resolved(self, schema):
        while isinstance(schema, dict) and "$ref" in schema:
            found = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def value(self, value, schema):
        schema = self.resolved(schema)
        kind = schema.get("type")
        if kind == "object" and isinstance(value, dict):
            known = schema.get("properties", {})
            other = schema.get("additionalProperties", {})
            members = {}
            for name, member in value.items():
                # Either name of a field is accepted.
                name = name if name in known else re.sub("_([a-z])", lambda found: found[1].upper(), name)
                inner = known.get(name, other)
                # null is an absent field, and so are the fields that the server sets.
                if known and (member is None or self.resolved(inner).get("readOnly") or inner.get("readOnly")):
                    continue
                # An unknown field is ignored.
                if name in known or not known:
                    members[name] = self.value(member, inner)
            return self.masked(members, known)
        if kind == "array" and isinstance(value, list):
            return [self.value(element, schema.get("items", {})) for element in value]
        if kind in ("integer", "number") and isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][0-9]+)?", value):
            value = float(value) if not value.lstrip("-").isdigit() else int(value)
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        if kind == "boolean" and value in ("true", "false"):
            return value == "true"
        if "enum" in schema and isinstance(value, str) and value.lstrip("-").isdigit():
            return schema["enum"][0]
        if kind == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
            # An enum by its number, or a 64-bit integer as a number.
            return schema["enum"][0] if "enum" in schema else str(int(value)) if float(value).is_integer() else value
        return value

    def masked(self, members, known):
        """Leaves out the members of a resource that the mask does not name: they are not read."""
        mask = members.get("updateMask")
        if not isinstance(mask, str) or not mask or mask == "*":
            return members
        named = set(mask.split(","))
        for name, member in members.items():
            if known.get(name, {}).get("$ref", "").endswith("Patch") and isinstance(member, dict):
                members[name] = {key: value for key, value in member.items() if key in named}
        return members

    def is_valid(self, value, schema):
        whole = {"$ref": "#/definition", "definition": schema, "components": self.document["components"]}
        return jsonschema.Draft202012Validator(whole).is_valid(self.value(value, schema))

    def request_is_valid(self):
        for parameter in map(self.resolved, self.definition.get("parameters", [])):
            place = {"path": self.case.path_parameters, "query": self.case.query, "header": self.case.headers}[parameter["in"]] or {}
            # A range that is not understood is ignored (RFC 9110, section 14.2), and no content matches such a tag.
            if parameter["name"] == "Range" or parameter["name"] == "If-None-Match" and self.case.method.upper() in ("GET", "HEAD"):
                continue
            # An empty query parameter is an absent field.
            if parameter["in"] == "query" and not parameter.get("required") and place.get(parameter["name"]) == "":
                continue
            if parameter["name"] in place and not self.is_valid(place[parameter["name"]], parameter["schema"]):
                return False
        body = self.definition.get("requestBody")
        if body is None or not isinstance(self.case.body, (dict, list, str, int, float, bool, type(None))):
            return True
        sent = self.case.body
        if isinstance(sent, dict) and (self.case.headers or {}).get("Idempotency-Key"):
            # The header replaces the member.
            sent = {name: member for name, member in sent.items() if name not in ("requestId", "request_id")}
        return self.is_valid(sent, body["content"]["application/json"]["schema"])


def has_refused_entries(response):
    """Whether a batch, whose entries are judged one by one, has refused one of them."""
    try:
        return any("error" in result for result in json.loads(response.content)["results"])
    except (ValueError, KeyError, TypeError):
        return False


@schemathesis.hook
def before_call(context, case, kwargs):
    """Leaves out the alternatives to the bearer's key: two credentials contradict each other."""
    for container, name in ((case.query, "access_token"), (case.headers, "attendance-session")):
        if container:
            container.pop(name, None)


@schemathesis.check
def valid_data_is_accepted(ctx, response, case):
    try:
        return checks.positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData as failure:
        found = reasons(response)
        # An error of HEAD has no body; GET has the same parameters.
        operation = case.operation.definition.raw["operationId"]
        if case.method.upper() == "HEAD" or found and found <= BEYOND_SCHEMAS | BEYOND_SCHEMA_OF.get(operation, set()):
            return None
        failure.message += f"\nReasons: {', '.join(sorted(found - BEYOND_SCHEMAS))}"
        raise


@schemathesis.check
def invalid_data_is_refused(ctx, response, case):
    try:
        return checks.negative_data_rejection(ctx, response, case)
    except AcceptedNegativeData:
        if not has_refused_entries(response) and not Canonical(case).request_is_valid():
            raise

"""Constraints that the generator must refuse, with the place in the proto."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build/debug"))
PROTO = """syntax = "proto3";
package test;
import "buf/validate/validate.proto";
import "campanile/rpc/v1/violation.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";

enum Kind { KIND_UNSPECIFIED = 0; KIND_ONE = 1; KIND_TWO = 2; }
message Message {
  FIELD
}
"""
FIELD_LINE = 10
RULE = "(buf.validate.field)"


def generate(includes, folder, field):
    (folder / "bad.proto").write_text(PROTO.replace("FIELD", field))
    return subprocess.run(
        ["protoc", *[f"-I{path}" for path in includes], f"-I{folder}", f"--plugin={BIN}/protoc-gen-campanile",
         f"--campanile_out={folder}", "bad.proto"],
        cwd=ROOT, capture_output=True, text=True)


BAD = {
    "a bound that excludes every length": f"string text = 1 [{RULE}.string = {{min_len: 3, max_len: 2}}];",
    "a bound that excludes every number": f"int32 number = 1 [{RULE}.int32 = {{gte: 3, lt: 3}}];",
    "a bound below every number": f"uint32 number = 1 [{RULE}.uint32.lt = 0];",
    "too few entries at most": f"repeated string texts = 1 [{RULE}.repeated = {{min_items: 2, max_items: 1}}];",
    "an unsupported rule": f"string text = 1 [{RULE}.string.email = true];",
    "an unsupported kind of rule": f'string text = 1 [{RULE}.cel = {{id: "a", expression: "true"}}];',
    "a pattern that RE2 refuses": f'string text = 1 [{RULE}.string.pattern = "^[z-a]$"];',
    "a repetition that RE2 refuses": f'string text = 1 [{RULE}.string.pattern = "^a{{1,1001}}$"];',
    "a pattern without its end": f'string text = 1 [{RULE}.string.pattern = "^a"];',
    "a pattern with alternatives": f'string text = 1 [{RULE}.string.pattern = "^(a|b)$"];',
    "a pattern that needs backtracking": f'string text = 1 [{RULE}.string.pattern = "^a*a$"];',
    "a bound that excludes every duration":
        f"google.protobuf.Duration time = 1 [{RULE}.duration = {{gte: {{seconds: 3}}, lte: {{seconds: 2}}}}];",
    "a bound of a fraction": f"google.protobuf.Duration time = 1 [{RULE}.duration.lte.nanos = 5];",
    "rules of a duration for another message": f"google.protobuf.Timestamp time = 1 [{RULE}.duration.lte.seconds = 5];",
    "rules of another type": f"string text = 1 [{RULE}.int32.gte = 0];",
    "required, and empty is ignored": f"string text = 1 [{RULE} = {{required: true, ignore: IGNORE_IF_ZERO_VALUE}}];",
    "required elements": f"repeated string texts = 1 [{RULE}.repeated.items.required = true];",
    "required, and ignored": f"string text = 1 [{RULE} = {{required: true, ignore: IGNORE_ALWAYS}}];",
    "required, and at most 0 characters": f"string text = 1 [{RULE} = {{required: true, string: {{max_len: 0}}}}];",
    "required, and at most 0 bytes of text": f"string text = 1 [{RULE} = {{required: true, string: {{max_bytes: 0}}}}];",
    "required, and at most 0 bytes": f"bytes data = 1 [{RULE} = {{required: true, bytes: {{max_len: 0}}}}];",
    "required, and at most 0 entries": f"repeated string texts = 1 [{RULE} = {{required: true, repeated: {{max_items: 0}}}}];",
    "required, and at most 0 pairs": f"map<string, string> texts = 1 [{RULE} = {{required: true, map: {{max_pairs: 0}}}}];",
    "required, and only the unspecified value": f"Kind kind = 1 [{RULE} = {{required: true, enum: {{in: [0]}}}}];",
    "required, and only zero": f"int32 number = 1 [{RULE} = {{required: true, int32: {{gte: 0, lte: 0}}}}];",
    "too few bytes at most": f"bytes data = 1 [{RULE}.bytes = {{min_len: 3, max_len: 2}}];",
    "too few bytes of text at most": f"string text = 1 [{RULE}.string = {{min_bytes: 3, max_bytes: 2}}];",
    "more characters than bytes": f"string text = 1 [{RULE}.string = {{min_len: 3, max_bytes: 2}}];",
    "more bytes than characters have": f"string text = 1 [{RULE}.string = {{max_len: 2, min_bytes: 9}}];",
    "too few pairs at most": f"map<string, string> texts = 1 [{RULE}.map = {{min_pairs: 2, max_pairs: 1}}];",
    "more pairs than keys": f"map<bool, string> texts = 1 [{RULE}.map.min_pairs = 3];",
    "impossible elements": f"repeated int32 numbers = 1 [{RULE}.repeated.items.int32 = {{gte: 3, lte: 2}}];",
    "impossible keys": f"map<string, string> texts = 1 [{RULE}.map.keys.string = {{min_len: 3, max_len: 2}}];",
    "impossible values": f"map<string, int64> numbers = 1 [{RULE}.map.values.int64 = {{gt: 3, lt: 4}}];",
    "a bound above every number": f"int32 number = 1 [{RULE}.int32.gt = 2147483647];",
    "a bound below every int32": f"int32 number = 1 [{RULE}.int32.lt = -2147483648];",
    "a bound above every uint32": f"uint32 number = 1 [{RULE}.uint32.gt = 4294967295];",
    "a bound above every int64": f"int64 number = 1 [{RULE}.int64.gt = 9223372036854775807];",
    "a bound above every uint64": f"uint64 number = 1 [{RULE}.uint64.gt = 18446744073709551615];",
    "a range of doubles in reverse order": f"double number = 1 [{RULE}.double = {{gte: 1, lte: 0.5}}];",
    "a range of floats in reverse order": f"float number = 1 [{RULE}.float = {{gte: 1, lte: 0.5}}];",
    "a bound that is not a number": f"double number = 1 [{RULE}.double = {{gte: nan}}];",
    "a constant outside its range": f"int32 number = 1 [{RULE}.int32 = {{const: 5, lte: 4}}];",
    "a duration above the longest": f"google.protobuf.Duration time = 1 [{RULE}.duration.gte.seconds = 315576000001];",
    "a text with a pattern of another length": f'string text = 1 [{RULE}.string = {{pattern: "^[a-z]{{4}}$", max_len: 3}}];',
    "a text shorter than its pattern": f'string text = 1 [{RULE}.string = {{pattern: "^[a-z]{{0,4}}$", min_bytes: 5}}];',
    "a listed text that is too long": f'string text = 1 [{RULE}.string = {{in: ["a", "abc"], max_len: 2}}];',
    "a listed text outside its pattern": f'string text = 1 [{RULE}.string = {{in: ["a1"], pattern: "^[a-z]*$"}}];',
    "accepted values that are all refused": f"Kind kind = 1 [{RULE}.enum = {{in: [1, 2], not_in: [1, 2]}}];",
    "no accepted value": f"Kind kind = 1 [{RULE}.enum = {{defined_only: true, not_in: [0, 1, 2]}}];",
    "an accepted value without a name": f"Kind kind = 1 [{RULE}.enum.in = 3];",
    "a refused value without a name": f"repeated Kind kinds = 1 [{RULE}.repeated.items.enum.not_in = 3];",
    "an unsupported rule of an enum": f"Kind kind = 1 [{RULE}.enum.const = 1];",
    "a message that requires itself": f"Message inner = 1 [{RULE}.required = true];",
    "rules of the message": 'string text = 1; option (buf.validate.message).cel = {id: "a", expression: "true"};',
    "two required members of a oneof":
        f"oneof choice {{ string left = 1 [{RULE}.required = true]; string right = 2 [{RULE}.required = true]; }}",
    "a reason without a pattern": 'string text = 1 [(campanile.rpc.v1.violation) = {reason: "A" description: "b"}];',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_constraints_are_refused_with_their_place(includes, tmp_path, name):
    result = generate(includes, tmp_path, BAD[name])
    assert result.returncode != 0, "the constraint was accepted"
    line = FIELD_LINE - 1 if name == "rules of the message" else FIELD_LINE
    assert re.search(rf"bad\.proto:{line}:\d+: test\.Message[.:]", result.stderr), result.stderr


def test_rules_of_responses_are_checked_too(includes, tmp_path):
    result = generate(includes, tmp_path, f"message InnerResponse {{\nInnerResponse inner = 1 [{RULE}.required = true];\n}}")
    assert f"bad.proto:{FIELD_LINE + 1}:1: test.Message.InnerResponse.inner" in result.stderr, result.stderr


def test_the_number_of_unknown_enum_names_is_reserved(includes, tmp_path):
    field = "enum State { STATE_UNSPECIFIED = 0; STATE_LOWEST = -2147483648; } State state = 1;"
    result = generate(includes, tmp_path, field)
    assert result.returncode != 0 and "STATE_LOWEST" in result.stderr, result.stderr
    assert generate(includes, tmp_path, field.replace("48;", "47;")).returncode == 0


def test_good_constraints_are_generated(includes, tmp_path):
    field = f"""string text = 1 [
    {RULE}.string = {{pattern: "^[a-z-]{{2,5}}\\\\.?[0-9]*$" max_len: 9}},
    (campanile.rpc.v1.violation) = {{reason: "TEXT_BAD" description: "must be good"}}];
  Kind kind = 2 [{RULE}.enum = {{defined_only: true, not_in: [0]}}];
  double ratio = 3 [{RULE}.double = {{gte: 0, lte: 1}}];
  map<string, Message> inner = 4 [{RULE}.map.max_pairs = 3];
  oneof choice {{ option (buf.validate.oneof).required = true; int64 number = 5 [{RULE}.int64.lt = 10]; }}
  string id = 6 [{RULE} = {{required: true, string: {{pattern: "^[a-z]{{1,5}}$"}}}}];
  int64 version = 7 [{RULE} = {{required: true, int64: {{gte: 0}}}}];
  Kind some = 8 [{RULE}.enum = {{defined_only: true, in: [1, 2], not_in: 2}}];
  repeated Kind others = 9 [{RULE}.repeated.items.enum = {{defined_only: true, not_in: [0, 2]}}];
  optional string empty = 10 [{RULE} = {{required: true, string: {{max_len: 0}}}}];
  string listed = 11 [{RULE}.string = {{in: ["ab", "b1"], pattern: "^[a-z]+[0-9]?$", max_len: 2}}];
  repeated Message messages = 12 [{RULE}.repeated.min_items = 1];"""
    result = generate(includes, tmp_path, field)
    assert result.returncode == 0, result.stderr
    swift = (tmp_path / "bad.swift").read_text()
    for part in ('"must be good", reason: "TEXT_BAD"', "violations.specified(", "in: [1])", "notIn: [2])", "from: 0.0, to: 1.0", "to: 9)", "max: 3",
                 'violations.absent("choice")', 'into: "inner", key:',
                 'if self.id.isEmpty { violations.text(self.id, "id", min: 1) } else { violations.pattern(self.id, "id",',
                 'if !(self.version != 0) { violations.absent("version") } else { violations.range(self.version,'):
        assert part in swift, f"{part} is missing in\n{swift}"

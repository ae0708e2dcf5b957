"""Constraints that the generator must refuse, with the place in the proto."""

import os
import pathlib
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

enum Kind { KIND_UNSPECIFIED = 0; }
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
    "a reason without a pattern": 'string text = 1 [(campanile.rpc.v1.violation) = {reason: "A" description: "b"}];',
}


@pytest.mark.parametrize("name", BAD)
def test_bad_constraints_are_refused_with_their_place(includes, tmp_path, name):
    result = generate(includes, tmp_path, BAD[name])
    assert result.returncode != 0, "the constraint was accepted"
    assert f"bad.proto:{FIELD_LINE}: test.Message." in result.stderr, result.stderr


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
  int64 version = 7 [{RULE} = {{required: true, int64: {{gte: 0}}}}];"""
    result = generate(includes, tmp_path, field)
    assert result.returncode == 0, result.stderr
    swift = (tmp_path / "bad.swift").read_text()
    for part in ('"must be good", reason: "TEXT_BAD"', "violations.specified(", "from: 0.0, to: 1.0", "to: 9)", "max: 3",
                 'violations.absent("choice")', 'into: "inner", key:',
                 'if self.id.isEmpty { violations.text(self.id, "id", min: 1) } else { violations.pattern(self.id, "id",',
                 'if !(self.version != 0) { violations.absent("version") } else { violations.range(self.version,'):
        assert part in swift, f"{part} is missing in\n{swift}"

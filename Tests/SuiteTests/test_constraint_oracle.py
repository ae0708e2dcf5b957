"""The generated validation compared with protovalidate, on random messages of every type with constraints.

`CAMPANILE_TEST_SEED` repeats a run."""

import json
import os
import pathlib
import random
import re
import subprocess

import protovalidate
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from random_messages import RandomMessages

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAMPANILE_BIN", ROOT / ".build/debug"))
MESSAGES_PER_TYPE = 100
# The generated validation reports at most so many violations, and so many characters of a key.
VIOLATIONS_MAX = 64
KEY_MAX = 64
# The violations that only the generated validation reports, with their condition. Every other difference is a fault.
INTENDED_DIFFERENCES = {
    # PostgreSQL rejects U+0000 in a text. protovalidate has no rule for it.
    "must not contain U+0000": lambda text: "\\u0000" in text,
}


def load_pool(includes):
    """Returns a pool with all protos, and the messages of the suite's own ones."""
    files = [str(path.relative_to(ROOT / "protos")) for path in sorted((ROOT / "protos").rglob("*.proto"))]
    made = subprocess.run(["protoc", *[f"-I{path}" for path in includes], "--include_imports",
                           "--descriptor_set_out=/dev/stdout", *files], cwd=ROOT, capture_output=True, check=True)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(made.stdout).file:
        pool.Add(file)
    top = [message for file in files for message in pool.FindFileByName(file).message_types_by_name.values()]
    return pool, [message for outer in top for message in (outer, *outer.nested_types) if not message.GetOptions().map_entry]


def path_of(violation):
    """Returns the path of protovalidate's violation as in the JSON request."""
    parts = []
    for element in violation.proto.field.elements:
        part = re.sub("_(.)", lambda match: match[1].upper(), element.field_name)
        if (subscript := element.subscript) is not None:
            key = str(subscript.value).lower() if isinstance(subscript.value, bool) else str(subscript.value)[:KEY_MAX]
            part += f"[{key}]" if subscript.field == "index" else f".{key}"
        parts.append(part)
    return ".".join(parts)


def difference(message, text, ours):
    """Returns the paths that only one of the two reports; `ours` are paths with descriptions."""
    theirs = {path_of(violation) for violation in protovalidate.collect_violations(message)}
    only_ours = {path for path, description in ours
                 if path not in theirs and not INTENDED_DIFFERENCES.get(description, lambda _: False)(text)}
    only_theirs = theirs - {path for path, _ in ours} if len(ours) < VIOLATIONS_MAX else set()
    return [f"only generated: {path}" for path in only_ours] + [f"only protovalidate: {path}" for path in only_theirs]


def test_generated_validation_agrees_with_protovalidate(includes):
    seed = int(os.environ.get("CAMPANILE_TEST_SEED", random.randrange(2**32)))
    pool, messages = load_pool(includes)
    generator = RandomMessages(pool, random.Random(seed))
    # Nobody validates responses.
    types = [message for message in messages if not message.name.endswith("Response") and generator.has_constraints(message)]
    assert types, "no message has constraints"
    made = [generator.make(message) for message in types for _ in range(MESSAGES_PER_TYPE)]
    texts = [json_format.MessageToJson(message, indent=None) for message in made]
    lines = [f"{message.DESCRIPTOR.full_name} {text}\n" for message, text in zip(made, texts)]
    run = subprocess.run([BIN / "message-validator"], input="".join(lines), capture_output=True, text=True, check=True)
    ours = [json.loads(line) for line in run.stdout.split("\n")[:-1]]
    faults = [f"{line[:500].strip()}\n  {fault[:200]}" for message, text, line, found in zip(made, texts, lines, ours, strict=True)
              for fault in difference(message, text, found)]
    assert sum(map(bool, ours)) > len(ours) / 4 and not all(ours), "the messages are too seldom valid or invalid"
    if faults:
        pytest.fail(f"CAMPANILE_TEST_SEED={seed}: {len(faults)} differences\n" + "\n".join(faults[:20]), pytrace=False)

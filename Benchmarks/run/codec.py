"""Measures the generated codec against swift-protobuf on one notification, and the JSON validator. See scripts/bench."""

import json

from bench import ONE_CORE, PEERS, output, run


def codec(rows, _):
    found = json.loads(output(*ONE_CORE, PEERS / "CodecBench"))
    for verb, at_most in (("decode", 1.5), ("encode", 1.2)):
        ours = found[verb]
        rows.add(f"{verb} {found['bytes']:.0f} bytes", ours, "us", at_most=at_most)
        for name, limits in (("json", {"ratio_at_most": 0.2}), ("binary", {})):
            rows.add(f"  (baseline: swift-protobuf {name})", ours, "us", found[name + verb.capitalize()], **limits)
    rows.add("decode and check the constraints (baseline: decode)", found["checked"], "us", found["decode"], ratio_at_most=1.15)
    rows.add("validate an array of notifications (baseline: JSONSerialization)", found["validate"], "GB/s", found["jsonSerialization"],
             at_least=1)


if __name__ == "__main__":
    run(__doc__, {"codec": codec})

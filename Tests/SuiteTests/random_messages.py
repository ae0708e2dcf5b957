"""Random messages whose values are at, below and above the limits of their constraints."""

import re
import struct
import unicodedata

from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor

DEPTH_MAX = 3
KINDS = {getattr(FieldDescriptor, name): name[5:] for name in dir(FieldDescriptor) if name.startswith("TYPE_")}
# Characters of one to four bytes, two code points in one character, and U+0000. None are canonically equivalent,
# because the maps of a message are Swift's dictionaries, which treat such keys as equal.
CHARACTERS = ["a", "Z", "0", "-", " ", "\u00f1", "\u20ac", "\U0001f514", "e\u0301", "\0"]
INTEGERS = {"INT32": (-2**31, 2**31 - 1), "INT64": (-2**63, 2**63 - 1), "UINT32": (0, 2**32 - 1), "UINT64": (0, 2**64 - 1)}
# The types whose empty message has no text in JSON.
NEVER_EMPTY = {"google.protobuf.Any", "google.protobuf.Value"}


class RandomMessages:
    def __init__(self, pool, source):
        self.pool, self.source = pool, source
        self.known = {}
        self.field_rules, self.oneof_rules = (pool.FindExtensionByName(f"buf.validate.{name}") for name in ("field", "oneof"))

    def rules(self, descriptor, extension, kind):
        """Returns the constraints of a field or a oneof. The options are parsed again, with the pool's extensions."""
        if descriptor.full_name not in self.known:
            options = message_factory.GetMessageClass(self.pool.FindMessageTypeByName(f"google.protobuf.{kind}Options"))
            parsed = options.FromString(descriptor.GetOptions().SerializeToString())
            self.known[descriptor.full_name] = parsed.Extensions[extension] if parsed.HasExtension(extension) else None
        return self.known[descriptor.full_name]

    def has_constraints(self, message, seen=()):
        """Whether a message, or a message inside, has constraints."""
        if message.full_name in seen:
            return False
        return any(self.rules(oneof, self.oneof_rules, "Oneof") for oneof in message.oneofs) or any(
            self.rules(field, self.field_rules, "Field")
            or field.message_type and self.has_constraints(field.message_type, (*seen, message.full_name))
            for field in message.fields)

    def make(self, descriptor, depth=0):
        message = message_factory.GetMessageClass(descriptor)()
        for field in descriptor.fields:
            if field.message_type and field.message_type.full_name in NEVER_EMPTY:
                continue
            rules = self.rules(field, self.field_rules, "Field")
            inner = field.message_type and not field.message_type.GetOptions().map_entry
            if self.source.random() < (0.8 / (depth + 1) ** 2 if inner else 0.7 if rules else 0.2):
                self.fill(message, field, rules, depth)
        return message

    def fill(self, message, field, rules, depth):
        target = getattr(message, field.name)
        if field.message_type and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
            for _ in range(self.count(rules and rules.map, "pairs")):
                name = self.value(key, rules and rules.map.keys, depth)
                if value.message_type:
                    target[name].CopyFrom(self.value(value, None, depth))
                else:
                    target[name] = self.value(value, rules and rules.map.values, depth)
        elif field.is_repeated:
            count = self.count(rules and rules.repeated, "items")
            # The values of a long list are empty, because only their number matters.
            values = [self.value(field, rules and rules.repeated.items, depth if count <= 4 else DEPTH_MAX)
                      for _ in range(min(count, 4))]
            target.extend(values[index % 4] for index in range(count))
        elif field.message_type:
            target.CopyFrom(self.value(field, rules, depth))
            target.SetInParent()
        else:
            setattr(message, field.name, self.value(field, rules, depth))

    def count(self, rules, unit):
        if not rules or not rules.ListFields():
            return self.source.randrange(3)
        return self.near([getattr(rules, f"min_{unit}"), getattr(rules, f"max_{unit}")], 0, 2000)

    def near(self, bounds, lowest, highest):
        """Returns a number at, below or above one of the bounds."""
        return max(lowest, min(highest, self.source.choice([0, *bounds]) + self.source.choice([-1, 0, 0, 1])))

    def value(self, field, rules, depth):
        kind = KINDS[field.type]
        own = getattr(rules, rules.WhichOneof("type")) if rules and rules.WhichOneof("type") else None
        if kind == "MESSAGE" and field.message_type.full_name == "google.protobuf.Duration":
            bounds = [getattr(own, name).seconds for name in ("gte", "lte")] if own else [0]
            seconds = self.near(bounds, -100, 100_000)
            nanos = self.source.choice([0, 0, 1, 999_999_999]) * (-1 if seconds < 0 else 1)
            return message_factory.GetMessageClass(field.message_type)(seconds=seconds, nanos=nanos)
        if kind == "MESSAGE":
            is_empty = depth >= DEPTH_MAX or field.message_type.file.package == "google.protobuf"
            return message_factory.GetMessageClass(field.message_type)() if is_empty else self.make(field.message_type, depth + 1)
        if kind == "ENUM":
            return self.source.choice([*[value.number for value in field.enum_type.values], 0, 99, -1])
        if kind == "STRING":
            return self.text(own)
        if kind == "BYTES":
            return bytes(self.near([own.min_len, own.max_len] if own else [3], 0, 70_000))
        if kind == "BOOL":
            return self.source.random() < 0.5
        bounds = [value for _, value in own.ListFields()] if own else [7]
        if kind in ("DOUBLE", "FLOAT"):
            value = self.source.choice([*bounds, 0.0, -0.0, float("nan"), float("inf"), -1e-9, bounds[0] + 1e-6])
            return struct.unpack("f", struct.pack("f", value))[0] if kind == "FLOAT" else value
        lowest, highest = INTEGERS[kind.replace("SINT", "INT").replace("SFIXED", "INT").replace("FIXED", "UINT")]
        return self.near([*bounds, *bounds, lowest, highest], lowest, highest)

    def text(self, rules):
        if rules and rules.pattern and self.source.random() < 0.8:
            return self.matching(rules.pattern)
        choices = list(getattr(rules, "in")) if rules else []
        if choices and self.source.random() < 0.5:
            return self.source.choice([*choices, *(unicodedata.normalize("NFD", choice) for choice in choices)])
        bounds = [rules.min_len, rules.max_len, rules.min_bytes, rules.max_bytes] if rules else [3]
        length = self.near([bound for bound in bounds if bound], 0, 70_000)
        alphabet = [self.source.choice(CHARACTERS) for _ in range(2)]
        # In UTF-8 for a limit of bytes: as many characters as fit.
        filled = "".join(self.source.choices(alphabet, k=min(length, 8))) + alphabet[0] * max(0, length - 8)
        return filled[:length] if self.source.random() < 0.5 else filled.encode()[:length].decode(errors="ignore")

    def matching(self, pattern):
        """Returns a text that matches a pattern of the accepted syntax, or nearly."""
        text = ""
        for part, repetition in re.findall(r"(\[[^\]]*\]|\\?[^^$])(\{[\d,]+\}|[?*+])?", pattern):
            characters = [chr(code) for code in range(128) if re.fullmatch(part, chr(code))]
            least, most = {"": (1, 1), "?": (0, 1), "*": (0, 3), "+": (1, 3)}.get(repetition, (None, None))
            if least is None:
                limits = repetition[1:-1].split(",")
                least, most = int(limits[0]), int(limits[-1] or int(limits[0]) + 2)
            text += "".join(self.source.choices(characters, k=self.source.choice([least, most, self.near([least, most], 0, 1000)])))
        return text + self.source.choice(["", "", "", "\n", "x"])

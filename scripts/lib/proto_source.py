"""Prints a proto2 file descriptor as the text of a .proto file.

The text has all names, numbers and types, and no options and comments: those do not change the wire format.
"""

from google.protobuf import descriptor_pb2

FIELD = descriptor_pb2.FieldDescriptorProto
LABELS = {FIELD.LABEL_OPTIONAL: "optional ", FIELD.LABEL_REQUIRED: "required ", FIELD.LABEL_REPEATED: "repeated "}
MAX_NUMBER = 2**29


def text(file: descriptor_pb2.FileDescriptorProto) -> str:
    """Returns the text.

    Raises ValueError for groups, default values and other syntaxes, which it cannot print.
    """
    if file.syntax not in ("", "proto2"):
        raise ValueError(f"{file.name} has the syntax {file.syntax}")
    lines = ['syntax = "proto2";', "", f"package {file.package};", ""]
    lines += [f'import "{name}";' for name in file.dependency]
    for extension in file.extension:
        lines += ["", f"extend {extension.extendee} {{", *_indented([_field(extension)]), "}"]
    for enum in file.enum_type:
        lines += ["", *_enum(enum)]
    for message in file.message_type:
        lines += ["", *_message(message)]
    return "\n".join(lines) + "\n"


def _message(message: descriptor_pb2.DescriptorProto) -> list[str]:
    maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    if maps or message.extension:
        raise ValueError(f"{message.name} has a map or an extension")
    body: list[str] = []
    for enum in message.enum_type:
        body += _enum(enum)
    for nested in message.nested_type:
        body += _message(nested)
    body += [_field(field) for field in message.field if not field.HasField("oneof_index")]
    for index, oneof in enumerate(message.oneof_decl):
        fields = [field for field in message.field if field.HasField("oneof_index") and field.oneof_index == index]
        body += [f"oneof {oneof.name} {{", *_indented([_field(field, "") for field in fields]), "}"]
    body += [f"extensions {_range(item.start, item.end)};" for item in message.extension_range]
    body += [f"reserved {_range(item.start, item.end)};" for item in message.reserved_range]
    body += [f'reserved "{name}";' for name in message.reserved_name]
    return [f"message {message.name} {{", *_indented(body), "}"]


def _enum(enum: descriptor_pb2.EnumDescriptorProto) -> list[str]:
    body = [f"{value.name} = {value.number};" for value in enum.value]
    # Unlike those of messages, these ranges include their ends.
    body += [f"reserved {_range(item.start, item.end + 1)};" for item in enum.reserved_range]
    body += [f'reserved "{name}";' for name in enum.reserved_name]
    return [f"enum {enum.name} {{", *_indented(body), "}"]


def _field(field: FIELD, label: str | None = None) -> str:
    if field.type == FIELD.TYPE_GROUP or field.HasField("default_value"):
        raise ValueError(f"{field.name} is a group or has a default value")
    kind = field.type_name or FIELD.Type.Name(field.type).removeprefix("TYPE_").lower()
    return f"{LABELS[field.label] if label is None else label}{kind} {field.name} = {field.number};"


def _range(start: int, end: int) -> str:
    last = "max" if end == MAX_NUMBER else str(end - 1)
    return str(start) if end == start + 1 else f"{start} to {last}"


def _indented(lines: list[str]) -> list[str]:
    return ["  " + line for line in lines]

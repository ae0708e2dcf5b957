"""The parameters of protoc-gen-campanile, by the declarations of the generated Swift, and its errors, with their positions."""

import base64
import re
import subprocess

import pytest
from campanile import BIN
from google.protobuf import descriptor_pb2

SHARED = """syntax = "proto3";
package shared.v1;
// Money is an amount.
message Money { int64 cents = 1; }
"""
SHOP = """syntax = "proto3";
package shop.v1;
import "shared.proto";

// ShopService sells.
service ShopService {
  rpc Buy(BuyRequest) returns (BuyResponse);
}
message BuyRequest {
  shared.v1.Money price = 1;
  Kind kind = 2;
}
message BuyResponse {}
enum Kind { KIND_UNSPECIFIED = 0; KIND_BOOK = 1; }
"""


def protoc(folder, *parameters, proto=SHOP):
    (folder / "shared.proto").write_text(SHARED)
    (folder / "shop.proto").write_text(proto)
    return subprocess.run(
        ["protoc", f"-I{folder}", f"--plugin={BIN}/protoc-gen-campanile", f"--campanile_out={folder}",
         *[f"--campanile_opt={parameter}" for parameter in parameters], "shop.proto"], capture_output=True, text=True)


def generate(folder, *parameters, proto=SHOP):
    """Returns the imports and the heads of the top-level declarations, each a line."""
    done = protoc(folder, *parameters, proto=proto)
    assert done.returncode == 0, done.stderr
    swift = (folder / "shop.swift").read_text()
    return re.findall(r"^(?:(?:public|package|internal) )?(?:import|struct|enum|protocol|extension) .*?(?= \{|$)", swift, re.MULTILINE)


def fault(folder, *parameters, proto=SHOP):
    done = protoc(folder, *parameters, proto=proto)
    assert done.returncode != 0, "the generator accepted it"
    assert not list(folder.glob("*.swift"))
    return done.stderr.strip()


@pytest.mark.parametrize("parameters, access", [
    ([], ""), (["Visibility=internal"], ""), (["Visibility=package"], "package "), (["Visibility=public"], "public ")])
def test_every_declaration_has_the_access_level(tmp_path, parameters, access):
    assert generate(tmp_path, *parameters) == [
        f"{access}import CampanileCodec", f"{access}import CampanileRPC", f"{access}enum Kind: ProtoEnum",
        f"{access}struct BuyRequest: ProtoMessage", f"{access}struct BuyResponse: ProtoMessage", f"{access}enum ShopServiceMethods",
        f"{access}protocol ShopServiceProtocol: RPCService", "extension ShopServiceProtocol",
        f"{access}struct ShopServiceClient: Sendable"]
    swift = (tmp_path / "shop.swift").read_text()
    for member in ("init(price: Money? = nil, kind: Kind = Kind())", "var price: Money?", "static let buy = MethodDescriptor(",
                   "func register(in registry: inout MethodRegistry)", "init(_ caller: any RPCCaller)"):
        assert f"\n  {access}{member}" in swift, member


def test_a_part_has_its_declarations_and_imports_only(tmp_path):
    assert generate(tmp_path, "Part=messages") == [
        "import CampanileCodec", "enum Kind: ProtoEnum", "struct BuyRequest: ProtoMessage", "struct BuyResponse: ProtoMessage"]
    assert generate(tmp_path, "Part=clients") == [
        "import CampanileCall", "enum ShopServiceMethods", "struct ShopServiceClient: Sendable"]
    assert generate(tmp_path, "Part=servers", "MessagesModule=ShopMessages") == [
        "import CampanileRPC", "import ShopMessages", "protocol ShopServiceProtocol: RPCService", "extension ShopServiceProtocol"]
    both = generate(tmp_path, "Part=messages", "Part=clients")
    assert "struct BuyRequest: ProtoMessage" in both and "struct ShopServiceClient: Sendable" in both
    assert "extension ShopServiceProtocol" not in both


def test_messages_of_other_packages_are_imported_from_their_module(tmp_path):
    used = "import SharedMessages"
    assert used not in generate(tmp_path)
    assert used in generate(tmp_path, "Module=shared.v1:SharedMessages")
    assert "public import SharedMessages" in generate(tmp_path, "Module=shared.v1:SharedMessages", "Visibility=public")
    assert used not in generate(tmp_path, "Module=other.v1:SharedMessages", "Module=shop.v1:SharedMessages")
    assert used not in generate(tmp_path, "Module=shared.v1:SharedMessages", "Part=clients"), "no method uses them"
    direct = SHOP.replace("rpc Buy(BuyRequest)", "rpc Buy(shared.v1.Money)")
    assert used in generate(tmp_path, "Module=shared.v1:SharedMessages", "Part=clients", proto=direct)


def test_a_service_of_well_known_types_imports_them(tmp_path):
    proto = """syntax = "proto3";
package shop.v1;
import "google/protobuf/empty.proto";
service ShopService { rpc Open(google.protobuf.Empty) returns (google.protobuf.Empty); }
"""
    assert generate(tmp_path, proto=proto)[:2] == ["import CampanileCodec", "import CampanileRPC"]


def test_a_prefix_is_in_the_names_of_its_package_only(tmp_path):
    assert generate(tmp_path, "Prefix=shop.v1:Book", "Prefix=shared.v1:Common")[2:] == [
        "enum BookKind: ProtoEnum", "struct BookBuyRequest: ProtoMessage", "struct BookBuyResponse: ProtoMessage",
        "enum BookShopServiceMethods", "protocol BookShopServiceProtocol: RPCService", "extension BookShopServiceProtocol",
        "struct BookShopServiceClient: Sendable"]
    assert "var price: CommonMoney?" in (tmp_path / "shop.swift").read_text()


def test_messages_with_tables_are_stored_messages(tmp_path):
    heads = generate(tmp_path, "Storage=tables", "Part=messages")
    assert heads[0] == "import CampanileStorage" and "struct BuyRequest: ProtoMessage, StoredMessage" in heads
    assert generate(tmp_path, "Storage=fields", "Part=messages")[0] == "import CampanileCodec"


@pytest.mark.parametrize("visibility", ["public", "internal"])
def test_the_descriptor_set_has_all_files_and_the_comments_of_some(tmp_path, visibility):
    generate(tmp_path, "DescriptorSet=ShopSet", "CommentsFrom=shop", f"Visibility={visibility}")
    swift = (tmp_path / "ShopSet.swift").read_text()
    access = "public " if visibility == "public" else ""
    assert f"\n{access}enum ShopSet {{" in swift and f"\n  {access}static let serializedBytes" in swift
    text = "".join(line.strip().removesuffix("\\") for line in swift.split('"""')[1].splitlines())
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(text)).file
    assert [file.name for file in files] == ["shared.proto", "shop.proto"]
    comments = [[place.leading_comments for place in file.source_code_info.location] for file in files]
    assert comments == [[], [" ShopService sells.\n"]]


@pytest.mark.parametrize("parameter, message", [
    ("Visibility=open", "Visibility must be public, package or internal, not open"),
    ("Visibility", "Visibility must be public, package or internal, not"),
    ("Part=all", "Part must be messages, clients or servers, not all"),
    ("Storage=rows", "Storage must be fields or tables, not rows"),
    ("Language=go", "Language must be swift, ts or markdown, not go"),
    ("Prefix=Book", "Prefix must be PACKAGE:PREFIX, not Book"),
    ("Module=a:b:c", "Module must be PACKAGE:MODULE, not a:b:c"),
    ("Colour=red", "unknown parameter Colour"),
])
def test_wrong_parameters_are_refused(tmp_path, parameter, message):
    assert fault(tmp_path, parameter) == f"--campanile_out: {message}"


def test_errors_of_protoc_have_their_position(tmp_path):
    assert fault(tmp_path, proto=SHOP.replace("Kind kind", "Kin kind")) == 'shop.proto:11:3: "Kin" is not defined.'
    assert fault(tmp_path, proto=SHOP.replace("BuyResponse {}", "BuyResponse {")).startswith("shop.proto:15:1: ")
    missing = fault(tmp_path, proto=SHOP.replace("shared.proto", "missing.proto")).splitlines()
    assert missing[:2] == [
        "missing.proto: File not found.", 'shop.proto:3:1: Import "missing.proto" was not found or had errors.']


def test_other_syntaxes_than_proto3_are_refused(tmp_path):
    proto = '\nsyntax = "proto2";\npackage shop.v1;\n'
    assert fault(tmp_path, proto=proto) == "--campanile_out: shop.proto:2:1: only proto3 is supported"


@pytest.mark.parametrize("declarations, parameters, message", [
    ("message Any {}\n  message AnyMessage {}", [],
     "shop.proto:4:3: shop.v1.AnyMessage: its Swift name, AnyMessage, is also that of shop.v1.Any"),
    ("message Shop {}", ["DescriptorSet=Shop"],
     "shop.proto:3:1: shop.v1.Shop: its Swift name, Shop, is also that of the descriptor set"),
    ("message ShopClient {}\nservice Shop {}", [],
     "shop.proto:4:1: shop.v1.Shop: its Swift name, ShopClient, is also that of shop.v1.ShopClient"),
    ("message Order {\n  string self = 1;\n  string self_field = 2;\n}", [],
     "shop.proto:5:3: shop.v1.Order.self_field: its Swift name, selfField, is also that of shop.v1.Order.self"),
    ("message Order {\n  oneof way {\n    string self = 1;\n    string self_field = 2;\n  }\n}", [],
     "shop.proto:6:5: shop.v1.Order.self_field: its Swift name, selfField, is also that of shop.v1.Order.self"),
    ("message Order {\n  message Way {}\n  oneof way { string by = 1; }\n  enum WayChoice { WAY_CHOICE_NO = 0; }\n}", [],
     "shop.proto:6:3: shop.v1.Order.WayChoice: its Swift name, WayChoice, is also that of shop.v1.Order.way"),
    ("enum Kind {\n  KIND_NONE = 0;\n  KIND_NONE_VALUE = 1;\n}", [],
     "shop.proto:5:3: shop.v1.KIND_NONE_VALUE: its Swift name, noneValue, is also that of shop.v1.KIND_NONE"),
    ("message Empty {}\nservice Shop {\n  rpc All(Empty) returns (Empty);\n}", [],
     "shop.proto:5:3: shop.v1.Shop.All: its Swift name, all, is also that of the list of methods"),
])
def test_equal_swift_names_are_refused_with_the_position_of_the_second_one(tmp_path, declarations, parameters, message):
    proto = f'syntax = "proto3";\npackage shop.v1;\n{declarations}\n'
    assert fault(tmp_path, *parameters, proto=proto) == f"--campanile_out: {message}"


def test_names_of_parts_that_are_not_generated_are_not_checked(tmp_path):
    proto = """syntax = "proto3";
package shop.v1;
message Empty {}
service Shop {
  rpc All(Empty) returns (Empty);
  rpc ServiceName(Empty) returns (Empty);
}
"""
    assert "its Swift name, all, is also that of the list of methods" in fault(tmp_path, "Part=clients", proto=proto)
    for part in ("messages", "servers"):
        assert generate(tmp_path, f"Part={part}", proto=proto)


@pytest.mark.parametrize("field, parameters, message", [
    ("enum Kind { KIND_NO = 0;\n KIND_LOWEST = -2147483648; }", [],
     "shop.proto:5:2: shop.v1.Order.KIND_LOWEST: the number stands for unknown names, so no value may have it"),
    ('string text = 1 [json_name = "other"];', ["Storage=tables"],
     "shop.proto:4:3: shop.v1.Order.text: another JSON name than protoc's"),
    ("map<int32, string> texts = 1;", ["Storage=tables"],
     "shop.proto:4:3: shop.v1.Order.texts: only maps from strings to scalars are supported"),
    ("\n".join(f"bool field{number} = {number};" for number in range(1, 66)), ["Storage=tables"],
     "shop.proto:3:1: shop.v1.Order: more than 64 fields"),
])
def test_unsupported_declarations_are_refused_with_their_position(tmp_path, field, parameters, message):
    proto = f'syntax = "proto3";\npackage shop.v1;\nmessage Order {{\n  {field}\n}}\n'
    assert fault(tmp_path, *parameters, proto=proto) == f"--campanile_out: {message}"


def test_malformed_annotations_are_refused_with_the_position_of_their_method(tmp_path):
    proto = """syntax = "proto3";
package shop.v1;
import "google/protobuf/descriptor.proto";
extend google.protobuf.MethodOptions { string access = 50740; }
message Empty {}
service Shop {
  rpc Buy(Empty) returns (Empty) { option (access) = "no message"; }
}
"""
    assert fault(tmp_path, proto=proto).startswith("--campanile_out: shop.proto:7:3: shop.v1.Shop.Buy: an option is ")

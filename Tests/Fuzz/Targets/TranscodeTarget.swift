import CampanileCodec
import CampanileRPC
import TestMessages

@testable import Gateway

/// A message comes through protobuf's binary form unchanged; what a service's codec calls ambiguous has no binary form; and what
/// becomes of a stranger's binary form a service can read.
let transcodeTarget = FuzzTarget("transcode") { input in
  guard let kind = input.first else { return }
  let bytes = Array(input.dropFirst())
  let check = checks[Int(kind >> 1) % checks.count]
  if kind & 1 == 0 { check.ofText(bytes) } else { check.ofBinary(bytes) }
}

private let index = SchemaIndex(descriptorSet: TestDescriptorSet.serializedBytes)

private struct Check: Sendable {
  let ofText: @Sendable ([UInt8]) -> Void
  let ofBinary: @Sendable ([UInt8]) -> Void

  /// `keepsTexts` for messages without a `google.protobuf.Value`, whose numbers are kept as they are written.
  init<M: ProtoMessage>(_ type: M.Type, keepsTexts: Bool) {
    ofText = { judgeText(type, $0, keepsTexts: keepsTexts) }
    ofBinary = { judgeBinary(type, $0) }
  }
}

private let checks = [
  Check(Scalars.self, keepsTexts: true), Check(MapFields.self, keepsTexts: false),
  Check(Choices.self, keepsTexts: false), Check(WellKnown.self, keepsTexts: false), Check(Tree.self, keepsTexts: true),
  Check(RepeatedFields.self, keepsTexts: false), Check(OptionalScalars.self, keepsTexts: true),
]

private func binary(_ json: [UInt8], _ type: String) -> [UInt8]? {
  json.withUnsafeBytes { try? JSONToProtobuf.convert($0, type, index) }
}

private func json(_ binary: [UInt8], _ type: String) -> [UInt8]? {
  binary.withUnsafeBytes { try? ProtobufToJSON.convert($0, type, index) }
}

private func judgeText<M: ProtoMessage>(_ type: M.Type, _ text: [UInt8], keepsTexts: Bool) {
  let name = M.protoFullName
  let message: M
  do throws(ProtoJSONError) {
    message = try M(jsonUTF8: text, options: JSONDecodingOptions(ignoreUnknownFields: true, maxDepth: 40))
  } catch {
    guard error.code == .duplicateField || error.code == .oneofConflict else { return }
    // Keys of a map that Swift calls equal are refused by the codec, though their bytes differ.
    guard text.allSatisfy({ $0 < 0x80 }), !String(decoding: text, as: UTF8.self).contains("\\u") else { return }
    let isJSON = text.withUnsafeBytes { (try? RawJSON.checkObject($0)) != nil }
    return require(!isJSON || binary(text, name) == nil, "\(error) has a binary form: \(shown(text))")
  }
  let canonical = message.jsonUTF8Bytes()
  // An Any has none.
  guard let first = binary(canonical, name) else {
    return require(
      String(decoding: canonical, as: UTF8.self).contains("\"@type\""), "no binary form: \(shown(canonical))")
  }
  guard let second = json(first, name) else { return require(false, "nothing came back: \(shown(canonical))") }
  if keepsTexts {
    require(second == canonical, "\(shown(canonical)) became \(shown(second))")
  }
  guard let again = binary(second, name) else { return require(false, "no second binary form: \(shown(second))") }
  require(again == first, "\(shown(canonical)) has two binary forms, the second of \(shown(second))")
}

private func judgeBinary<M: ProtoMessage>(_ type: M.Type, _ bytes: [UInt8]) {
  guard let text = json(bytes, M.protoFullName) else { return }
  do throws(ProtoJSONError) {
    _ = try M(jsonUTF8: text)
  } catch {
    // A path of a field mask that has no form in JSON, as protobuf says; and keys that Swift calls equal, as above.
    let isKnown = error.code == .invalidFormat || error.code == .duplicateField && !text.allSatisfy { $0 < 0x80 }
    require(isKnown, "\(error) for \(shown(text)) of \(shown(bytes))")
  }
}

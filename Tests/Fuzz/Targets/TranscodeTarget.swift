import CampanileCodec
import CampanileRPC
import TestMessages

@testable import Gateway
@testable import GatewayHTTP

/// A message survives a round trip through protobuf's binary form unchanged. A text that a service's codec calls
/// ambiguous has no binary form. A service can read the result of transcoding an untrusted binary form.
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

  /// - Parameter keepsTexts: True for messages without a `google.protobuf.Value`, whose numbers keep their notation.
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
    message = try M(jsonUTF8: text, options: JSONDecodingOptions(maxDepth: 40))
  } catch {
    guard error.code == .duplicateField || error.code == .oneofConflict else { return }
    // The codec refuses map keys that are equal as Swift strings, even if their bytes differ.
    guard text.allSatisfy({ $0 < 0x80 }), !String(decoding: text, as: UTF8.self).contains("\\u") else { return }
    let isJSON = text.withUnsafeBytes { (try? RawJSON.checkObject($0)) != nil }
    return require(!isJSON || binary(text, name) == nil, "\(error) has a binary form: \(shown(text))")
  }
  let canonical = message.jsonUTF8Bytes()
  // An Any has no binary form here.
  guard let first = binary(canonical, name) else {
    return require(
      String(decoding: canonical, as: UTF8.self).contains("\"@type\""), "no binary form: \(shown(canonical))")
  }
  guard let second = json(first, name) else { return require(false, "no JSON came back: \(shown(canonical))") }
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
    // Known exceptions: a path of a field mask without a JSON form, as documented by protobuf, and equal Swift keys, as
    // above.
    let isKnown = error.code == .invalidFormat || error.code == .duplicateField && !text.allSatisfy { $0 < 0x80 }
    require(isKnown, "\(error) for \(shown(text)) of \(shown(bytes))")
  }
}

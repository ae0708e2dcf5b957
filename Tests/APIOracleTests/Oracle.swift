import CampanileAPI
import CampanileCodec
import Foundation
import SwiftProtobuf
import TestMessages

/// A message type in the codec and in swift-protobuf.
struct Oracle: Sendable {
  let name: String
  /// Passes a message in wire format through both codecs. Returns the fault, or nil.
  let roundTrip: @Sendable (_ wire: [UInt8]) -> String?
  /// Compares both codecs on a JSON text. Returns the difference, or nil.
  let compare: @Sendable (_ json: [UInt8]) -> String?
  /// Returns the JSON text of a message in wire format, as written by swift-protobuf or by the codec.
  let json: @Sendable (_ wire: [UInt8], _ byCodec: Bool) -> [UInt8]

  init<Ours: ProtoMessage, Theirs: SwiftProtobuf.Message>(_: Ours.Type, _: Theirs.Type) {
    name = Ours.protoFullName
    roundTrip = { Self.roundTrip($0, Ours.self, Theirs.self) }
    compare = { Self.compare($0, Ours.self, Theirs.self) }
    json = { wire, byCodec in
      guard let theirs: [UInt8] = try? Theirs(serializedBytes: wire).jsonUTF8Bytes() else { return [] }
      return byCodec ? (try? Ours(jsonUTF8: theirs))?.jsonUTF8Bytes() ?? theirs : theirs
    }
  }

  static let all: [Oracle] = [
    Oracle(Scalars.self, Campanile_Testing_V1_Scalars.self),
    Oracle(OptionalScalars.self, Campanile_Testing_V1_OptionalScalars.self),
    Oracle(RepeatedFields.self, Campanile_Testing_V1_RepeatedFields.self),
    Oracle(MapFields.self, Campanile_Testing_V1_MapFields.self),
    Oracle(Choices.self, Campanile_Testing_V1_Choices.self),
    Oracle(WellKnown.self, Campanile_Testing_V1_WellKnown.self),
    Oracle(Tree.self, Campanile_Testing_V1_Tree.self),
    Oracle(Awkward.self, Campanile_Testing_V1_Awkward.self),
    Oracle(Wide.self, Campanile_Testing_V1_Wide.self),
    Oracle(CampanileAPI.Notification.self, Campanile_Notifications_V1_Notification.self),
  ]

  /// Registers the payload types of Any, so that swift-protobuf can write them. True if it succeeded.
  static let registered: Bool = {
    Google_Protobuf_Any.register(messageType: Campanile_Testing_V1_Scalars.self)
      && Google_Protobuf_Any.register(messageType: Campanile_Testing_V1_Branch.self)
  }()

  /// The bytes by which two messages of the oracle are compared. Unlike with `==`, NaN equals itself.
  private static func canonical(_ message: some SwiftProtobuf.Message) throws -> [UInt8] {
    var options = BinaryEncodingOptions()
    options.useDeterministicOrdering = true
    return try message.serializedBytes(options: options)
  }

  private static func roundTrip<Ours: ProtoMessage, Theirs: SwiftProtobuf.Message>(
    _ wire: [UInt8], _: Ours.Type, _: Theirs.Type
  ) -> String? {
    var step = "the oracle reads the wire format"
    do {
      let theirs = try Theirs(serializedBytes: wire)
      step = "the oracle writes JSON"
      let theirJSON: [UInt8] = try theirs.jsonUTF8Bytes()
      step = "the codec reads \(String(decoding: theirJSON, as: UTF8.self))"
      let ours = try Ours(jsonUTF8: theirJSON)
      let ourJSON = ours.jsonUTF8Bytes()
      step = "the oracle reads \(String(decoding: ourJSON, as: UTF8.self))"
      let back = try Theirs(jsonUTF8Bytes: ourJSON)
      // An Any keeps the bytes of its payload unchanged. Read from JSON, they are in swift-protobuf's order.
      let normal = try Theirs(jsonUTF8Bytes: theirJSON)
      guard try canonical(back) == canonical(theirs) || canonical(back) == canonical(normal) else {
        return "not the same message: \(step) from \(theirs)"
      }
      step = "the codec reads what it wrote: \(String(decoding: ourJSON, as: UTF8.self))"
      guard try Ours(jsonUTF8: ourJSON).jsonUTF8Bytes() == ourJSON else { return "not the same text: \(step)" }
      return nil
    } catch {
      return "\(step): \(error)"
    }
  }

  private static func compare<Ours: ProtoMessage, Theirs: SwiftProtobuf.Message>(
    _ json: [UInt8], _: Ours.Type, _: Theirs.Type
  ) -> String? {
    let text = String(decoding: json, as: UTF8.self)
    do {
      let ours = try Ours(jsonUTF8: json)
      // The codec ignores unknown fields, which the oracle does if it is asked to.
      var lenient = SwiftProtobuf.JSONDecodingOptions()
      lenient.ignoreUnknownFields = true
      switch Result(catching: { try Theirs(jsonUTF8Bytes: json, options: lenient) }) {
      case .failure(let error):
        if IntendedDifferences.oracleMayRefuse(text) { return nil }
        let plain = Array(IntendedDifferences.withoutPlainEscapes(text).utf8)
        return plain == json ? "only the oracle refuses (\(error)): \(text)" : compare(plain, Ours.self, Theirs.self)
      case .success(let theirs):
        if IntendedDifferences.oracleWouldTrap(on: theirs) {
          return IntendedDifferences.faultWithoutOracle(ours).map { "\($0): \(text)" }
        }
        let ourJSON = ours.jsonUTF8Bytes()
        if IntendedDifferences.hasUnknownEnumName(ourJSON) { return nil }
        let back = try Theirs(jsonUTF8Bytes: ourJSON)
        if try canonical(back) == canonical(theirs) || IntendedDifferences.mayDiffer(text) { return nil }
        return "different messages: \(text) became \(String(decoding: ourJSON, as: UTF8.self))"
      }
    } catch let error as ProtoJSONError {
      // The codec checks the texts that it skips; the oracle does so only if it refuses unknown fields.
      if (try? Theirs(jsonUTF8Bytes: json)) == nil { return nil }
      return IntendedDifferences.codecMayRefuse(error, text) ? nil : "only the codec refuses (\(error)): \(text)"
    } catch {
      if IntendedDifferences.oracleMayRefuseReply(error) { return nil }
      return "the oracle refuses what the codec wrote (\(error)): \(text)"
    }
  }
}

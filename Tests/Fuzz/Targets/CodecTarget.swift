import CampanileAPI
import CampanileCodec
import TestMessages

/// A text that a generated codec accepts is encoded so that decoding and encoding it again gives the same text.
let codecTarget = FuzzTarget("codec") { input in
  guard let kind = input.first else { return }
  let text = Array(input.dropFirst())
  codecChecks[Int(kind) % codecChecks.count](text)
}

private let codecChecks: [@Sendable ([UInt8]) -> Void] = [
  { roundTrip(Scalars.self, $0) }, { roundTrip(MapFields.self, $0) }, { roundTrip(Choices.self, $0) },
  { roundTrip(WellKnown.self, $0) }, { roundTrip(Tree.self, $0) }, { roundTrip(Notification.self, $0) },
  { roundTrip(CreateNotificationRequest.self, $0) }, { roundTrip(Webhook.self, $0) }, { roundTrip(Meeting.self, $0) },
]

private func roundTrip<M: ProtoMessage>(_ type: M.Type, _ text: [UInt8]) {
  guard let message = try? M(jsonUTF8: text) else { return }
  let written = message.jsonUTF8Bytes()
  // The first encoding may differ from the input in an Any's content, an enum's value and a NaN; later ones may not.
  guard let again = try? M(jsonUTF8: written) else {
    return require(false, "\(M.protoFullName) cannot be read again: \(shown(text)) became \(shown(written))")
  }
  require(
    again.jsonUTF8Bytes() == written,
    "\(M.protoFullName) changes: \(shown(written)) became \(shown(again.jsonUTF8Bytes()))")
}

import APNs
import CampanileCodec
import CampanileService

/// The parts of a receipt that are known before the queue assigns the push's `apns-id`.
struct ReceiptSeed: Sendable, Hashable {
  /// The key for this alert's receipts, from Notifications.
  var alertKey: [UInt8]
  var userID: String
  var alertID: String
  var deviceID: String

  /// Returns the payload with the member `rct`. A payload without room for it remains unchanged: the alert matters more
  /// than its receipt.
  func adding(to payload: [UInt8], pushID: String) -> [UInt8] {
    let receipt = PushReceipt(userID: userID, alertID: alertID, deviceID: deviceID, pushID: pushID)
    guard payload.last == UInt8(ascii: "}"), let text = receipt.text(alertKey: alertKey) else { return payload }
    let signed = payload.dropLast() + Array(",\"rct\":\(ProtoValue(string: text).json)}".utf8)
    return signed.count <= APNsLimits.payloadBytesMax ? Array(signed) : payload
  }
}

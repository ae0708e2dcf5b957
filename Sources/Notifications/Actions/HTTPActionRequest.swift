import CampanileAPI
import CampanileCodec
import CampanileService

/// The HTTP request of an action.
struct HTTPActionRequest: Sendable, Hashable {
  static let userAgent = "campanile-notifications"

  /// In capitals.
  var method: String
  /// An absolute http or https URL. It is checked again before it is called.
  var url: String
  /// The user's headers.
  var headers: [String: String]
  /// Empty if the request has none.
  var body: [UInt8]
  /// The content type of the body, used if the user's headers do not set one.
  var contentType: String
  /// Sent as `Idempotency-Key` if it is not empty, so that a receiver recognizes a repeated attempt.
  var idempotencyKey = ""

  /// Creates the request of a webhook. With an empty body, the notification is sent as JSON if the method carries a
  /// body.
  init(webhook: Webhook, notification: Notification) {
    method = WebhookRules.name(of: webhook.method)
    url = webhook.url
    headers = webhook.headers
    let carriesBody = WebhookRules.carriesBody(webhook.method)
    if !webhook.body.isEmpty {
      body = carriesBody ? Array(webhook.body.utf8) : []
      let isJSON = webhook.body.utf8.first { !Self.isSpace($0) }.map {
        $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[")
      }
      contentType = isJSON == true ? "application/json" : "text/plain; charset=utf-8"
    } else {
      body = carriesBody ? notification.jsonUTF8Bytes() : []
      contentType = "application/json"
    }
  }

  /// Creates the request of an action of type BACKGROUND_CALL, `METHOD::URL`; returns nil for any other. The request
  /// has no body; the header `X-Notification-Id` carries the notification's id.
  init?(backgroundCall action: Action, notification: Notification) {
    guard action.type == .backgroundCall, let separator = action.value.firstRange(of: "::") else { return nil }
    method = String(action.value[..<separator.lowerBound])
    url = String(action.value[separator.upperBound...])
    guard ActionRules.methods.contains(method), URLRules.isWebURL(url[...]) else { return nil }
    headers = notification.id.isEmpty ? [:] : ["x-notification-id": notification.id]
    body = []
    contentType = ""
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

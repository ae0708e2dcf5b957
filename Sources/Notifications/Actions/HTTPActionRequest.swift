import CampanileAPI
import CampanileCodec
import CampanileService

/// An HTTP request that an action asks for.
struct HTTPActionRequest: Sendable, Hashable {
  static let userAgent = "campanile-notifications"

  /// In capitals.
  var method: String
  /// An absolute http or https URL, checked once more before it is called.
  var url: String
  /// Of the user, in the order of their names.
  var headers: [String: String]
  /// Empty for none.
  var body: [UInt8]
  /// Of the body, when the user's headers do not say.
  var contentType: String
  /// Sent as `Idempotency-Key` when it is not empty, so that a receiver knows a repeated attempt.
  var idempotencyKey = ""

  /// The request of a webhook. An empty body sends the notification as JSON for methods that carry a body.
  init(webhook: Webhook, notification: Notification) {
    method = webhook.method.isEmpty ? WebhookRules.methodDefault : webhook.method
    url = webhook.url
    headers = webhook.headers
    let carriesBody = WebhookRules.carriesBody(method)
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

  /// The request of an action of the type BACKGROUND_CALL, `METHOD::URL`; nil when it is none. It has no body, the
  /// notification's id goes along in the header `X-Notification-Id`.
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

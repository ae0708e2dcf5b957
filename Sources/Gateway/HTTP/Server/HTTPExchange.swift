import CampanileCrypto
import CampanileRPC
import NIOCore
import NIOHTTP1

/// One request from its head to the end of its answer. Confined to the connection's event loop.
final class HTTPExchange {
  let head: HTTPRequestHead
  let decision: HTTPDecision
  /// The form of answers to this request.
  let style: HTTPPlan.Style
  /// Whether answers are protobuf's binary form.
  let isBinary: Bool
  /// The headers that every answer to this request has.
  let crossOrigin: [(String, String)]
  var body = ByteBuffer()
  /// The failure that is answered once the body has passed by.
  var refusal: HTTPRefusal?
  var call: ServerCall?
  /// Answers a request in a dialect.
  var task: Task<Void, Never>?
  /// Of a call that streams its requests.
  var messages: RequestMessages?
  /// Of a content that is being brought.
  var upload: UploadBody?
  /// Of a content that is being sent.
  var content: ContentProgress?
  var isRead = false
  var isHeadSent = false
  var keepsAlive: Bool
  /// Messages sent since the backend was last granted more.
  var sentCount = 0
  var lastWrite = NIODeadline.now()

  init(_ head: HTTPRequestHead, _ decision: HTTPDecision, crossOrigin: [(String, String)]) {
    self.head = head
    self.decision = decision
    self.crossOrigin = crossOrigin
    // The decoder stops at what asks for another protocol.
    keepsAlive = head.isKeepAlive && !head.headers.contains(name: "upgrade")
    switch decision {
    case .call(let plan): (style, isBinary) = (plan.style, plan.binary != nil)
    case .refusal(let refusal):
      (style, isBinary) = (refusal.style, false)
      self.refusal = refusal
    default: (style, isBinary) = (.rest, false)
    }
  }

  var plan: HTTPPlan? { if case .call(let plan) = decision { plan } else { nil } }

  /// Whether the body is kept as it comes.
  var takesBody: Bool {
    switch decision {
    case .call(let plan): plan.takesBody
    case .dialect(let plan): plan.takesBody
    default: false
    }
  }
}

/// The decision on a request's head, for the next one that is the same. Kept for unary calls of the Connect protocol alone, where it
/// does not depend on how long the body is.
struct KeptDecision {
  private enum Expected {
    case any
    case text(String)
    /// Behind a proxy a connection has many callers: none may learn by the time it takes how another's credential begins.
    case secret([UInt8])
  }

  let plan: HTTPPlan
  private let uri: String
  private let headers: [(name: String, value: Expected)]

  init?(_ decision: HTTPDecision, _ head: HTTPRequestHead) {
    guard case .call(let plan) = decision, plan.style == .connectUnary, case .body = plan.params, head.method == .POST
    else { return nil }
    self.plan = plan
    uri = head.uri
    headers = head.headers.map { name, value in
      switch name.lowercased() {
      case "content-length": (name, .any)
      case "authorization", "cookie": (name, .secret(Array(value.utf8)))
      default: (name, .text(value))
      }
    }
  }

  func fits(_ head: HTTPRequestHead) -> Bool {
    guard head.method == .POST, head.version == .http1_1, head.uri == uri, head.headers.count == headers.count else {
      return false
    }
    var index = 0
    for (name, value) in head.headers {
      let known = headers[index]
      guard name == known.name, Self.fits(value, known.value) else { return false }
      index += 1
    }
    return true
  }

  private static func fits(_ value: String, _ expected: Expected) -> Bool {
    switch expected {
    case .any: true
    case .text(let text): value == text
    case .secret(let bytes): ConstantTime.equal(Array(value.utf8), bytes)
    }
  }
}

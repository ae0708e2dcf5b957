import CampanileCrypto
import CampanileRPC
import Gateway
import NIOCore
import NIOHTTP1

/// One request, from its head to the end of its response. Confined to the connection's event loop.
final class HTTPExchange {
  let head: HTTPRequestHead
  let decision: HTTPDecision
  /// The style of responses to this request.
  let style: HTTPPlan.Style
  /// Whether responses use the binary protobuf encoding.
  let isBinary: Bool
  /// The headers of every response to this request that tell browsers who may use it: those of CORS, or of the console.
  let policies: [(String, String)]
  /// The caller identified by the head; nil if the request was refused.
  var caller: Caller?
  /// The admission of a request that the gateway serves with its own calls.
  var admitted: AdmittedRequest?
  var body = ByteBuffer()
  /// Body bytes received so far, before decompression.
  var passedBytes = 0
  var isCompressed = false
  var inflater: BodyInflater?
  /// Body bytes after decompression.
  var decodedBytes = 0
  /// Accounts for a body that does not arrive at once.
  var account: BodyAccount?
  var countedBytes = 0
  /// The error to send after the body has been discarded.
  var refusal: HTTPRefusal?
  var call: ServerCall?
  /// The task that serves a dialect's request.
  var task: Task<Void, Never>?
  /// The messages of a client-streaming call.
  var messages: RequestMessages?
  /// The body of a content upload.
  var upload: UploadBody?
  /// The progress of a content download.
  var content: ContentProgress?
  /// Whether the stream ends because its caller reads too slowly.
  var isUnread = false
  /// Whether messages were sent since the backend last received credit.
  var hasSent = false
  var lastWrite = NIODeadline.now()

  init(_ head: HTTPRequestHead, _ decision: HTTPDecision, policies: [(String, String)]) {
    self.head = head
    self.decision = decision
    self.policies = policies
    switch decision {
    case .call(let plan): (style, isBinary) = (plan.style, plan.binary != nil)
    case .refusal(let refusal):
      (style, isBinary) = (refusal.style, false)
      self.refusal = refusal
    default: (style, isBinary) = (.rest, false)
    }
  }

  var plan: HTTPPlan? { if case .call(let plan) = decision { plan } else { nil } }

  /// Whether the body is buffered.
  var takesBody: Bool {
    switch decision {
    case .call(let plan): plan.takesBody
    case .dialect(let plan): plan.takesBody
    default: false
    }
  }
}

/// A cached decision for further requests with the same head. Only unary Connect calls are cached, because their
/// decision does not depend on the length of the body.
struct RepeatableDecision {
  private enum Expected {
    case any
    case text(String)
    /// Compared in constant time: a proxy's connection carries many callers, and timing must not reveal a prefix of
    /// another caller's credential.
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
      case "authorization", "cookie", PresentedSession.metadataKey: (name, .secret(Array(value.utf8)))
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

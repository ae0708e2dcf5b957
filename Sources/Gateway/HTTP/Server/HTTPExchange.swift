import CampanileRPC
import NIOCore
import NIOHTTP1

/// One request from its head to the end of its answer.
struct HTTPExchange {
  let head: HTTPRequestHead
  let decision: HTTPDecision
  /// The headers that every answer to this request has.
  let crossOrigin: [(String, String)]
  var body = ByteBuffer()
  /// The failure that is answered once the body has passed by.
  var refusal: HTTPRefusal?
  var call: ServerCall?
  /// Answers a request in a dialect.
  var task: Task<Void, Never>?
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
    if case .refusal(let refusal) = decision { self.refusal = refusal }
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

  /// The form of errors of this request.
  var style: HTTPPlan.Style {
    switch decision {
    case .call(let plan): plan.style
    case .refusal(let refusal): refusal.style
    default: .rest
    }
  }
}

package import CampanileBase
import CampanileRPC

/// The HTTP status of an RPC error: google.rpc.Code's mapping, which the Connect protocol shares.
package enum HTTPStatusCode {
  static let clientClosedRequest = 499

  package static func of(_ code: RPCError.Code) -> Int {
    switch code {
    case .cancelled: clientClosedRequest
    case .invalidArgument, .failedPrecondition, .outOfRange: 400
    case .deadlineExceeded: 504
    case .notFound: 404
    case .alreadyExists, .aborted: 409
    case .permissionDenied: 403
    case .resourceExhausted: 429
    case .unimplemented: 501
    case .unavailable: 503
    case .unauthenticated: 401
    default: 500
    }
  }

  /// Returns the status for REST, where some reasons have their own status.
  package static func ofREST(_ error: RPCError, hasCondition: Bool) -> Int {
    switch error.reason {
    case "ETAG_MISMATCH" where hasCondition: 412
    case "LENGTH_REQUIRED": 411
    case "BODY_TOO_LARGE", "CONTENT_TOO_LARGE": 413
    case "CONTENT_TYPE_UNSUPPORTED", "CONTENT_ENCODING_UNSUPPORTED": 415
    case "ROUTE_UNKNOWN": 404
    case "METHOD_NOT_ALLOWED": 405
    case "NOT_ACCEPTABLE": 406
    case "REQUEST_TIMEOUT": 408
    default: of(error.code)
    }
  }

  /// Returns the status for the Connect protocol, which has two statuses for requests outside the protocol.
  static func ofConnect(_ error: RPCError) -> Int {
    switch error.reason {
    case "CONTENT_TYPE_UNSUPPORTED": 415
    case "METHOD_NOT_ALLOWED": 405
    default: of(error.code)
    }
  }
}

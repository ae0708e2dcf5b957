import CampanileBase
internal import CampanileJSON
internal import CampanileRPC

/// Maps responses of the Connect protocol to outcomes of unary calls.
enum ConnectStatus {
  /// Returns the outcome of a call.
  ///
  /// 200 is success. Otherwise, the status is the `code` of the error JSON, or else follows from the HTTP status
  /// according to the protocol's table.
  static func end(status: Int, body: [UInt8]) -> CallEnd {
    if status == 200 { return .ok }
    let error = try? JSONValue.parse(body)
    let name = error?["code"]?.text?.uppercased() ?? ""
    let code = (name == "CANCELED" ? .cancelled : RPCError.Code(name: name)) ?? code(of: status)
    let message = error?["message"]?.text ?? String(decoding: body.prefix(200), as: UTF8.self)
    return CallEnd(status: code.rawValue, message: "HTTP \(status): \(message)")
  }

  private static func code(of status: Int) -> RPCError.Code {
    switch status {
    case 400: .internalError
    case 401: .unauthenticated
    case 403: .permissionDenied
    case 404: .unimplemented
    case 429, 502, 503, 504: .unavailable
    default: .unknown
    }
  }
}

internal import CampanileJSON
internal import CampanileRPC

/// What an HTTP answer of the Connect protocol says about a unary call.
enum ConnectStatus {
  /// 200 is success; else the `code` of the error JSON, or, where there is none, what the protocol's table makes of the HTTP status.
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

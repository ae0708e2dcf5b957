import CampanileCodec
import CampanileRPC

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

/// Bodies, paths and queries of the apps are read or refused, and every value read is valid JSON.
let dialectTarget = FuzzTarget("dialect") { input in
  guard let kind = input.first else { return }
  let body = Array(input.dropFirst())
  switch kind % 3 {
  case 0:
    guard let fields = try? JSONFields(body) else { return }
    judge(fields)
    if let message = try? ZentikMessage(fields, nowMs: 1_700_000_000_000) {
      require(!message.bucket.isEmpty, "a message without a bucket: \(shown(body))")
      let text = message.notification.jsonUTF8Bytes()
      require(text.withUnsafeBytes { (try? RawJSON.checkObject($0)) != nil }, "not JSON: \(shown(text))")
    }
  case 1: if let fields = try? FirebaseDialect.data(body) { judge(fields) }
  default:
    let text = String(decoding: body, as: UTF8.self)
    let mark = text.firstIndex(of: "?") ?? text.endIndex
    if let segments = try? RequestPath.segments(of: text[..<mark]) {
      _ = KilwinningDialect.actions(segments.dropFirst())
      _ = ZentikDialect.actions(segments.compactMap { try? RequestPath.decoded($0) })
    }
    if let query = try? QueryText(text[mark...].dropFirst()), let read = try? KilwinningQuery(query) {
      require((0...9_999).contains(read.year), "the year \(read.year)")
    }
  }
}

private func judge(_ fields: JSONFields) {
  for name in fields.names {
    guard let raw = fields.raw(name) else { continue }
    require(raw.withUnsafeBytes { (try? RawJSON.checkValue($0)) != nil }, "not JSON: \(shown(raw))")
    _ = try? fields.string(name)
    _ = try? fields.integer(name)
    _ = try? fields.number(name)
    _ = try? fields.strings(name, max: 16)
  }
}

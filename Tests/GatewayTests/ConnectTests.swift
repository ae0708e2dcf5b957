import CampanileBase
import CampanileCodec
import CampanileRPC
import Foundation
import NIOCore
import Testing

@testable import Gateway
@testable import GatewayHTTP

@Suite struct ConnectTests {
  @Test func contentTypesAreParsed() {
    #expect(ConnectRequest.shape(contentType: "application/json") == .unary)
    #expect(ConnectRequest.shape(contentType: "Application/JSON; charset=UTF-8") == .unary)
    #expect(ConnectRequest.shape(contentType: "application/connect+json") == .stream)
    for type in [
      nil, "", "text/plain", "application/json; charset=latin1", "application/jsonp",
      "application/grpc",
    ] {
      #expect(ConnectRequest.shape(contentType: type) == nil)
    }
  }

  @Test func timeoutsAreParsed() throws {
    #expect(try ConnectRequest.timeoutMs(nil) == nil)
    #expect(try ConnectRequest.timeoutMs("9999999999") == 9_999_999_999)
    for text in ["", "-1", "1.5", "12345678901", "1s", " 1", "+1"] {
      #expect(throws: RPCError.self) { _ = try ConnectRequest.timeoutMs(text) }
    }
    try ConnectRequest.checkVersion("1")
    try ConnectRequest.checkVersion(nil)
    #expect(throws: RPCError.self) { try ConnectRequest.checkVersion("2") }
  }

  @Test func getMessagesAreParsed() throws {
    for text in [
      "encoding=json&message=%7B%7D", "encoding=json&base64=1&message=e30&connect=v1",
      "encoding=json&base64=1&compression=gzip&message=H4sIAAAAAAACA6uuBQBDv6ajAgAAAA",
    ] {
      let query = try QueryText(text[...])
      #expect(try !ConnectRequest.isBinary(query))
      #expect(try ConnectRequest.message(of: query, bytesMax: 2) == Array("{}".utf8))
    }
    for text in [
      "", "message=e30", "encoding=json", "encoding=xml&message=", "encoding=json&message=%7B%7D&compression=gzip",
      "encoding=json&base64=1&message=!!", "encoding=json&base64=2&message=e30",
      "connect=v2&encoding=json&message=%7B%7D", "encoding=json&base64=1&message=e30&compression=gzip",
      "encoding=json&base64=1&message=e30&compression=br",
      // 4,002 bytes, above the limit.
      "encoding=json&base64=1&compression=gzip&message=H4sIAAAAAAACA-3BQREAAAwCoCr29Oy-GPsACQAAAPCtO79USaCiDwAA",
    ] {
      let error = #expect(throws: RPCError.self) {
        let query = try QueryText(text[...])
        _ = try ConnectRequest.isBinary(query)
        _ = try ConnectRequest.message(of: query, bytesMax: 4_000)
      }
      #expect(error?.processed == false)
    }
  }

  /// `{}`, compressed with `printf '{}' | gzip -n`.
  static let gzipped: [UInt8] = [
    0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xAB, 0xAE, 0x05, 0, 0x43, 0xBF, 0xA6, 0xA3, 0x02, 0, 0, 0,
  ]

  static func single(_ body: [UInt8], isGzip: Bool = true) throws(RPCError) -> [UInt8] {
    let outcome = body.withUnsafeBytes { bytes -> Result<[UInt8], RPCError> in
      do throws(RPCError) {
        return .success(
          try ConnectEnvelope.withSingle(bytes, isGzip: isGzip, bytesMax: 1000) { .success([UInt8]($0)) })
      } catch { return .failure(error) }
    }
    return try outcome.get()
  }

  @Test func compressedEnvelopesAreParsed() throws {
    let envelope = [1, 0, 0, 0, UInt8(Self.gzipped.count)] + Self.gzipped
    #expect(try Self.single(envelope) == [0x7B, 0x7D])
    #expect(throws: RPCError.self) { _ = try Self.single(envelope, isGzip: false) }
    let bads: [[UInt8]] = [
      Array(Self.gzipped.dropLast()), Self.gzipped + [0], [0x1F], [], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    ]
    for bad in bads {
      let error = #expect(throws: RPCError.self) { _ = try Self.single([1, 0, 0, 0, UInt8(bad.count)] + bad) }
      #expect(error?.reason == "BODY_NOT_DECODED")
    }
  }

  @Test func envelopesAreReadAndWritten() throws {
    let good: [UInt8] = [0, 0, 0, 0, 2, 0x7B, 0x7D]
    #expect(try Self.single(good) == [0x7B, 0x7D])
    for bad: [UInt8] in [
      [], [0, 0, 0, 0], [0, 0, 0, 0, 3, 0x7B, 0x7D], [0, 0, 0, 0, 1, 0x7B, 0x7D],
      [2, 0, 0, 0, 2, 0x7B, 0x7D], [0, 0xFF, 0xFF, 0xFF, 0xFF, 0x7B], [0x80, 0, 0, 0, 0],
    ] {
      #expect(throws: RPCError.self) { _ = try Self.single(bad) }
    }
    var buffer = ByteBuffer()
    ConnectEnvelope.write(.init(start: nil, count: 0), to: &buffer)
    ConnectEnvelope.writeEnd(nil, to: &buffer)
    #expect(Array(buffer: buffer) == [0, 0, 0, 0, 2, 0x7B, 0x7D, 2, 0, 0, 0, 2, 0x7B, 0x7D])
  }

  @Test func statusesFollowTheProtocol() throws {
    let expected = [499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401]
    for (index, status) in expected.enumerated() {
      let code = try #require(RPCError.Code(rawValue: index + 1))
      #expect(HTTPStatusCode.of(code) == status)
    }
    #expect(HTTPStatusCode.ofREST(RPCError(.aborted, "", reason: "ETAG_MISMATCH"), hasCondition: true) == 412)
    #expect(HTTPStatusCode.ofREST(RPCError(.aborted, "", reason: "ETAG_MISMATCH"), hasCondition: false) == 409)
  }

  @Test func errorsHaveConnectAndRESTForms() throws {
    let error = RPCError(
      .notFound, "no \"n1\"", reason: "NOTIFICATION_NOT_FOUND", errorMetadata: ["id": "n1"],
      fieldViolations: [.init(field: "id", description: "d")], retryAfterMs: 1_050)
    var writer = JSONWriter()
    ErrorBody.connect(error, to: &writer)
    let text = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(
      text.hasPrefix(#"{"code":"not_found","message":"no \"n1\"","details":[{"type":"google.rpc.ErrorInfo","value":""#))
    #expect(!text.contains("="))
    // reason = 1, domain = 2, metadata = 3 with key = 1 and value = 2
    var expected: [UInt8] = [0x0A, 22]
    expected += Array("NOTIFICATION_NOT_FOUND".utf8)
    expected += [0x12, 9]
    expected += Array("campanile".utf8)
    expected += [0x1A, 8, 0x0A, 2]
    expected += Array("id".utf8)
    expected += [0x12, 2]
    expected += Array("n1".utf8)
    #expect(ErrorDetail.errorInfo(error).protobuf == expected)
    #expect(ErrorDetail.retryInfo(1_050).protobuf == [0x0A, 7, 0x08, 1, 0x10, 0x80, 0xE1, 0xEB, 0x17])
    #expect(text.contains(#""retryDelay":"1.050s""#))
    writer.removeAll()
    ErrorBody.rest(error, status: 404, to: &writer)
    let rest = writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    #expect(
      rest.hasPrefix(
        #"{"error":{"code":404,"message":"no \"n1\"","status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"NOTIFICATION_NOT_FOUND""#
      ))
    writer.removeAll()
    ErrorBody.connect(RPCError(.cancelled, ""), to: &writer)
    #expect(writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.hasPrefix(#"{"code":"canceled""#))
  }

  @Test func eventsAreWritten() {
    func event(_ json: String, _ token: String?) -> String {
      var buffer = ByteBuffer()
      Array(json.utf8).withUnsafeBytes { EventWriter.write($0, token: token, to: &buffer) }
      return String(buffer: buffer)
    }
    #expect(
      event(#"{"resumeToken":"t1","a":1}"#, "resumeToken") == "id: t1\ndata: {\"resumeToken\":\"t1\",\"a\":1}\n\n")
    #expect(event(#"{"a":1}"#, "resumeToken") == "data: {\"a\":1}\n\n")
    #expect(event("", nil) == "data: {}\n\n")
    // Neither a token nor JSON may break out of its line.
    #expect(event(#"{"resumeToken":"a\nevent: x"}"#, "resumeToken") == "data: {\"resumeToken\":\"a\\nevent: x\"}\n\n")
    #expect(event("{\n\"a\":\r1}", nil) == "data: { \"a\": 1}\n\n")
  }
}

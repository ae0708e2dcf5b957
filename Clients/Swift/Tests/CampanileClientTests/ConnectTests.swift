import Testing

@testable import CampanileClient
import CampanileNotifications

/// The formats of the Connect protocol.
struct ConnectTests {
  @Test(arguments: [1, 2, 5, 7, 1000])
  func envelopesAreSplitWhereverTheBytesAre(chunkBytes: Int) throws {
    var end = EnvelopeReader.envelope(Array("{}".utf8))
    end[0] = 2
    let bytes = EnvelopeReader.envelope(Array("one".utf8)) + EnvelopeReader.envelope([]) + end
    var reader = EnvelopeReader(messageBytesMax: 100)
    var found: [EnvelopeReader.Envelope] = []
    for start in stride(from: 0, to: bytes.count, by: chunkBytes) {
      reader.append(Array(bytes[start..<min(start + chunkBytes, bytes.count)]))
      while let envelope = try reader.next() { found.append(envelope) }
    }
    #expect(found == [.message(Array("one".utf8)), .message([]), .end(Array("{}".utf8))])
    #expect(!reader.isIncomplete)
  }

  @Test func longMessageIsRefusedByItsHead() {
    var reader = EnvelopeReader(messageBytesMax: 10)
    reader.append([0, 0, 0, 0, 11])
    #expect(throws: RPCError.self) { try reader.next() }
    reader = EnvelopeReader(messageBytesMax: 10)
    reader.append([1, 0, 0, 0, 0])
    #expect(throws: RPCError.self) { try reader.next() }
  }

  @Test func errorHasReasonViolationsAndDelay() {
    let body = #"""
      {"code":"invalid_argument","message":"bad","details":[
        {"type":"google.rpc.ErrorInfo","value":"AA","debug":{"reason":"R_1","domain":"campanile","metadata":{"id":"n1"}}},
        {"type":"google.rpc.BadRequest","value":"AA","debug":{"fieldViolations":[
          {"field":"a.b","description":"too long","reason":"LONG"},{"field":"c","description":"d"}]}},
        {"type":"google.rpc.RetryInfo","value":"AA","debug":{"retryDelay":"1.250s"}},
        {"type":"other","value":"AA","debug":{"unknown":[1,{"x":null}]}}],"new":{}}
      """#
    let error = ConnectError.error(HTTPHead(status: 400, headers: ["Retry-After": "9"]), Array(body.utf8))
    #expect(
      error
        == RPCError(
          .invalidArgument, "bad", reason: "R_1", errorMetadata: ["id": "n1"],
          fieldViolations: [
            .init(field: "a.b", description: "too long", reason: "LONG"), .init(field: "c", description: "d"),
          ], retryAfterMs: 1_250))
  }

  @Test func errorInRESTFormIsRead() {
    let body =
      #"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"t","reason":"R"}]}}"#
    let error = ConnectError.error(HTTPHead(status: 429, headers: ["retry-after": "2"]), Array(body.utf8))
    #expect(error == RPCError(.resourceExhausted, "m", reason: "R", retryAfterMs: 2_000))
  }

  @Test(arguments: ["", "<html>", "[]", #"{"code":7}"#, #"{"code":"no_such_code"}"#, #"{"details":3}"#, "{\"code\":"])
  func otherBodiesLeaveTheStatus(body: String) {
    #expect(ConnectError.error(HTTPHead(status: 503, headers: [:]), Array(body.utf8)).code == .unavailable)
    #expect(ConnectError.error(HTTPHead(status: 404, headers: [:]), Array(body.utf8)).code == .unimplemented)
    #expect(ConnectError.error(HTTPHead(status: 200, headers: [:]), Array(body.utf8)).code == .unknown)
  }

  @Test func cancelledIsSpelledWithOneL() {
    let error = ConnectError.error(HTTPHead(status: 499, headers: [:]), Array(#"{"code":"canceled"}"#.utf8))
    #expect(error.code == .cancelled)
  }

  @Test func endOfStreamMayHaveAnError() throws {
    #expect(try ConnectError.streamError(Array("{}".utf8)) == nil)
    #expect(try ConnectError.streamError(Array(#"{"metadata":{"a":["b"]}}"#.utf8)) == nil)
    let error = try ConnectError.streamError(Array(#"{"error":{"code":"out_of_range","message":"m"}}"#.utf8))
    #expect(error?.code == .outOfRange)
    #expect(throws: RPCError.self) { try ConnectError.streamError(Array("x".utf8)) }
  }

  @Test func requestIDsAreFoundAndAdded() {
    #expect(RequestIdentity.isSupported(by: CreateNotificationRequest.self))
    #expect(!RequestIdentity.isSupported(by: ListBucketsRequest.self))
    let request = CreateNotificationRequest(notification: .init(title: "requestId"))
    let added = RequestIdentity.adding("a\"b", to: request.jsonUTF8Bytes())
    #expect(RequestIdentity.id(in: added) == "a\"b")
    let decoded = try? CreateNotificationRequest(jsonUTF8: added)
    #expect(decoded?.requestId == "a\"b" && decoded?.notification == request.notification)
    #expect(RequestIdentity.id(in: RequestIdentity.adding("x", to: Array("{}".utf8))) == "x")
    #expect(RequestIdentity.id(in: request.jsonUTF8Bytes()) == "")
    #expect(RequestIdentity.id(in: Array("[".utf8)) == "")
  }
}

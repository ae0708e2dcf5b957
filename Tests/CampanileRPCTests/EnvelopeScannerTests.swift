import Testing

@testable import CampanileRPC

@Suite struct EnvelopeScannerTests {
  private func scan(_ text: String) throws(EnvelopeFault) -> Envelope {
    try scan(Array(text.utf8))
  }

  private func scan(_ bytes: [UInt8]) throws(EnvelopeFault) -> Envelope {
    let result: Result<Envelope, EnvelopeFault> = bytes.withUnsafeBytes { buffer in
      do throws(EnvelopeFault) { return .success(try EnvelopeScanner.scan(buffer)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func fault(_ text: String) -> EnvelopeFault? {
    do throws(EnvelopeFault) {
      _ = try scan(text)
      return nil
    } catch { return error }
  }

  @Test func findsEveryMember() throws {
    let text =
      #" {"jsonrpc":"2.0", "id" : 7,"method":"a.B/C","params":{"x":[1,{}]},"timeoutMs":250,"metadata":{"k":"v"}} "#
    let envelope = try scan(text)
    let bytes = Array(text.utf8)
    #expect(envelope.callID == .number(7))
    #expect(String(decoding: bytes[envelope.method], as: UTF8.self) == "a.B/C")
    #expect(envelope.params.map { String(decoding: bytes[$0], as: UTF8.self) } == #"{"x":[1,{}]}"#)
    #expect(envelope.timeoutMs == 250)
    #expect(envelope.metadata.map { String(decoding: bytes[$0], as: UTF8.self) } == #"{"k":"v"}"#)
  }

  @Test(arguments: [
    #"{"jsonrpc":"2.0","id":"ü\u0041","method":"m"}"#, #"{"jsonrpc":"2.0","method":"m","extra":{"method":1}}"#,
    #"{"id":0,"jsonrpc":"\u0032.0","method":"m"}"#.replacing("\\u0032", with: "2"),
    #"{"jsonrpc":"2.0","id":1,"result":null}"#,
    #"{"jsonrpc":"2.0","id":null,"error":{}}"#,
    "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"k\":\"\u{10FFFF}€é\"}}",
  ])
  func accepts(_ text: String) throws { _ = try scan(text) }

  @Test(arguments: [
    "", " ", "{", "{}x", #"{"jsonrpc":"2.0","method":"m"}}"#, #"{"jsonrpc":"2.0","method":"m",}"#,
    #"{"jsonrpc":"2.0" "method":"m"}"#,
    #"{"jsonrpc":"2.0","method":"m","params":{"a":01}}"#, #"{"jsonrpc":"2.0","method":"m","params":{"a":1.}}"#,
    #"{"jsonrpc":"2.0","method":"m","params":{"a":-}}"#, #"{"jsonrpc":"2.0","method":"m","params":{"a":tru}}"#,
    #"{"jsonrpc":"2.0","method":"m","params":{"a":"\x"}}"#, #"{"jsonrpc":"2.0","method":"m","params":{"a":"\u12"}}"#,
    "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"a\":\"\u{1}\"}}",
    #"{"jsonrpc":"2.0","method":"m","params":{"a":[}]}"#,
    #"{'jsonrpc':"2.0"}"#, #"{"jsonrpc":"2.0","method":"m","params":{"a":1e}}"#,
    #"{"jsonrpc":"2.0","method":"m","params":{"a":NaN}}"#,
  ])
  func rejectsInvalidJSON(_ text: String) { #expect(fault(text)?.kind == .notJSON) }

  @Test(arguments: [
    #"{}"#, "[]", "7", #"{"method":"m"}"#, #"{"jsonrpc":"1.0","method":"m"}"#, #"{"jsonrpc":"2.0"}"#,
    #"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, #"{"jsonrpc":"2.0","id":-1,"method":"m"}"#,
    #"{"jsonrpc":"2.0","id":9007199254740992,"method":"m"}"#, #"{"jsonrpc":"2.0","id":null,"method":"m"}"#,
    #"{"jsonrpc":"2.0","id":true,"method":"m"}"#, #"{"jsonrpc":"2.0","method":1}"#,
    #"{"jsonrpc":"2.0","method":"m","params":[]}"#,
    #"{"jsonrpc":"2.0","method":"m","timeoutMs":"1"}"#, #"{"jsonrpc":"2.0","method":"m","timeoutMs":1e3}"#,
    #"{"jsonrpc":"2.0","method":"m","metadata":null}"#, #"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
    #"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
  ])
  func rejectsInvalidEnvelopes(_ text: String) { #expect(fault(text)?.kind == .invalid) }

  @Test(arguments: [
    #"{"jsonrpc":"2.0","method":"a","method":"b"}"#, #"{"jsonrpc":"2.0","method":"a","\u006dethod":"b"}"#,
    #"{"jsonrpc":"2.0","id":1,"method":"a","i\u0064":2}"#, #"{"jsonrpc":"2.0","jsonrpc":"2.0","method":"a"}"#,
    #"{"jsonrpc":"2.0","method":"a","params":{},"\u0070\u0061\u0072\u0061\u006d\u0073":{}}"#,
  ])
  func rejectsRepeatedMembers(_ text: String) {
    let fault = fault(text)
    #expect(fault?.kind == .invalid)
    #expect(fault?.message.contains("occurs twice") == true)
  }

  @Test(
    arguments: [
      [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
      [0x80], [0xFF],
      [0xE2, 0x82], [0xC3],
    ] as [[UInt8]])
  func rejectsInvalidUTF8(_ bad: [UInt8]) {
    let bytes = Array(#"{"jsonrpc":"2.0","method":"m","params":{"a":""#.utf8) + bad + Array(#""}}"#.utf8)
    #expect(throws: EnvelopeFault.self) { try scan(bytes) }
  }

  @Test func rejectsDeepNestingWithoutRecursion() throws {
    func nested(_ depth: Int) -> String {
      let open = String(repeating: "[", count: depth)
      let close = String(repeating: "]", count: depth)
      return #"{"jsonrpc":"2.0","method":"m","params":{"a":"# + open + close + "}}"
    }
    _ = try scan(nested(62))
    #expect(fault(nested(63))?.kind == .invalid)
    #expect(fault(nested(1_000_000))?.kind == .invalid)
  }

  @Test func reportsIDOfInvalidRequest() {
    #expect(fault(#"{"jsonrpc":"2.0","id":9,"params":{}}"#)?.id == .number(9))
  }

  @Test func splitsBatches() throws {
    let text = #"[ {"a":1} , 2,[3] ]"#
    let entries = try Array(text.utf8).withUnsafeBytes { try EnvelopeScanner.batchEntries($0, countMax: 3) }
    #expect(entries.map { String(decoding: Array(text.utf8)[$0], as: UTF8.self) } == [#"{"a":1}"#, "2", "[3]"])
    for bad in ["[]", "[1,]", "[1 2]", "[1", "[1,2,3,4]", "[1]x"] {
      #expect(throws: EnvelopeFault.self) {
        try Array(bad.utf8).withUnsafeBytes { try EnvelopeScanner.batchEntries($0, countMax: 3) }
      }
    }
  }

  /// Truncating a valid frame anywhere, or flipping one of its bits, must never trap.
  @Test func neverTrapsOnTruncatedOrModifiedFrames() {
    let frame = Array(
      #"{"jsonrpc":"2.0","id":"é","method":"m","params":{"a":[1.5e-3,"\ud83d\ude00"]},"metadata":{"k":["a"]}}"#.utf8)
    for count in 0..<frame.count { #expect(throws: EnvelopeFault.self) { try scan(Array(frame[..<count])) } }
    for index in frame.indices {
      for bit in 0..<8 {
        var changed = frame
        changed[index] ^= 1 << bit
        _ = try? scan(changed)
      }
    }
  }
}

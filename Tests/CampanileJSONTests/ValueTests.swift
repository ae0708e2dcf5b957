import CampanileJSON
import Testing

@Suite struct ValueTests {
  @Test("numbers, strings, order and duplicates are written as they were read")
  func roundTrip() throws {
    let text = #"{"b":[1.50,-0,1e+2,"a\u0062\/","é"],"a":{"x":1,"x":2},"":[],"n":null,"t":true,"f":false}"#
    #expect(String(decoding: try JSONValue.parse(text).serialised(), as: UTF8.self) == text)
    #expect(String(decoding: try JSONValue.parse(" [ 1 ,\n{ } ] ").serialised(), as: UTF8.self) == "[1,{}]")
  }

  @Test("equality of values (RFC 6902, section 4.6)")
  func equality() throws {
    let equal: [(String, String)] = [
      ("1", "1.0"), ("10e-1", "1"), ("0", "-0.0e5"), ("1E400", "10e399"),
      ("123456789012345678901234567890", "1.2345678901234567890123456789e29"),
      (#""a\u0062""#, #""ab""#), (#""\/""#, #""/""#), (#""\ud83d\ude80""#, "\"🚀\""),
      (#"{"a":1,"b":2}"#, #"{"b":2,"a":1.0}"#),
      ("[]", "[ ]"), (#"{"\u0061":1}"#, #"{"a":1}"#), (#"{"a":1,"b":0,"a":2}"#, #"{"b":0,"a":1,"a":2}"#),
      (#""\ud800""#, #""\uD800""#),
    ]
    let different: [(String, String)] = [
      ("1", "2"), ("1", "\"1\""), ("1", "true"), ("0", "false"), ("null", "false"), ("[]", "{}"), ("[1,2]", "[2,1]"),
      ("[1]", "[1,1]"),
      (#"{"a":1}"#, #"{"a":1,"b":2}"#), (#"{"a":1}"#, #"{"b":1}"#), (#""é""#, #""e\u0301""#),
      (#""\ud800""#, #""\udc00""#),
      (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#), (#""a""#, #""A""#), ("1e99999999999999999", "1e99999999999999998"),
      ("-1", "1"),
    ]
    for (left, right) in equal {
      let (left, right) = (try JSONValue.parse(left), try JSONValue.parse(right))
      #expect(left == right)
      #expect(left.hashValue == right.hashValue)
    }
    for (left, right) in different { #expect(try JSONValue.parse(left) != JSONValue.parse(right), "\(left) \(right)") }
  }

  @Test func membersAreReadWithTheirTypes() throws {
    let value = try JSONValue.parse(#"{"a":"x\ny","n":-12,"d":1.5,"l":[1],"dup":1,"dup":2,"big":1e400}"#)
    #expect(value["a"]?.text == "x\ny")
    #expect(value["l"]?.elements?.count == 1)
    #expect(value["dup"] == .number(2))
    #expect(value["none"] == nil)
    #expect(value["a"]?["b"] == nil)
    guard case .number(let number)? = value["n"], case .number(let fraction)? = value["d"] else {
      Issue.record("must be numbers")
      return
    }
    #expect(number.int == -12)
    #expect(fraction.int == nil)
    #expect(fraction.double == 1.5)
  }

  @Test("strings created in code are escaped where necessary")
  func escaping() throws {
    let text = (0..<0x300).compactMap(UnicodeScalar.init).map(String.init).joined() + "🚀"
    let written = JSONValue.string(text).serialised()
    #expect(try JSONValue.parse(written).text == text)
    #expect(String(decoding: JSONValue.string("\u{1}\n\"\\/").serialised(), as: UTF8.self) == #""\u0001\n\"\\/""#)
  }

  @Test func limits() throws {
    #expect(throws: JSONSyntaxError.self) { try JSONValue.parse("[[1]]", limits: .init(depthMax: 1)) }
    #expect(throws: JSONSyntaxError.self) { try JSONValue.parse("[1]", limits: .init(sizeBytesMax: 2)) }
    #expect(throws: JSONSyntaxError.self) { try JSONValue.parse("") }
    #expect(JSONLimits(depthMax: .max).depthMax == JSONLimits.depthCeiling)
    let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    let value = try JSONValue.parse(deep)
    #expect(try value == JSONValue.parse(deep))
    #expect(String(decoding: value.serialised(), as: UTF8.self) == deep)
  }

  @Test("the time to compare objects in another order grows with their size, not with 2^depth")
  func deepEquality() throws {
    let depth = JSONLimits.depthCeiling
    func text(_ rest: String) -> String {
      String(repeating: "{\"a\":", count: depth) + "0" + String(repeating: ",\(rest)}", count: depth)
    }
    let limits = JSONLimits(depthMax: depth)
    let left = try JSONValue.parse(text(#""b":1,"c":2"#), limits: limits)
    let right = try JSONValue.parse(text(#""c":2,"b":1"#), limits: limits)
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect(JSONPatch.diff(from: left, to: right).operations.isEmpty)
    let other = try JSONValue.parse(text(#""c":2,"b":3"#), limits: limits)
    #expect(left != other)
    #expect(try JSONPatch.diff(from: left, to: other).apply(to: left, limits: .init(depthMax: depth)) == other)
    #expect(JSONMergePatch.diff(from: left, to: other)?.apply(to: left) == other)
  }
}

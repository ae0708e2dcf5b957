import CampanileJSON
import Testing

/// RFC 8259, section by section.
@Suite struct GrammarTests {
  @Test("section 2: six structural characters, three literals, white space around them")
  func grammar() throws {
    for text in [
      " [ 1 , 2 ] ", "\t{\n\"a\"\r:\t1 }\r\n", "[]", "{}", "true", " null\n", "[[[]]]", #"{"a":{"b":[{}]}}"#,
    ] {
      #expect(try validate(text).isValid, "\(text)")
    }
    for text in [
      "", " ", "[", "]", "{", "}", ",", ":", "[,]", "[1,]", "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
    ] {
      #expect(try !validate(text).isValid, "\(text)")
    }
    // No other character is white space.
    for blank in ["\u{B}", "\u{C}", "\u{A0}", "\u{2028}", "\u{FEFF}", "\0"] {
      #expect(try !validate(blank + "1").isValid)
      #expect(try !validate("[1\(blank)]").isValid)
    }
  }

  @Test("section 3: the three literals, in lower case")
  func literals() throws {
    for text in ["true", "false", "null"] {
      #expect(try validate(text).isValid)
      for wrong in [text.uppercased(), String(text.dropLast()), text + "e", "n" + text, "T" + text.dropFirst()] {
        #expect(try !validate(wrong).isValid, "\(wrong)")
        #expect(try !validate("[\(wrong)]").isValid, "\(wrong)")
      }
    }
    #expect(try validate("[trie]").error?.message == "expected the literal true at byte 3, found 'i'")
  }

  @Test("section 4: names are strings, and duplicates are valid")
  func objects() throws {
    #expect(try validate(#"{"":0,"a":{"a":1}}"#).isValid)
    for text in ["{1:1}", "{a:1}", "{'a':1}", #"{"a":1 "b":2}"#, #"{"a"::1}"#, #"{"a",1}"#, #"{null:1}"#, "{[]:1}"] {
      #expect(try !validate(text).isValid, "\(text)")
    }
    #expect(try validate(#"{"a":1,"a":2}"#).isValid)
  }

  @Test("section 5: values of any types, in order, separated by commas")
  func arrays() throws {
    #expect(try validate(#"[1,"a",null,true,[],{}]"#).isValid)
    for text in ["[1,,2]", "[,1]", "[1;2]", "[1}", "[1", "1]", "[1]]", "[1:2]"] {
      #expect(try !validate(text).isValid, "\(text)")
    }
  }

  @Test("section 6: minus, integer, fraction, exponent; any range and precision")
  func numbers() throws {
    let valid = [
      "0", "-0", "1", "-1", "10", "0.0", "0.10", "-1.5", "1e1", "1E1", "1e+1", "1e-1", "0e0", "1.5e10", "1e400",
      "-0.0e-0",
      String(repeating: "9", count: 500), "0." + String(repeating: "1", count: 200),
    ]
    let invalid = [
      "-", "+1", "01", "-01", "00", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1e-", "1e1.5", "0x10", "1_000", "1,5",
      "--1",
      "1-1", "NaN", "-Infinity", "Infinity", "1e1e1", "1a", "0-", "１",
    ]
    for text in valid {
      #expect(try validate(text).isValid, "\(text)")
      #expect(try validate("[\(text),\(text)]").isValid, "\(text)")
    }
    for text in invalid {
      #expect(try !validate("[\(text)]").isValid || text == "1,5", "\(text)")
      #expect(try !validate(text).isValid, "\(text)")
    }
  }

  @Test("section 7: characters that must be escaped, and the escapes")
  func strings() throws {
    for byte in UInt8(0)..<0x20 { #expect(try validate([0x22, byte, 0x22]).error?.code == .controlCharacter) }
    for byte in UInt8(0x20)..<0x80 where byte != 0x22 && byte != 0x5C {
      #expect(try validate([0x22, byte, 0x22]).isValid)
    }
    let letters = Set("\"\\/bfnrt".utf8)
    for byte in UInt8(0)...255 where byte != UInt8(ascii: "u") {
      let verdict = try validate([0x22, 0x5C, byte, 0x22])
      #expect(verdict.isValid == (letters.contains(byte) && byte != 0x22) || byte == 0x22, "\(byte)")
    }
    #expect(try !validate(#""\""#).isValid)
    for text in [#""\u0000""#, #""\uaBcD""#, #""\\u12""#, #""\"""#] { #expect(try validate(text).isValid, "\(text)") }
    for text in [#""\u""#, #""\u1""#, #""\u123""#, #""\u123g""#, #""\U1234""#, #""\u 123""#, #""\x41""#, #""abc"#] {
      #expect(try !validate(text).isValid, "\(text)")
    }
  }

  @Test("section 8.1: UTF-8 without a byte order mark")
  func encoding() throws {
    for scalar in ["\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}"] {
      #expect(try validate("\"\(scalar)\"").isValid)
      #expect(try validate("[1,\"" + String(repeating: scalar, count: 50) + "\"]").isValid)
    }
    let malformed: [[UInt8]] = [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x20], [0xC2, 0xC2], [0xE0, 0x80, 0x80],
      [0xE0, 0x9F, 0xBF],
      [0xE1, 0x80], [0xE1, 0x80, 0xC0], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xF1, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
      [0xF8, 0x88, 0x80, 0x80, 0x80],
    ]
    for bytes in malformed {
      for pad in [0, 1, 30, 57, 58, 59, 60, 61, 62, 63, 64, 65] {
        let text = [0x22] + [UInt8](repeating: 0x61, count: pad) + bytes + [0x22] + [UInt8](repeating: 0x20, count: 80)
        #expect(try validate(text).error?.code == .invalidUTF8, "\(bytes) behind \(pad)")
      }
    }
    #expect(try validate([0xEF, 0xBB, 0xBF, 0x31]).error?.byteOffset == 0)
    #expect(try validate([0xFF, 0xFE, 0x31, 0]).isValid == false)
  }

  @Test("section 8.2: a lone surrogate is valid unless the limits reject it")
  func surrogates() throws {
    let strict = JSONLimits(loneSurrogates: .reject)
    for text in [#""\uD83D\uDE80""#, #""\ud800\udc00\uDBFF\uDFFF""#, #""\uD7FF\uE000""#] {
      for pad in 0..<70 {
        let padded =
          "[\"" + String(repeating: "x", count: pad) + "\"," + text + ",\"" + String(repeating: "y", count: 70) + "\"]"
        #expect(try validate(padded, limits: strict).isValid, "\(padded)")
        #expect(try validate(padded).isValid)
      }
    }
    for text in [
      #""\uD83D""#, #""\uDE80""#, #""\uD83Dx""#, #""\uD83D\n""#, #""\uD83D\uD83D\uDE80""#, #""\uDE80\uD83D""#,
    ] {
      for pad in 0..<70 {
        let padded =
          "[\"" + String(repeating: "x", count: pad) + "\"," + text + ",\"" + String(repeating: "y", count: 70) + "\"]"
        #expect(try validate(padded, limits: strict).error?.code == .loneSurrogate, "\(padded)")
        #expect(try validate(padded).isValid)
      }
    }
  }

  @Test("section 9: limits of depth and size")
  func limits() throws {
    for depth in [1, 63, 64, 65, 127, 128, 129, 511, 512] {
      let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      guard case .valid(let summary) = try validate(text) else {
        Issue.record("\(depth)")
        continue
      }
      #expect(summary.depth == depth)
      #expect(try validate(text, limits: .init(depthMax: depth - 1)).error?.code == .depthExceeded)
      let objects =
        String(repeating: #"{"a":[{"b":"#, count: depth / 3) + "1" + String(repeating: "}]}", count: depth / 3)
      #expect(try validate(objects).isValid)
    }
    let deep = String(repeating: "[", count: 513) + String(repeating: "]", count: 513)
    let error = try #require(try validate(deep).error)
    #expect(error.code == .depthExceeded)
    #expect(error.byteOffset == 512)
    #expect(try validate("[1,2]", limits: .init(sizeBytesMax: 5)).isValid)
    let tooLong = try #require(try validate("[1,2] ", chunks: [2, 2, 1], limits: .init(sizeBytesMax: 5)).error)
    #expect(tooLong.code == .sizeExceeded)
    #expect(tooLong.byteOffset == 5)
    #expect(try validate("1", limits: .init(depthMax: 0)).isValid)
  }

  @Test("errors state the position, what was expected and what was found")
  func messages() throws {
    let table: [(String, String)] = [
      ("[1 2]", "expected ',' or ']' at byte 3, found '2'"), ("{\"a\" 1}", "expected ':' at byte 5, found '1'"),
      ("{\"a\":1 \"b\"}", "expected ',' or '}' at byte 7, found '\"'"),
      ("{1", "expected a name in quotes or '}' at byte 1, found '1'"),
      ("{\"a\":1,}", "expected a name in quotes at byte 7, found '}'"),
      ("[1,]", "expected a value at byte 3, found ']'"),
      ("[", "expected a value or ']' at byte 1, found the end of the text"),
      ("1 x", "expected the end of the text at byte 2, found 'x'"),
      ("[01]", "expected no digit after a leading zero at byte 2, found '1'"),
      ("-x", "expected a digit at byte 1, found 'x'"),
      ("\"\u{1}\"", "expected a character that needs no escape at byte 1, found byte 0x01"),
      ("\"\\q\"", "expected one of \"\\/bfnrtu at byte 2, found 'q'"),
      ("\"ab", "expected the end of a string at byte 3, found the end of the text"),
      ("tru", "expected the literal true at byte 3, found the end of the text"),
      ("1.", "expected a digit at byte 2, found the end of the text"),
    ]
    for (text, message) in table { #expect(try validate(text).error?.message == message) }
    #expect(try validate("1 x").error?.code == .trailingBytes)
    #expect(try validate("[1").error?.code == .unexpectedEnd)
  }

  @Test("after an error, every call throws it again")
  func sticky() throws {
    var validator = JSONValidator()
    var first: JSONSyntaxError?
    do { try Array("[}".utf8).withUnsafeBytes { try validator.update($0) } } catch { first = error as? JSONSyntaxError }
    let error = try #require(first)
    #expect(error.byteOffset == 1)
    #expect(throws: error) { try Array("]".utf8).withUnsafeBytes { try validator.update($0) } }
    #expect(throws: error) { try validator.finish() }
    var restored = try JSONValidator(state: validator.state)
    #expect(throws: error) { try restored.finish() }
  }
}

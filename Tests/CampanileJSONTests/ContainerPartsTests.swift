import Testing

@testable import CampanileJSON

/// The parts of the container check, compared with straightforward implementations.
@Suite struct ContainerPartsTests {
  @Test func plainDatesAreDates() {
    var random = Random(31)
    var plain = 0
    func check(_ text: [UInt8]) {
      let isPlain = text.withUnsafeBytes { PlainDate.isOne($0) }
      if isPlain { plain += 1 }
      // The quick check may miss dates, but accepts nothing else.
      if isPlain { #expect(RecordTime(text) != nil, "\(String(decoding: text, as: UTF8.self))") }
    }
    for text in [
      "2025-11-08T10:00:00Z", "2025-11-08T10:00:00.123Z", "0001-01-01T00:00:00Z", "9999-12-28T23:59:59.999Z",
    ] {
      let bytes = Array(text.utf8)
      #expect(bytes.withUnsafeBytes { PlainDate.isOne($0) }, "\(text)")
      check(bytes)
      for index in bytes.indices {
        for byte in UInt8.min...UInt8.max {
          var changed = bytes
          changed[index] = byte
          check(changed)
        }
      }
      for _ in 0..<20_000 {
        var changed = bytes
        for _ in 0..<(1 + random.below(4)) {
          changed[random.below(changed.count)] = UInt8(ascii: "0") + UInt8(random.below(10))
        }
        check(changed)
      }
    }
    #expect(plain > 1_000)
    for text in [
      "0000-01-01T00:00:00Z", "2025-00-08T10:00:00Z", "2025-13-08T10:00:00Z", "2025-11-00T10:00:00Z",
      "2025-11-08T24:00:00Z", "2025-11-08T10:60:00Z", "2025-11-08T10:00:60Z", "2025-11-08 10:00:00Z",
      "2025-11-08T10:00:00+", "2025-11-08T10:00:00,123Z", "2025-02-30T10:00:00Z", "", "2025-11-08T10:00:00",
    ] {
      #expect(!Array(text.utf8).withUnsafeBytes { PlainDate.isOne($0) }, "\(text)")
    }
  }

  @Test func shortNamesDoNotDependOnTheirPieces() {
    var random = Random(32)
    for count in 0...24 {
      for _ in 0..<50 {
        let bytes = (0..<count).map { _ in UInt8(random.below(256)) }
        let whole = bytes.withUnsafeBytes { ShortName($0) }
        var pieces = ShortName()
        for byte in bytes { pieces.append(byte) }
        #expect(whole == pieces)
        let cut = random.below(count + 1)
        var two = ShortName()
        bytes[..<cut].withUnsafeBytes { two.append($0) }
        bytes[cut...].withUnsafeBytes { two.append($0) }
        #expect(whole == two)
      }
    }
  }

  @Test func idSetBehavesLikeASet() {
    var random = Random(33)
    var set = IDSet()
    var other: Set<UInt64> = []
    for step in 0..<20_000 {
      // These include zero, close neighbours and hashes with the same low bits.
      let hash =
        switch step % 4 {
        case 0: UInt64(random.below(64))
        case 1: UInt64(random.below(1_000)) << 40
        default: UInt64(random.below(1 << 30)) &* 0x9E37_79B9_7F4A_7C15
        }
      #expect(set.insert(hash) == other.insert(hash).inserted)
    }
    #expect(Set(set.hashes) == other)
    #expect(set.hashes.count == other.count)
    #expect(IDSet(set.hashes) == set)
  }

  @Test("records may have members in any order and unknown ones, but no required member may be missing")
  func membersInAnyOrder() throws {
    var random = Random(34)
    let members = [
      #""name":"N""#, #""createdAt":"2025-11-08T10:00:00Z""#, #""updatedAt":"2025-11-08T11:00:00+01:00""#,
      #""color":"red""#, #""isOrphan":false"#, #""unknown member of some length":[1,{"id":2}]"#, #""x":null"#,
      #""d\u0065scription":"\"D\"""#, #""iconUrl":null"#,
    ]
    for _ in 0..<300 {
      var records: [String] = []
      var isRight = true
      for number in 0..<8 {
        var kept = members + [#""id":"b\#(number)""#]
        for index in kept.indices.reversed() where random.chance(2) {
          if kept[index].hasPrefix(#""name"#) || kept[index].hasPrefix(#""id"#) || kept[index].contains("At\"") {
            isRight = false
          }
          kept.remove(at: index)
        }
        for index in kept.indices { kept.swapAt(index, random.below(kept.count)) }
        records.append("{" + kept.joined(separator: ",") + "}")
      }
      let text = ContainerTests.buckets(records)
      let result = Result { () throws(ContainerError) in
        try Self.check(Array(text.utf8))
      }
      switch result {
      case .success(let summary):
        #expect(isRight)
        #expect(summary.recordCount == 8)
      case .failure(let error):
        #expect(!isRight, "\(error)")
        #expect(error.code == .missingMember)
      }
    }
  }

  private static func check(_ bytes: [UInt8]) throws(ContainerError) -> ContainerCheck.Summary {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(ContainerError) in try ContainerCheck.check(bytes, as: .buckets) }
    }
    return try result.get()
  }
}

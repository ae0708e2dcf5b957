import ArgumentParser
import CampanileAPI
import CampanileCodec
import Foundation
import SwiftProtobuf

/// Measures the generated codec on one realistic notification and compares it with swift-protobuf's JSON and binary
/// formats.
///
/// Times are CPU times of the thread, so that other load on the machine has little influence.
@main
struct CodecBench: ParsableCommand {
  @Option(help: "Also write the rows to this file, as a JSON array.")
  var json: String?
  @Flag(help: "Run briefly, only to check that everything works.")
  var quick = false

  func run() throws {
    let message = Sample.notification
    let json = message.jsonUTF8Bytes()
    let theirs = try Campanile_Notifications_V1_Notification(jsonUTF8Bytes: json)
    let binary: [UInt8] = try theirs.serializedBytes()
    guard try CampanileAPI.Notification(jsonUTF8: theirs.jsonUTF8Bytes() as [UInt8]) == message else {
      throw ValidationError("the two codecs disagree about the sample")
    }
    print("one notification of \(json.count) bytes of JSON, \(binary.count) bytes of protobuf")

    let decode = try measure {
      try json.withUnsafeBytes { bytes in _ = try CampanileAPI.Notification(jsonUTF8: bytes) }
    }
    var writer = JSONWriter(capacity: 4096)
    let encode = try measure {
      writer.removeAll()
      message.encode(to: &writer)
    }
    let theirDecode = try measure { _ = try Campanile_Notifications_V1_Notification(jsonUTF8Bytes: json) }
    let theirEncode = try measure { _ = try theirs.jsonUTF8Bytes() as [UInt8] }
    let binaryDecode = try measure { _ = try Campanile_Notifications_V1_Notification(serializedBytes: binary) }
    let binaryEncode = try measure { _ = try theirs.serializedBytes() as [UInt8] }

    let table = [
      BenchRow("decode \(json.count) bytes", decode, target: 1.5),
      BenchRow("encode \(json.count) bytes", encode, target: 1.2),
      BenchRow("decode against swift-protobuf JSON", decode, baseline: theirDecode, target: 5),
      BenchRow("encode against swift-protobuf JSON", encode, baseline: theirEncode, target: 5),
      BenchRow("decode against swift-protobuf binary", decode, baseline: binaryDecode),
      BenchRow("encode against swift-protobuf binary", encode, baseline: binaryEncode),
    ]
    print(BenchRow.table(table))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if let path = self.json { try encoder.encode(table).write(to: URL(fileURLWithPath: path)) }
  }

  /// Returns the CPU microseconds per call: the median of seven runs after a warm-up.
  private func measure(_ body: () throws -> Void) throws -> Double {
    let calls = quick ? 500 : 100_000
    var times: [Double] = []
    for round in 0..<8 {
      let start = Self.threadSeconds()
      for _ in 0..<calls { try body() }
      if round > 0 { times.append((Self.threadSeconds() - start) / Double(calls) * 1e6) }
    }
    return times.sorted()[times.count / 2]
  }

  private static func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// A row of the table. `ratio` is the speed of the codec relative to the baseline.
struct BenchRow: Encodable {
  var name: String
  var value: Double
  var unit = "us"
  var baseline: Double?
  var ratio: Double?
  var target: Double?
  var met: Bool?

  /// - Parameter target: The upper bound of the value; with a baseline, the lower bound of the ratio.
  init(_ name: String, _ value: Double, baseline: Double? = nil, target: Double? = nil) {
    self.name = name
    self.value = value
    self.baseline = baseline
    self.target = target
    let ratio = baseline.map { $0 / value }
    self.ratio = ratio
    met = target.map { target in ratio.map { $0 >= target } ?? (value <= target) }
  }

  private enum Key: String, CodingKey { case name, value, unit, baseline, ratio, target, met }

  /// Encodes absent members as null, so that every row has the same shape.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(name, forKey: .name)
    try container.encode(value, forKey: .value)
    try container.encode(unit, forKey: .unit)
    try container.encode(baseline, forKey: .baseline)
    try container.encode(ratio, forKey: .ratio)
    try container.encode(target, forKey: .target)
    try container.encode(met, forKey: .met)
  }

  static func table(_ rows: [BenchRow]) -> String {
    func number(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "-" }
    return rows.map { row in
      let verdict = row.met.map { $0 ? "met" : "MISSED" } ?? ""
      let name = row.name.padding(toLength: 40, withPad: " ", startingAt: 0)
      return "\(name) \(number(row.value)) \(row.unit)  baseline \(number(row.baseline))  ratio \(number(row.ratio))"
        + "  target \(number(row.target)) \(verdict)"
    }.joined(separator: "\n")
  }
}

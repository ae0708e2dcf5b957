import CampanileAPI
import CampanileCodec
import CampanileJSON
import Foundation
import SwiftProtobuf

/// Measures the generated codec on one realistic notification, and the JSON validator on an array of them. Prints one
/// line of JSON: CPU microseconds per message of the codec and of swift-protobuf's JSON and binary formats, and
/// gigabytes per second of the validator and of JSONSerialization.
///
/// Times are CPU times of the thread, so that other load on the machine has little influence.
@main
struct CodecBench {
  static let arrayCount = 20_000
  static let chunkBytes = 65_536

  static func main() throws {
    let message = Sample.notification
    let json = message.jsonUTF8Bytes()
    let theirs = try Campanile_Notifications_V1_Notification(jsonUTF8Bytes: json)
    let binary: [UInt8] = try theirs.serializedBytes()
    guard try CampanileAPI.Notification(jsonUTF8: theirs.jsonUTF8Bytes() as [UInt8]) == message else {
      FileHandle.standardError.write(Data("the two codecs disagree about the sample\n".utf8))
      exit(1)
    }
    var writer = JSONWriter(capacity: 4096)
    let array = Data(
      [UInt8(ascii: "[")] + [[UInt8]](repeating: json, count: arrayCount).joined(separator: [0x2C]) + [0x5D])
    let gigabytes = Double(array.count) / 1e3
    let (decode, checked) = try measureByTurns(
      { try json.withUnsafeBytes { use(try CampanileAPI.Notification(jsonUTF8: $0)) } },
      {
        try json.withUnsafeBytes {
          let message = try CampanileAPI.Notification(jsonUTF8: $0)
          try message.checkConstraints()
          use(message)
        }
      })
    let results = [
      "bytes": Double(json.count),
      "decode": decode,
      "checked": checked,
      "encode": try measure {
        writer.removeAll()
        message.encode(to: &writer)
      },
      "jsonDecode": try measure { _ = try Campanile_Notifications_V1_Notification(jsonUTF8Bytes: json) },
      "jsonEncode": try measure { _ = try theirs.jsonUTF8Bytes() as [UInt8] },
      "binaryDecode": try measure { _ = try Campanile_Notifications_V1_Notification(serializedBytes: binary) },
      "binaryEncode": try measure { _ = try theirs.serializedBytes() as [UInt8] },
      "validate": try gigabytes / measure(calls: 1) { try array.withUnsafeBytes(validate) },
      "jsonSerialization": try gigabytes / measure(calls: 1) { _ = try JSONSerialization.jsonObject(with: array) },
    ]
    print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
  }

  /// Stands for a handler: both measurements have a message in memory, and neither is optimized away.
  @inline(never)
  private static func use(_ message: CampanileAPI.Notification) {
    precondition(!message.id.isEmpty)
  }

  /// Validates a text in chunks, as it would arrive from a socket.
  private static func validate(_ bytes: UnsafeRawBufferPointer) throws {
    var validator = JSONValidator()
    for start in stride(from: 0, to: bytes.count, by: chunkBytes) {
      try validator.update(.init(rebasing: bytes[start..<min(bytes.count, start + chunkBytes)]))
    }
    _ = try validator.finish()
  }

  /// Returns the CPU microseconds per call: the median of seven runs after a warm-up.
  private static func measure(calls: Int = 100_000, _ body: () throws -> Void) throws -> Double {
    var times: [Double] = []
    for round in 0..<8 {
      let start = threadSeconds()
      for _ in 0..<calls { try body() }
      if round > 0 { times.append((threadSeconds() - start) / Double(calls) * 1e6) }
    }
    return times.sorted()[times.count / 2]
  }

  /// Returns the CPU microseconds per call of each closure: the medians of 41 short runs by turns, after a warm-up.
  private static func measureByTurns(
    _ first: () throws -> Void, _ second: () throws -> Void
  ) throws -> (Double, Double) {
    var times: ([Double], [Double]) = ([], [])
    for round in 0..<42 {
      let start = threadSeconds()
      for _ in 0..<20_000 { try first() }
      let middle = threadSeconds()
      for _ in 0..<20_000 { try second() }
      guard round > 0 else { continue }
      times.0.append((middle - start) / 20_000 * 1e6)
      times.1.append((threadSeconds() - middle) / 20_000 * 1e6)
    }
    return (times.0.sorted()[20], times.1.sorted()[20])
  }

  private static func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

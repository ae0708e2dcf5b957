import APNs
import CampanileCodec

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A log file with a JSON line for each accepted push, from which a restarted simulator restores what devices display.
///
/// A line is written, but not synced, before the push gets its response. It survives a crash of the process but not of
/// the machine. If the file is full or cannot be written, journaling stops and `failure` contains the cause.
struct Journal: Sendable {
  private let descriptor: Int32
  private var sizeBytes: Int64
  private let sizeBytesMax: Int64
  private(set) var failure: String?

  /// Maximum length of a line when reading.
  private static let lineBytesMax = 64 * 1024

  /// Opens or creates the file at `path`. It is never closed, because a simulator uses it for its whole life. Throws
  /// the system's error.
  init(path: String, sizeBytesMax: Int64) throws(JournalError) {
    descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw JournalError("cannot open \(path): \(String(cString: strerror(errno)))") }
    sizeBytes = Int64(lseek(descriptor, 0, SEEK_END))
    self.sizeBytesMax = sizeBytesMax
  }

  mutating func append(
    push: AcceptedPush, key: String, kind: DeviceRecord.Kind, payload: [UInt8], id: String, nowMs: Int64
  ) {
    var writer = JSONWriter()
    let object = writer.beginObject()
    member(&writer, "key", key)
    member(&writer, "kind", kind.rawValue)
    member(&writer, "bundleId", push.topic.bundleID)
    member(&writer, "pushType", push.topic.pushType.rawValue)
    writer.name(",\"priority\":")
    writer.number(push.priority)
    member(&writer, "id", id)
    writer.name(",\"atMs\":")
    writer.number(nowMs)
    // As a string, because a payload may be any bytes.
    member(&writer, "payload", String(decoding: payload, as: UTF8.self))
    writer.endObject(object)
    write(&writer)
  }

  /// Records that a channel was created, or deleted if `channel` is nil.
  mutating func append(channelID: String, _ channel: ChannelRecord?) {
    var writer = JSONWriter()
    let object = writer.beginObject()
    member(&writer, "channel", channelID)
    if let channel {
      member(&writer, "bundleId", channel.bundleID)
      writer.name(",\"storesMessages\":")
      writer.bool(channel.storesMessages)
      writer.name(",\"atMs\":")
      writer.number(channel.createdAtMs)
    }
    writer.endObject(object)
    write(&writer)
  }

  /// Records that the screen of a token was cleared, or all screens if `key` is nil.
  mutating func append(forgotten key: String?) {
    var writer = JSONWriter()
    let object = writer.beginObject()
    member(&writer, "forgotten", key ?? "")
    writer.endObject(object)
    write(&writer)
  }

  private func member(_ writer: inout JSONWriter, _ name: String, _ value: String) {
    writer.key(name)
    writer.string(value)
  }

  private mutating func write(_ writer: inout JSONWriter) {
    writer.append(UInt8(ascii: "\n"))
    guard failure == nil else { return }
    guard sizeBytes + Int64(writer.count) <= sizeBytesMax else {
      failure = "the journal is full: \(sizeBytes) of \(sizeBytesMax) bytes"
      return
    }
    // One system call per line, so that a killed process leaves complete lines. A short write ends the journal.
    let count = writer.withUnsafeBytes { systemWrite(descriptor, $0) }
    guard count == writer.count else {
      failure = "the journal cannot be written: \(String(cString: strerror(errno)))"
      return
    }
    sizeBytes += Int64(count)
  }

  /// Passes each line's bytes to `body`, in order.
  func read(_ body: (UnsafeRawBufferPointer) -> Void) {
    var offset: off_t = 0
    var line: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = chunk.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
      guard count > 0 else { return }
      offset += off_t(count)
      for byte in chunk[..<count] {
        if byte == UInt8(ascii: "\n") {
          line.withUnsafeBytes(body)
          line.removeAll(keepingCapacity: true)
        } else if line.count < Self.lineBytesMax {
          line.append(byte)
        }
      }
    }
  }
}

struct JournalError: Error, Sendable, Hashable, CustomStringConvertible {
  var description: String
  init(_ description: String) { self.description = description }
}

/// The system's `write`, under a name that no member hides.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  write(descriptor, bytes.baseAddress, bytes.count)
}

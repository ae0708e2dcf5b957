internal import Foundation

/// Where the request of a call comes from: the command line, a file or standard input.
public enum RequestSource: Sendable, Hashable {
  case none
  case text(String)
  case file(String)
  case standardInput

  /// The largest request that is read, in bytes.
  public static let sizeBytesMax = 64 << 20

  /// `nil` is no request, `-` standard input, `@path` a file, and anything else JSON.
  public init(argument: String?) {
    switch argument {
    case nil: self = .none
    case "-": self = .standardInput
    case let text? where text.hasPrefix("@"): self = .file(String(text.dropFirst()))
    case let text?: self = .text(text)
    }
  }

  /// All of it. Throws `UsageError` for a file that cannot be read, and for more than `sizeBytesMax`.
  public func read() throws(UsageError) -> [UInt8] {
    let bytes: Data?
    switch self {
    case .none: return []
    case .text(let text): return Array(text.utf8)
    case .file(let path):
      bytes = Self.read(FileHandle(forReadingAtPath: path))
      guard bytes != nil else { throw UsageError("cannot read \(path)") }
    case .standardInput: bytes = Self.read(.standardInput)
    }
    guard let bytes, bytes.count <= Self.sizeBytesMax else {
      throw UsageError("the request is longer than \(Self.sizeBytesMax) bytes")
    }
    return Array(bytes)
  }

  private static func read(_ handle: FileHandle?) -> Data? {
    guard let handle else { return nil }
    var data = Data()
    while data.count <= sizeBytesMax, let part = try? handle.read(upToCount: 1 << 20), !part.isEmpty { data += part }
    return data
  }

  /// The requests of a stream, one JSON object a line, empty lines left out. Those of standard input come as they are typed.
  public func lines() throws(UsageError) -> AsyncThrowingStream<[UInt8], any Error> {
    guard self == .standardInput || self == .none else {
      let lines = try read().split(separator: UInt8(ascii: "\n")).map(Array.init).filter { !Self.isBlank($0) }
      return AsyncThrowingStream { continuation in
        for line in lines { continuation.yield(line) }
        continuation.finish()
      }
    }
    let reader = StandardInputLines()
    return AsyncThrowingStream { try await reader.next() }
  }

  static func isBlank(_ line: [UInt8]) -> Bool { line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d } }
}

/// Reads standard input a line at a time, when the next is asked for.
private actor StandardInputLines {
  private var splitter = LineSplitter(lineBytesMax: 16 << 20)
  private var waiting: [[UInt8]] = []
  private var hasEnded = false

  func next() async throws -> [UInt8]? {
    while true {
      while !waiting.isEmpty {
        let line = waiting.removeFirst()
        if !RequestSource.isBlank(line) { return line }
      }
      if hasEnded { return nil }
      let part = try await Self.readPart()
      if part.isEmpty {
        hasEnded = true
        waiting = splitter.finish()
      } else {
        waiting = splitter.add(part)
      }
    }
  }

  /// A blocking read on a thread of its own, so that no thread of the pool waits for a person.
  private static func readPart() async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      let thread = Thread {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(STDIN_FILENO, &buffer, buffer.count)
        if count < 0 {
          continuation.resume(throwing: UsageError("cannot read standard input: \(String(cString: strerror(errno)))"))
        } else {
          continuation.resume(returning: Array(buffer.prefix(count)))
        }
      }
      thread.start()
    }
  }
}

internal import Foundation

/// The source of a call's request: the command line, a file or standard input.
public enum RequestSource: Sendable, Hashable {
  case none
  case text(String)
  case file(String)
  case standardInput

  /// Maximum size of a request in bytes.
  public static let sizeBytesMax = 64 << 20

  /// Creates a source: nil for no request, `-` for standard input, `@path` for a file, and JSON otherwise.
  public init(argument: String?) {
    switch argument {
    case nil: self = .none
    case "-": self = .standardInput
    case let text? where text.hasPrefix("@"): self = .file(String(text.dropFirst()))
    case let text?: self = .text(text)
    }
  }

  /// Reads the whole request.
  ///
  /// - Throws: `UsageError` if a file cannot be read or the request exceeds `sizeBytesMax`.
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
      throw UsageError("the request exceeds \(Self.sizeBytesMax) bytes")
    }
    return Array(bytes)
  }

  private static func read(_ handle: FileHandle?) -> Data? {
    guard let handle else { return nil }
    var data = Data()
    while data.count <= sizeBytesMax, let part = try? handle.read(upToCount: 1 << 20), !part.isEmpty { data += part }
    return data
  }

  /// Returns the requests of a stream, one JSON object per line, without blank lines.
  ///
  /// Lines are read on demand, as the server accepts them, so that a file may have any size.
  ///
  /// - Throws: `UsageError` if a file cannot be read.
  public func lines() throws(UsageError) -> AsyncThrowingStream<[UInt8], any Error> {
    let reader: DescriptorLines
    switch self {
    case .text(let text):
      let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map(Array.init).filter { !Self.isBlank($0) }
      return AsyncThrowingStream { continuation in
        for line in lines { continuation.yield(line) }
        continuation.finish()
      }
    case .file(let path):
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw UsageError("cannot read \(path)") }
      reader = DescriptorLines(descriptor, name: path, isOwned: true)
    case .none, .standardInput: reader = DescriptorLines(STDIN_FILENO, name: "standard input", isOwned: false)
    }
    return AsyncThrowingStream { try await reader.next() }
  }

  static func isBlank(_ line: [UInt8]) -> Bool { line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d } }
}

/// Reads a file or standard input line by line, on demand.
private actor DescriptorLines {
  private let descriptor: Int32
  private let name: String
  private let isOwned: Bool
  private var splitter = LineSplitter(lineBytesMax: 16 << 20)
  private var waiting: [[UInt8]] = []
  private var hasEnded = false

  init(_ descriptor: Int32, name: String, isOwned: Bool) {
    self.descriptor = descriptor
    self.name = name
    self.isOwned = isOwned
  }

  deinit { if isOwned { close(descriptor) } }

  func next() async throws -> [UInt8]? {
    while true {
      while !waiting.isEmpty {
        let line = waiting.removeFirst()
        if !RequestSource.isBlank(line) { return line }
      }
      if hasEnded { return nil }
      let part = try await Self.readPart(descriptor, name: name)
      if part.isEmpty {
        hasEnded = true
        waiting = splitter.finish()
      } else {
        waiting = splitter.add(part)
      }
    }
  }

  /// Reads on a separate thread: a blocking read must not occupy a thread of the concurrency pool.
  private static func readPart(_ descriptor: Int32, name: String) async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      let thread = Thread {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0 {
          continuation.resume(throwing: UsageError("cannot read \(name): \(String(cString: strerror(errno)))"))
        } else {
          continuation.resume(returning: Array(buffer.prefix(count)))
        }
      }
      thread.start()
    }
  }
}

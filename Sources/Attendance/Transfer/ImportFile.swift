import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An imported file that arrives in chunks. Rejects what exceeds a limit before storing it.
struct ImportFile: Sendable {
  private let limits: AttendanceLimits
  private(set) var header: ImportCsvRequest.ImportHeader?
  private(set) var bytes: [UInt8] = []
  /// The reason for rejecting the file; later chunks are ignored.
  private(set) var fault: CsvError?
  private var lineBytes = 0
  private var line: Int32 = 1

  var isRefused: Bool { fault != nil }

  init(limits: AttendanceLimits) { self.limits = limits }

  /// Adds the next request. Throws INVALID_ARGUMENT if the header is missing, repeated or invalid.
  mutating func take(_ request: ImportCsvRequest) throws(RPCError) {
    switch request.content {
    case .header(let header):
      guard self.header == nil else {
        throw .invalidField("header", "must not be repeated", .fieldNotAllowed)
      }
      try request.checkConstraints()
      self.header = header
    case .chunk(let chunk):
      guard header != nil else {
        throw .invalidField("header", "must come first", .required)
      }
      take(chunk)
    case nil: try request.checkConstraints()
    }
  }

  private mutating func take(_ chunk: [UInt8]) {
    guard fault == nil else { return }
    for byte in chunk {
      if byte == UInt8(ascii: "\n") {
        line += 1
        lineBytes = 0
      } else {
        lineBytes += 1
        if lineBytes > limits.importLineBytesMax {
          fault = .of(
            row: line, reason: "LINE_TOO_LONG", "a line may have at most \(limits.importLineBytesMax) bytes")
          bytes = []
          return
        }
      }
    }
    guard bytes.count + chunk.count <= limits.importBytesMax else {
      fault = .of(reason: "FILE_TOO_LARGE", "a file may have at most \(limits.importBytesMax) bytes")
      bytes = []
      return
    }
    bytes += chunk
  }
}

extension CsvError {
  static func of(row: Int32 = 0, column: String = "", reason: String, _ message: String) -> CsvError {
    CsvError(row: row, column: column, reason: reason, message: message)
  }
}

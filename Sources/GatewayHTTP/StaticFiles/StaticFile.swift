import CCampanile
import CampanileCrypto
import NIOHTTP1
import Synchronization

/// A file that the gateway serves, plain and gzipped, each with its own strong entity tag.
///
/// Both are built once, on the first request. Building and compressing hundreds of kilobytes would delay the start of
/// the program, and a request of 60 bytes must not cause it again.
final class StaticFile: Sendable {
  static let methods = ["GET", "HEAD"]

  private struct Representation: Sendable {
    let bytes: [UInt8]
    let etag: String
    let headers: [(String, String)]

    init(_ bytes: [UInt8], contentType: String, cacheControl: String, coding: String?) {
      self.bytes = bytes
      let digest = (try? SHA256.digest(bytes))?.hexadecimal ?? "\(bytes.count)"
      etag = String(digest.prefix(32))
      // `Vary` also prevents the connection from compressing the response again.
      headers =
        [
          ("Content-Type", contentType), ("ETag", "\"\(etag)\""), ("Cache-Control", cacheControl),
          ("Vary", "Accept-Encoding"),
        ] + (coding.map { [("Content-Encoding", $0)] } ?? [])
    }
  }

  private let build: @Sendable () -> [UInt8]
  private let contentType: String
  private let cacheControl: String
  /// Plain, and compressed unless zlib runs out of memory; nil before the first request.
  private let built = Mutex<(plain: Representation, compressed: Representation?)?>(nil)

  /// - Parameter build: Returns the bytes. Called at most once, while other requests for the file wait.
  init(
    contentType: String, cacheControl: String = "public, max-age=300", _ build: @escaping @Sendable () -> [UInt8]
  ) {
    self.contentType = contentType
    self.cacheControl = cacheControl
    self.build = build
  }

  private var representations: (plain: Representation, compressed: Representation?) {
    built.withLock { built in
      if let built { return built }
      let bytes = build()
      let made = (
        plain: Representation(bytes, contentType: contentType, cacheControl: cacheControl, coding: nil),
        compressed: Self.gzip(bytes).map {
          Representation($0, contentType: contentType, cacheControl: cacheControl, coding: "gzip")
        }
      )
      built = made
      return made
    }
  }

  /// Returns the decision for a request: 200, or 304 if the caller's copy is current.
  func answer(to request: RequestHead) -> HTTPDecision {
    let (plain, compressed) = representations
    let found = request.acceptsGzip ? compressed ?? plain : plain
    // A 304 has the headers of the corresponding 200 (RFC 9110 section 15.4.5).
    if let asked = request["if-none-match"], EntityTag.noneMatch(asked, names: found.etag) {
      return .answer(304, found.headers, [])
    }
    return .answer(200, found.headers, found.bytes)
  }

  private static func gzip(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard campanile_deflate_init(&stream, Z_DEFAULT_COMPRESSION, 31) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let room = Int(deflateBound(&stream, UInt(bytes.count)))
    var code = Z_OK
    let packed = bytes.withUnsafeBufferPointer { input in
      [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
        // zlib does not write to its input.
        stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
        stream.avail_in = UInt32(input.count)
        stream.next_out = buffer.baseAddress
        stream.avail_out = UInt32(room)
        code = deflate(&stream, Z_FINISH)
        count = room - Int(stream.avail_out)
      }
    }
    return code == Z_STREAM_END ? packed : nil
  }
}

extension RequestHead {
  /// Whether `Accept-Encoding` accepts gzip, by name or by `*`, with a weight above 0 (RFC 9110 section 12.5.3).
  var acceptsGzip: Bool {
    var byWildcard = false
    for entry in headers[canonicalForm: "accept-encoding"] {
      let parts = entry.split(separator: ";").map { String($0).trimmingSpaces.lowercased() }
      guard let coding = parts.first else { continue }
      let isWanted = !parts.dropFirst().contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) ?? 0 <= 0 }
      if coding == "gzip" || coding == "x-gzip" { return isWanted }
      if coding == "*" { byWildcard = isWanted }
    }
    return byWildcard
  }
}

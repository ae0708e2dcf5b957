import CampanileCodec
import CampanileCrypto

/// The request id that the gateway gives to a call with an idempotency key.
///
/// With it the service stores the response together with its change. So the call runs once, even if two gateways
/// forward it: the first may have lost its claim, or may have been killed before it stored the response.
enum DerivedRequestID {
  /// Returns the id for a key: 64 hexadecimal digits, the maximum length of a request id.
  ///
  /// - Parameter key: The idempotency key, followed by a digest of the metadata that identifies the caller.
  static func text(for key: String) throws(CryptoError) -> String { try SHA256.digest(Array(key.utf8)).hexadecimal }

  /// Returns the request with the id. A request that has the field, or that is not an object, is not changed.
  static func adding(_ id: String, to params: [UInt8]) -> [UInt8] {
    let member = "{\"requestId\":\"\(id)\""
    do {
      guard let first = try params.isEmpty ? nil : firstMember(of: params) else { return Array("\(member)}".utf8) }
      return Array("\(member),".utf8) + params[first...]
    } catch {
      return params
    }
  }

  /// Returns the place of the first member; nil if there is none.
  ///
  /// - Throws: If the text has the field, or is not an object.
  private static func firstMember(of params: [UInt8]) throws -> Int? {
    try params.withUnsafeBytes { bytes in
      var reader = JSONReader(bytes)
      guard try reader.beginObject() else { return nil }
      let first = reader.byteOffset
      repeat {
        let name = try reader.key()
        guard !name.isEither("requestId", "request_id") else { throw reader.duplicateKey() }
        try reader.skipValue()
      } while try reader.nextMember()
      return first
    }
  }
}

extension JSONName {
  fileprivate func isEither(_ a: StaticString, _ b: StaticString) -> Bool {
    count == a.utf8CodeUnitCount && matches(a) || count == b.utf8CodeUnitCount && matches(b)
  }
}

public import CampanileCodec
public import CampanileStore

/// Decodes messages that a service stores as ProtoJSON, possibly written by an older or a newer version.
public enum StoredJSON {
  /// Throws a `StoreError` with the code `corrupt`, which names `what`.
  public static func message<M: ProtoMessage>(
    _ type: M.Type, _ bytes: UnsafeRawBufferPointer, _ what: String
  ) throws(StoreError) -> M {
    do throws(ProtoJSONError) {
      return try M(jsonUTF8: bytes)
    } catch {
      throw StoreError(.corrupt, "\(what) cannot be read: \(error.reason)")
    }
  }

  public static func message<M: ProtoMessage>(_ type: M.Type, _ bytes: [UInt8], _ what: String) throws -> M {
    try bytes.withUnsafeBytes { try message(type, $0, what) }
  }

  /// Decodes the message in a column of type text or blob.
  public static func message<M: ProtoMessage>(
    _ type: M.Type, _ row: borrowing SQLRow, _ column: Int, _ what: String
  ) throws -> M {
    try row.withBytes(column) { try message(type, $0, what) }
  }
}

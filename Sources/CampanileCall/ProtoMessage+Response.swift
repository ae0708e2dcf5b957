public import CampanileBase
public import CampanileCodec

extension ProtoMessage {
  /// Decodes a response. Unknown fields are ignored, because a server may be newer than its client.
  ///
  /// - Throws: INTERNAL `REPLY_INVALID` with the field and the position of the fault.
  @inlinable
  @inline(__always)
  public init(responseJSON bytes: [UInt8]) throws(RPCError) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        try Self(jsonUTF8: bytes)
      }
    }
    switch result {
    case .success(let message): self = message
    case .failure(let error):
      throw RPCError(
        .internalError, "the response is not a valid \(Self.protoFullName): \(error.message)", reason: "REPLY_INVALID",
        errorMetadata: ["field": error.fieldPath, "byteOffset": String(error.byteOffset)])
    }
  }
}

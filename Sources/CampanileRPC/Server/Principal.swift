package import CampanileBase

/// The identity of a caller, as established by the gateway.
public struct Principal: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable {
    /// A person with the user id `id`.
    case user
    /// A program of the operator.
    case service
  }
  public var kind: Kind
  /// 1 to 128 characters of `[A-Za-z0-9._:@-]`.
  public var id: String
  /// The scopes of the credential. An empty list grants reading and writing, but neither `operate` nor `admin`.
  public var scopes: [String]
  /// The device that the credential is bound to; empty for none. 1 to 128 characters of `[A-Za-z0-9._:-]`.
  public var deviceID: String

  /// The metadata keys that carry a principal, its scopes, its IP address and the device of its credential between the
  /// suite's processes.
  package static let metadataKey = "campanile-principal"
  package static let scopesMetadataKey = "campanile-scopes"
  package static let addressMetadataKey = "campanile-remote-address"
  package static let deviceMetadataKey = "campanile-device"
  package static let scopesMax = 32
  /// The syntax of a principal, for errors.
  package static let form = "must be user/ID or service/ID, the ID 1 to 128 characters of A-Z a-z 0-9 . _ : @ -"

  public init(kind: Kind, id: String, scopes: [String] = [], deviceID: String = "") {
    self.kind = kind
    self.id = id
    self.scopes = scopes
    self.deviceID = deviceID
  }

  /// Parses `user/<id>` or `service/<id>`; `nil` for any other text.
  public init?(_ text: String, scopes: [String] = []) {
    guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")), let kind = Kind(rawValue: String(text[..<slash]))
    else { return nil }
    let id = String(text[text.index(after: slash)...])
    guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy(Self.isValid) else { return nil }
    self.init(kind: kind, id: id, scopes: scopes)
  }

  /// The form `user/<id>` or `service/<id>`.
  public var name: String { "\(kind.rawValue)/\(id)" }

  /// Returns whether a text is the id of a device.
  package static func isDevice(_ id: String) -> Bool {
    (1...128).contains(id.utf8.count) && id.utf8.allSatisfy { $0 != UInt8(ascii: "@") && isValid($0) }
  }

  private static func isValid(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"): true
    default: false
    }
  }

  /// Reads the principal that a trusted peer set; nil if it set none.
  ///
  /// A malformed value must never be read as another caller, least of all the operator.
  ///
  /// - Throws: INVALID_ARGUMENT `PRINCIPAL_INVALID`, `SCOPES_INVALID`, `ADDRESS_INVALID` or `DEVICE_INVALID` with the
  ///   metadata key, if a value is malformed or repeated, or if there are scopes or a device without a principal.
  package init?(trusted metadata: Metadata) throws(RPCError) {
    if let address = try Self.only(Self.addressMetadataKey, in: metadata, reason: "ADDRESS_INVALID") {
      guard (1...64).contains(address.utf8.count), address.utf8.allSatisfy(Self.isOfAddress) else {
        throw Self.fault(Self.addressMetadataKey, "must be an IP address without a port", "ADDRESS_INVALID")
      }
    }
    let text = try Self.only(Self.metadataKey, in: metadata, reason: "PRINCIPAL_INVALID")
    let scopes = try Self.only(Self.scopesMetadataKey, in: metadata, reason: "SCOPES_INVALID").map {
      text throws(RPCError) in try Self.scopes(text)
    }
    let device = try Self.only(Self.deviceMetadataKey, in: metadata, reason: "DEVICE_INVALID")
    if let device, !Self.isDevice(device) {
      throw Self.fault(
        Self.deviceMetadataKey, "must be 1 to 128 characters of A-Z a-z 0-9 . _ : -", "DEVICE_INVALID")
    }
    guard let text else {
      if scopes != nil {
        throw Self.fault(Self.scopesMetadataKey, "requires \(Self.metadataKey)", "SCOPES_INVALID")
      }
      if device != nil {
        throw Self.fault(Self.deviceMetadataKey, "requires \(Self.metadataKey)", "DEVICE_INVALID")
      }
      return nil
    }
    guard var principal = Principal(text, scopes: scopes ?? []) else {
      throw Self.fault(Self.metadataKey, Self.form, "PRINCIPAL_INVALID")
    }
    principal.deviceID = device ?? ""
    self = principal
  }

  private static func only(_ key: String, in metadata: Metadata, reason: String) throws(RPCError) -> String? {
    guard let first = metadata[key] else { return nil }
    guard metadata.values(key).count == 1 else { throw fault(key, "must have one value", reason) }
    return first
  }

  private static func scopes(_ text: String) throws(RPCError) -> [String] {
    let scopes = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard scopes.count <= scopesMax, scopes.allSatisfy(isScope) else {
      throw fault(
        scopesMetadataKey,
        "must be 1 to \(scopesMax) scopes with a space between them, each admin, SERVICE or SERVICE:RIGHT",
        "SCOPES_INVALID")
    }
    return scopes
  }

  private static func isScope(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    return parts.count <= 2
      && parts.allSatisfy { part in
        guard (1...32).contains(part.count), let first = part.first, isLower(first) else { return false }
        return part.allSatisfy { isLower($0) || isDigit($0) || $0 == UInt8(ascii: "-") }
      }
  }

  private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// Returns whether a byte may occur in an IP address with a zone; none of them is escaped in JSON.
  private static func isOfAddress(_ byte: UInt8) -> Bool {
    isLower(byte | 0x20) || (UInt8(ascii: "0")...UInt8(ascii: ":")).contains(byte)
      || [UInt8(ascii: "."), UInt8(ascii: "%"), UInt8(ascii: "-")].contains(byte)
  }

  private static func fault(_ key: String, _ rule: String, _ reason: String) -> RPCError {
    var error = RPCError.invalidField(key, rule, reason: reason)
    error.processed = false
    return error
  }
}

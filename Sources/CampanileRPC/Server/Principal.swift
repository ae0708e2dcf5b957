/// Who makes a call, as the gateway found out.
public struct Principal: Sendable, Hashable {
  public enum Kind: String, Sendable, Hashable {
    /// A person. `id` is theirs.
    case user
    /// A program of the operator.
    case service
  }
  public var kind: Kind
  /// 1 to 128 characters of `[A-Za-z0-9._:@-]`.
  public var id: String
  /// What the credential may do; empty where the caller is trusted with everything but administration.
  public var scopes: [String]

  /// The metadata keys that carry a principal between the suite's processes.
  public static let metadataKey = "campanile-principal"
  public static let scopesMetadataKey = "campanile-scopes"

  public init(kind: Kind, id: String, scopes: [String] = []) {
    self.kind = kind
    self.id = id
    self.scopes = scopes
  }

  /// Reads `user/<id>` or `service/<id>`; `nil` for anything else.
  public init?(_ text: String, scopes: [String] = []) {
    guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")), let kind = Kind(rawValue: String(text[..<slash]))
    else { return nil }
    let id = String(text[text.index(after: slash)...])
    guard (1...128).contains(id.utf8.count), id.utf8.allSatisfy(Self.isValid) else { return nil }
    self.init(kind: kind, id: id, scopes: scopes)
  }

  /// `user/<id>` or `service/<id>`.
  public var name: String { "\(kind.rawValue)/\(id)" }

  private static func isValid(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "-"): true
    default: false
    }
  }

  /// Reads the principal that a trusted peer set; `nil` when there is none.
  init?(trusted metadata: Metadata) {
    guard let text = metadata[Self.metadataKey] else { return nil }
    let scopes = metadata[Self.scopesMetadataKey].map { $0.split(separator: " ").map(String.init) } ?? []
    self.init(text, scopes: scopes)
  }
}

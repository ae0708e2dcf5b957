import CampanileRPC

/// A kind of access to a service, as scopes name it.
enum Right: String, Sendable, Hashable, CaseIterable {
  /// Methods without side effects.
  case read
  /// Methods with side effects, including those of `publish`.
  case write
  /// Methods that send to people and devices, for programs that do nothing else.
  case publish
  /// Methods that only the operator's own programs need.
  case operate
}

/// A permission of a credential: `admin`, `<service>`, or `<service>:` and a right.
public struct Scope: Sendable, Hashable, CustomStringConvertible {
  enum Grant: Sendable, Hashable {
    /// Every method, and the management of keys.
    case admin
    /// Every method of a service.
    case service(String)
    case right(Right, String)
  }

  let grant: Grant
  public let description: String

  /// Parses a scope; `nil` if it is malformed. Service names match `[a-z][a-z0-9-]{0,31}`, for example `notifications`.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let name = parts.first, Self.isServiceName(name) else { return nil }
    switch (name, parts.count > 1 ? parts[1] : nil) {
    case ("admin", nil): grant = .admin
    case ("admin", _): return nil
    case (_, nil): grant = .service(name)
    case (_, let right?):
      guard let right = Right(rawValue: right) else { return nil }
      grant = .right(right, name)
    }
    description = text
  }

  /// The service that the scope applies to; `nil` for `admin`.
  public var service: String? {
    switch grant {
    case .admin: nil
    case .service(let name), .right(_, let name): name
    }
  }

  static func isServiceName(_ name: String) -> Bool {
    guard (1...32).contains(name.utf8.count), let first = name.utf8.first, (0x61...0x7A).contains(first) else {
      return false
    }
    return name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
  }
}

/// The right that a method requires of its caller.
struct Requirement: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    /// Callable without a credential.
    case open
    /// Callable with any credential, whatever its scopes.
    case authenticated
    case admin
    case read, write, publish, operate

    /// Reads a method's `campanile.rpc.v1.access`. If it is empty, methods with side effects require `write`, others
    /// `read`.
    init(_ method: MethodDescriptor) {
      switch method.scope {
      case "public": self = .open
      case "authenticated": self = .authenticated
      case "admin": self = .admin
      default:
        switch method.scope.split(separator: ":").last.flatMap({ Right(rawValue: String($0)) }) {
        case .read: self = .read
        case .publish: self = .publish
        case .operate: self = .operate
        case .write: self = .write
        case nil: self = method.scope.isEmpty && method.idempotency == .noSideEffects ? .read : .write
        }
      }
    }
  }
  var kind: Kind
  /// The service's index in the routing table, 0 to 63; unused for `open`, `authenticated` and `admin`.
  var serviceIndex = 0

  /// Returns the narrowest sufficient scope, for the error message.
  func scope(serviceName: String) -> String {
    switch kind {
    case .open: ""
    case .authenticated: "authenticated"
    case .admin: "admin"
    case .read: "\(serviceName):read"
    case .write: "\(serviceName):write"
    case .publish: "\(serviceName):publish"
    case .operate: "\(serviceName):operate"
    }
  }
}

/// A credential's scopes, resolved against the routing table so that one bit authorizes a call.
struct AccessRights: Sendable, Hashable {
  private(set) var isAdmin = false
  private var readable: UInt64 = 0
  private var writable: UInt64 = 0
  private var publishable: UInt64 = 0
  private var operable: UInt64 = 0

  static let admin: AccessRights = {
    var rights = AccessRights()
    rights.isAdmin = true
    return rights
  }()

  private init() {}

  /// Resolves scopes. Without any scope, every service may be read and written, but `operate` and `admin` are never
  /// implied.
  ///
  /// - Parameter services: The services in the order of the routing table, at most 64. Scopes of other services grant
  ///   nothing.
  init(_ scopes: [Scope], services: [String]) {
    if scopes.isEmpty {
      readable = .max
      writable = .max
      publishable = .max
    }
    for scope in scopes {
      let bit = scope.service.flatMap(services.firstIndex).map { $0 < 64 ? UInt64(1) << UInt64($0) : 0 } ?? 0
      switch scope.grant {
      case .admin: isAdmin = true
      case .service:
        readable |= bit
        writable |= bit
        publishable |= bit
        operable |= bit
      case .right(.read, _): readable |= bit
      case .right(.write, _):
        writable |= bit
        publishable |= bit
      case .right(.publish, _): publishable |= bit
      case .right(.operate, _): operable |= bit
      }
    }
  }

  @inline(__always)
  func allows(_ requirement: Requirement) -> Bool {
    if isAdmin { return true }
    let bit = UInt64(1) << UInt64(truncatingIfNeeded: requirement.serviceIndex)
    switch requirement.kind {
    case .open, .authenticated: return true
    case .admin: return false
    case .read: return readable & bit != 0
    case .write: return writable & bit != 0
    case .publish: return publishable & bit != 0
    case .operate: return operable & bit != 0
    }
  }
}

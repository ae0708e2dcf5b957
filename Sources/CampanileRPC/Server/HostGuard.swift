import CampanileBase

/// The allowed values of `Host` for an HTTP server on this machine, as a defence against DNS rebinding.
///
/// A web page can make its own name resolve to 127.0.0.1. The page's requests then reach this machine, but their `Host`
/// header contains the page's name.
package struct HostGuard: Sendable, Hashable {
  /// Names in addition to those of this machine, in lower case and without a port.
  private let names: Set<String>

  /// Creates a guard with additional names.
  ///
  /// - Parameter names: Names or addresses without a port, IPv6 in brackets.
  /// - Returns: nil if a name can never be the value of `Host`.
  package init?(names: [String]) {
    let known = names.map { $0.lowercased() }
    guard known.allSatisfy({ !$0.isEmpty && Self.name(of: $0) == $0 && $0.utf8.allSatisfy(Self.isHostByte) }) else {
      return nil
    }
    self.names = Set(known)
  }

  /// Creates a guard that allows this machine only.
  package init() { names = [] }

  /// Returns whether the value of a `Host` header is a loopback address, `localhost` or an allowed name, with any port.
  package func allows(_ host: String) -> Bool {
    guard let name = Self.name(of: host.lowercased()) else { return false }
    return HostPort.isLoopback(name) || names.contains(name)
  }

  /// Returns the part before the port; nil if the rest is not a port.
  private static func name(of host: String) -> String? {
    let end: String.Index
    if host.hasPrefix("[") {
      guard let bracket = host.firstIndex(of: "]") else { return nil }
      end = host.index(after: bracket)
    } else {
      end = host.firstIndex(of: ":") ?? host.endIndex
    }
    let rest = host[end...]
    guard rest.isEmpty || rest.first == ":" && rest.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return String(host[..<end])
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "-"),
      UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "["), UInt8(ascii: "]"):
      true
    default: false
    }
  }
}

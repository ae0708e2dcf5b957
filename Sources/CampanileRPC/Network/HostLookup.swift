public import CampanileBase

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Resolves a host with the system's resolver (getaddrinfo, RFC 3493), which blocks until its name servers respond.
public enum HostLookup {
  public static let addressesMax = 16

  /// Returns at most `addressesMax` addresses, in the system's order; none if the host is not found.
  public static func addresses(of host: String) -> [IPAddress] {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_protocol = CInt(IPPROTO_TCP)
    hints.ai_flags = AI_ADDRCONFIG
    var head: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &head) == 0, let head else { return [] }
    defer { freeaddrinfo(head) }
    var found: [IPAddress] = []
    var next: UnsafeMutablePointer<addrinfo>? = head
    while let entry = next, found.count < addressesMax {
      if let address = address(of: entry.pointee), !found.contains(address) { found.append(address) }
      next = entry.pointee.ai_next
    }
    return found
  }

  private static func address(of entry: addrinfo) -> IPAddress? {
    guard let socketAddress = entry.ai_addr else { return nil }
    let size = 64
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
      guard
        let base = buffer.baseAddress,
        getnameinfo(
          socketAddress, entry.ai_addrlen, base, socklen_t(size), nil, 0, NI_NUMERICHOST) == 0
      else { return nil }
      return String(validatingCString: base).flatMap { IPAddress(zoned: $0) }
    }
  }
}

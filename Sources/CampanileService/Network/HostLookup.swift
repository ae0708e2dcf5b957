#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Asks the system for the addresses of a host (getaddrinfo, RFC 3493), which blocks for as long as its name servers take.
public enum HostLookup {
  public static let addressesMax = 16

  /// At most `addressesMax`, in the system's order; none for a host that is not found.
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
      // A zone (`fe80::1%eth0`) is no part of the address.
      return String(validatingCString: base).flatMap { IPAddress(String($0.prefix { $0 != "%" })) }
    }
  }
}

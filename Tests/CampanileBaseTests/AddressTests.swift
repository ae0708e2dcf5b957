import CampanileBase
import Testing

@Suite struct AddressTests {
  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("", ""), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2:ffff::9", "2001:db8:1:2::/64"), ("2001:db8::1", "2001:db8:0:0::/64"), ("::1", "0:0:0:0::/64"),
    ("fe80::1%eth0", "fe80:0:0:0::/64"), ("1::2:3:4:5:6:7", "1:0:2:3::/64"), ("::", "0:0:0:0::/64"),
    ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:DB8::1", "2001:db8:0:0::/64"), ("no:address", "no:address"),
  ])
  func addressesAreGrouped(host: String, group: String) { #expect(AddressGroup.name(of: host) == group) }

  @Test(arguments: [("::ffff:192.0.2.7", "192.0.2.7"), ("::ffff:1", "::ffff:1"), ("192.0.2.7", "192.0.2.7"), ("", "")])
  func mappedAddressesAreUnmapped(text: String, unmapped: String) {
    #expect(IPAddress.unmapped(text[...]) == unmapped)
  }

  @Test(arguments: [("localhost:80", "localhost", 80), ("[::1]:443", "::1", 443), ("[a]:65535", "a", 65_535)])
  func hostAndPortAreParsed(text: String, host: String, port: Int) {
    #expect(HostPort(text) == HostPort(host: host, port: port))
  }

  @Test(arguments: ["", ":", "a", "a:", "a:0", "a:65536", "a:b", ":1", "[]:1", "::1:443", "1"])
  func otherTextIsRejected(text: String) { #expect(HostPort(text) == nil) }

  @Test func missingHostIsTheDefault() throws {
    #expect(try HostPort(parsing: ":7400", defaultHost: "127.0.0.1") == HostPort(host: "127.0.0.1", port: 7_400))
    #expect(throws: HostPort.ParseError.malformed) { try HostPort(parsing: ":7400") }
    #expect(throws: HostPort.ParseError.needsBrackets) { try HostPort(parsing: "::1:7400", defaultHost: "127.0.0.1") }
  }
}

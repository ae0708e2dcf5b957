import CampanileBase
import CampanileRPC
import CampanileService
import Testing

@testable import Notifications

@Suite struct AddressPolicyTests {
  @Test(arguments: [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
    "192.168.1.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "169.254.0.1", "192.0.0.1", "192.0.2.5",
    "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255", "192.88.99.1", "224.0.0.1", "239.255.255.255",
    "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1",
    "2001:db8::1", "3fff::1", "100::1", "64:ff9b:1::1", "5f00::1", "4000::1",
    // IPv4 inside IPv6: mapped, compatible, NAT64, 6to4, Teredo.
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "::127.0.0.1", "::10.0.0.1", "::8.8.8.8",
    "64:ff9b::7f00:1", "64:ff9b::169.254.169.254", "64:ff9b::192.168.0.1", "2002:7f00:1::", "2002:c0a8:0101::1",
    "2002:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:7f00:1::1",
  ])
  func refuses(_ text: String) throws {
    #expect(!AddressPolicy().allows(try #require(IPAddress(text))))
  }

  @Test(arguments: [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
    "100.63.255.255", "100.128.0.0", "169.253.255.255", "169.255.0.0", "126.255.255.255", "128.0.0.1", "198.17.255.255",
    "198.20.0.0", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
    "2002:808:808::1",
  ])
  func allowsThePublicInternet(_ text: String) throws {
    #expect(AddressPolicy().allows(try #require(IPAddress(text))))
  }

  @Test func operatorCanAllowBlocks() throws {
    let policy = try AddressPolicy(allowing: ["10.1.0.0/16", "127.0.0.1", "fd00:1::/33", "192.168.128.0/17"])
    func allows(_ text: String) throws -> Bool { policy.allows(try #require(IPAddress(text))) }
    for text in [
      "10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "127.0.0.1", "fd00:1::1", "fd00:1:7fff::1", "192.168.128.1",
    ] {
      #expect(try allows(text), "\(text)")
    }
    for text in [
      "10.2.0.0", "10.0.255.255", "127.0.0.2", "fd00:1:8000::1", "fd00:2::1", "192.168.127.255", "64:ff9b::a01:1",
    ] {
      #expect(try !allows(text), "\(text)")
    }
    #expect(try AddressPolicy(allowing: ["0.0.0.0/0"]).allows(try #require(IPAddress("127.0.0.1"))))
    #expect(try !AddressPolicy(allowing: ["0.0.0.0/0"]).allows(try #require(IPAddress("::1"))))
  }

  @Test(arguments: [
    "", "localhost", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "fd00::/129", "10.0.0.0/8/8", "/8",
  ])
  func invalidBlocksAreRejected(_ text: String) {
    #expect(throws: AddressBlock.InvalidBlock(text: text)) { try AddressPolicy(allowing: ["10.0.0.0/8", text]) }
  }

  @Test(arguments: [
    "", "127.1", "0x7f.0.0.1", "2130706433", "1.2.3.4.5", "256.1.1.1", "fe80::1%eth0", "[::1]", "::1\u{0}", "1.2.3.4 ",
  ])
  func invalidAddressesAreRejected(_ text: String) { #expect(IPAddress(text) == nil) }

  @Test(arguments: ["192.0.2.1", "2001:db8:0:0:0:0:0:1", "0:0:0:0:0:ffff:c000:201"])
  func addressTextsRoundTrip(_ text: String) throws { #expect(try #require(IPAddress(text)).text == text) }

  @Test func everyBuiltInBlockIsValid() { #expect(AddressPolicy.blockCount == 21) }

  @Test func systemResolverReturnsAddresses() async {
    let found = await SystemHostResolver().addresses(of: "localhost")
    #expect(!found.isEmpty && found.allSatisfy { !AddressPolicy().allows($0) })
    // The resolver expands short forms, and the result is checked like any other address.
    #expect(await SystemHostResolver().addresses(of: "127.1") == [IPAddress("127.0.0.1")])
    #expect(await SystemHostResolver().addresses(of: "nothing.invalid").isEmpty)
  }
}

import CampanileBase
import Testing

@testable import CampanileRPC

@Suite struct TrustedMetadataTests {
  private static let name = "0123456789abcdef-0000000000000001"

  /// Returns the results of reading a text with the cache and without it, or the reason of the error.
  private func both(_ text: String, _ cache: inout TrustedMetadataCache) -> (cached: String, plain: String) {
    // Embedded in a frame, as on the wire.
    let frame = Array("[\(text)]".utf8)
    return frame.withUnsafeBytes { bytes in
      func told(_ read: () throws(RPCError) -> TrustedMetadata) -> String {
        do throws(RPCError) {
          let told = try read()
          let entries = told.metadata.entries.map { "\($0.key)=\($0.value)" }.joined(separator: ";")
          return "\(entries) \(told.principal?.name ?? "-") \(told.principal?.scopes.joined(separator: ",") ?? "-")"
        } catch {
          return error.reason
        }
      }
      let range = 1..<(frame.count - 1)
      return (
        told { () throws(RPCError) in try cache.read(bytes, range) },
        told { () throws(RPCError) in
          let metadata = try Metadata(object: bytes, range)
          return TrustedMetadata(metadata: metadata, principal: try Principal(trusted: metadata))
        }
      )
    }
  }

  @Test func cachedAndUncachedReadsAgree() {
    let id = "\"campanile-request-id\":\"\(Self.name)\""
    let long = String(repeating: "x", count: 600)
    let context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let trace = "\"traceparent\":\"\(context)\""
    let texts = [
      "{\(trace),\(id)}", "{ \(trace),\(id)}", "{\"campanile-principal\":\"user/anna\",\(trace),\(id)}", "{\(trace)}",
      "{\"campanile-principal\":\"user/anna\",\(trace) ,\(id)}", "{\(trace),\(trace),\(id)}", "{\(id),\(trace)}",
      "{\(trace),\"campanile-principal\":\"user/anna\",\(id)}", "{\(id),\(trace),\(id)}",
      "{\"traceparent\":\"00-1\",\(trace),\(id)}", "{\"traceparent\":[\"00-1\"],\(trace),\(id)}",
      "{\"traceparent\":\"\(context.dropLast())é\",\(id)}", "{\"traceparent\":\"\(context.dropLast(2))\\\"\",\(id)}",
      "{\"a\":\",\\\"traceparent\\\":\\\"\(context)\",\(id)}", "{\"a\":5,\(trace),\(id)}",
      "{}", "{\(id)}", "{ \(id) }", "{\"campanile-principal\":\"user/anna\",\(id)}",
      "{\"campanile-principal\":\"user/anna\" , \(id)}", "{\"campanile-principal\":\"user/anna\",\(id),\"a\":\"b\"}",
      "{\"campanile-principal\":\"user/anna\",\"campanile-scopes\":\"a b\",\(id)}", "{\(id),\(id)}",
      "{\"campanile-principal\":\"nobody\",\(id)}", "{\"a\":[\"1\",\"2\"],\(id)}", "{\"a\":5,\(id)}",
      "{\"A\":\"b\",\(id)}", "{\"a\":\"\(long)\",\(id)}", "{\"a\":\"\(long)\"}", "{\"a\":\"x\\\\\",\(id)}",
      "{\"a\":\",\\\"campanile-request-id\\\":\\\"\(Self.name)\"}",
      "{\"campanile-principal\":\"user/anna\",\"campanile-request-id\":\"other\"}",
      "{\"campanile-principal\":\"user/anna\",\"campanile-request-id\":\"\(Self.name.dropLast())é\"}",
    ]
    var cache = TrustedMetadataCache()
    for _ in 0..<2 {
      for text in texts {
        let (cached, plain) = both(text, &cache)
        #expect(cached == plain, "\(text)")
      }
    }
  }

  @Test(
    "a malformed principal, scope or address is rejected, not read as another caller",
    arguments: [
      (#""campanile-principal":"user/a+b@x.it""#, "PRINCIPAL_INVALID"),
      (#""campanile-principal":"user/ada","campanile-device":"a b""#, "DEVICE_INVALID"),
      (#""campanile-principal":"user/ada","campanile-device":["a","b"]"#, "DEVICE_INVALID"),
      (#""campanile-device":"watch""#, "DEVICE_INVALID"),
      (#""campanile-principal":"alice""#, "PRINCIPAL_INVALID"),
      (#""campanile-principal":"user/""#, "PRINCIPAL_INVALID"),
      (##""campanile-principal":"""##, "PRINCIPAL_INVALID"), (#""campanile-principal":"robot/a""#, "PRINCIPAL_INVALID"),
      (#""campanile-principal":["user/a","user/b"]"#, "PRINCIPAL_INVALID"),
      (##""campanile-principal":"user/a","campanile-scopes":"""##, "SCOPES_INVALID"),
      (#""campanile-principal":"user/a","campanile-scopes":"a  b""#, "SCOPES_INVALID"),
      (#""campanile-principal":"user/a","campanile-scopes":"Admin""#, "SCOPES_INVALID"),
      (#""campanile-principal":"user/a","campanile-scopes":["a","b"]"#, "SCOPES_INVALID"),
      (#""campanile-scopes":"admin""#, "SCOPES_INVALID"),
      (##""campanile-remote-address":"""##, "ADDRESS_INVALID"),
      (#""campanile-remote-address":"a b""#, "ADDRESS_INVALID"),
      (#""campanile-remote-address":["::1","::2"]"#, "ADDRESS_INVALID"),
    ])
  func malformedCallersAreRejected(members: String, reason: String) {
    var cache = TrustedMetadataCache()
    for text in ["{\(members)}", "{\(members),\"campanile-request-id\":\"\(Self.name)\"}"] {
      for _ in 0..<2 {
        let (cached, plain) = both(text, &cache)
        #expect(cached == reason && plain == reason)
      }
    }
    #expect(cache.count == 0)
  }

  @Test(arguments: ["192.0.2.1", "::1", "fe80::1%eth0", "2001:DB8::1"])
  func validAddressesAreAccepted(address: String) throws {
    #expect(try Principal(trusted: ["campanile-remote-address": address]) == nil)
  }

  @Test func cacheHandlesMoreCallersThanSlots() {
    var cache = TrustedMetadataCache()
    for round in 0..<3 {
      for caller in 0..<1_000 {
        let head = "{\"campanile-principal\":\"user/u\(caller)\",\"campanile-request-id\":\"0123456789abcdef-"
        let (cached, plain) = both(head + "000000000000000\(round)\"}", &cache)
        #expect(cached == plain)
        #expect(cached.contains("user/u\(caller) "))
      }
    }
  }

  @Test func traceContextIsNotCached() throws {
    var cache = TrustedMetadataCache()
    for number in 10..<60 {
      let trace = "\"traceparent\":\"00-0af7651916cd43dd8448eb211c8031\(number)-b7ad6b7169203331-01\""
      for member in ["", "\(trace),"] {
        let text = "{\"campanile-principal\":\"user/anna\",\(member)\"campanile-request-id\":\"\(Self.name)\"}"
        let (cached, plain) = both(text, &cache)
        #expect(cached == plain && cached.contains("user/anna "))
      }
    }
    #expect(cache.count == 1)
  }

  @Test func requestIDBehavesLikeOtherEntries() throws {
    let text = Array("{\"a\":\"b\",\"campanile-request-id\":\"\(Self.name)\"}".utf8)
    var cache = TrustedMetadataCache()
    var metadata = try text.withUnsafeBytes { try cache.read($0, 0..<text.count) }.metadata
    let spelled: Metadata = ["a": "b", "campanile-request-id": Self.name]
    #expect(metadata == spelled && metadata.hashValue == spelled.hashValue && metadata.sizeBytes == spelled.sizeBytes)
    #expect(metadata[Metadata.requestIDKey] == Self.name && metadata.values(Metadata.requestIDKey) == [Self.name])
    metadata.add("c", for: "d")
    #expect(metadata.entries.map(\.key) == ["a", "campanile-request-id", "d"])
    metadata.removeReserved()
    #expect(metadata.entries.map(\.key) == ["a", "d"])
  }
}

import CampanileAPI
import CampanileContract
import Testing

@Suite struct ContractCommandTests {
  let contract: Contract
  static let start = #"curl -H "Authorization: Bearer $CAMPANILE_KEY""#
  static let json = "-H 'Content-Type: application/json' -d"
  static let gateway = "http://127.0.0.1:7480"
  static let bucket = gateway + "/notifications/v1/buckets/BUCKET_ID"

  init() throws { contract = try Contract(descriptorSet: DescriptorSet.serializedBytes) }

  private func method(_ name: String) throws -> Contract.Method {
    try #require(contract.methods.first { $0.path.hasSuffix("/" + name) })
  }

  @Test(arguments: [
    ("ListBuckets", "campanile call ListBuckets"),
    ("UpdateBucket", #"campanile call UpdateBucket '{"bucket":{"id":"BUCKET_ID","name":"Builds"}}'"#),
    ("WatchNotifications", "campanile watch WatchNotifications"),
    ("ImportUserData", "campanile call ImportUserData '{}'"),
    ("Chat", "campanile call Chat '{}'"),
  ])
  func commandLineHasTheExample(name: String, line: String) throws {
    #expect(contract.commandLine(of: try method(name)) == line)
  }

  @Test(arguments: [
    ("UpdateBucket", "PATCH", #"\#(json) '{"bucket":{"name":"Builds"}}' \#(bucket)"#),
    ("DeleteBucket", "DELETE", bucket),
    ("ListBuckets", "", "\(gateway)/notifications/v1/buckets"),
    ("SearchNotifications", "", "'\(gateway)/notifications/v1/notifications:search?query=build%20pass*'"),
  ])
  func curlLineHasPathBodyAndQuery(name: String, verb: String, rest: String) throws {
    let verb = verb.isEmpty ? "" : "-X \(verb) "
    let expected = "curl \(verb)" + Self.start.dropFirst(5) + " " + rest
    #expect(contract.curlLine(of: try method(name)) == expected)
  }

  @Test func curlLineNeedsNoKeyForPublicMethods() throws {
    let line = try #require(contract.curlLine(of: try method("PublishWithKey")))
    #expect(line.hasPrefix("curl \(Self.json) '{") && line.hasSuffix("}' \(Self.gateway)/notifications/v1/publish"))
  }

  @Test func curlLineOfAStreamWithoutRESTPathAsksForEvents() throws {
    let line = try #require(contract.curlLine(of: try method("WatchChangedUsers")))
    #expect(line.hasPrefix("curl -N ") && line.contains(" -H 'Accept: text/event-stream' \(Self.json) "))
    #expect(line.hasSuffix("\(Self.gateway)/campanile.notifications.v1.ContainersService/WatchChangedUsers"))
  }

  @Test func curlCannotStreamRequests() throws {
    #expect(contract.curlLine(of: try method("ImportUserData")) == nil)
  }

  @Test func reasonsExcludeStatusesAndEnumValues() throws {
    let reasons = contract.reasons(of: try method("AcceptInvitation"))
    #expect(reasons.contains("INVITATION_ENDED") && reasons.contains("SHARES_EXHAUSTED"))
    #expect(!reasons.contains("FAILED_PRECONDITION") && !reasons.contains("RESOURCE_EXHAUSTED"))
    #expect(contract.reasons(of: try method("UpdateBucket")).contains("COLOR_INVALID"))
    #expect(contract.reasons(of: try method("BatchCreateNotifications")).contains("ENUM_UNKNOWN"))
  }

  @Test func reasonsIncludeThoseOfTheOption() throws {
    #expect(contract.reasons(of: try method("GetBucket")) == ["BUCKET_NOT_FOUND"])
    #expect(contract.reasons(of: try method("SetDeviceConnection")).contains("DEVICES_EXHAUSTED"))
  }

  @Test func enumsHaveTheExampleOfTheirRules() throws {
    #expect(contract.commandLine(of: try method("RecordDeliveries")).contains(#""outcome":"DELIVERY_OUTCOME_PUSHED""#))
  }

  @Test func ambiguousNamesAreQualified() throws {
    for method in contract.methods {
      let name = contract.shortName(of: method)
      #expect(
        contract.methods.filter { ("." + $0.path).hasSuffix("/" + name) || ("." + $0.path).hasSuffix("." + name) }.count
          == 1)
    }
  }
}

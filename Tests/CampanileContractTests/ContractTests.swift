import CampanileAPI
import CampanileCodec
import CampanileContract
import Testing

@Suite struct ContractTests {
  let contract: Contract

  init() throws { contract = try Contract(descriptorSet: DescriptorSet.serializedBytes) }

  @Test func readsMethodsWithTheirOptions() throws {
    let login = try #require(contract.method("campanile.attendance.v1.SessionsService/Login"))
    #expect(login.access.scope == "public")
    #expect(login.httpRules.map(\.verb) == ["POST"])
    #expect(login.requestType == "campanile.attendance.v1.LoginRequest")
    #expect(login.documentation.summary == "Login opens a session of 8 hours.")
    #expect(login.documentation.reasons.contains("LOGIN_THROTTLED"))
    let watch = try #require(contract.method("campanile.notifications.v1.NotificationsService/WatchNotifications"))
    #expect(watch.streamsResponses && !watch.streamsRequests)
  }

  @Test func readsFieldsWithTheirConstraints() throws {
    let bucket = try #require(contract.messages["campanile.notifications.v1.Bucket"])
    #expect(bucket.field("name").map(contract.phrases) == ["1 to 128 characters"])
    #expect(bucket.field("name")?.rules.reasons == ["REQUIRED", "TOO_LONG", "TEXT_INVALID"])
    #expect(bucket.field("color")?.rules.reasons.contains("COLOR_INVALID") == true)
    #expect(bucket.field("color")?.isOptional == true)
    #expect(bucket.field("id")?.documentation.text.hasPrefix("Set by the server") == true)
  }

  @Test func listsOfEnumsHaveTheNamesOfTheirValues() throws {
    let request = try #require(contract.messages["campanile.notifications.v1.CreateInviteCodeRequest"])
    let role = try #require(request.field("role"))
    #expect(contract.phrases(of: role) == ["required", "one of `BUCKET_ROLE_READER`, `BUCKET_ROLE_PUBLISHER`"])
    #expect(role.rules.reasons == ["ENUM_UNKNOWN", "ENUM_UNSPECIFIED"])
    #expect(contract.example(of: role) == .string("BUCKET_ROLE_READER"))
  }

  /// Every request of the suite with constraints: its example must be free of violations that come from them.
  @Test func examplesHaveTheRequiredFields() throws {
    #expect(
      contract.example(of: "campanile.notifications.v1.CreateBucketRequest")
        == .object(["bucket": .object(["name": .string("Builds")])]))
    for method in contract.methods {
      guard case .object(let members) = contract.example(of: method.requestType) else {
        Issue.record("\(method.path): not an object")
        continue
      }
      for field in contract.messages[method.requestType]?.fields ?? [] where field.rules.isRequired {
        #expect(members[field.jsonName] != nil, "\(method.path): \(field.name)")
      }
      for oneof in contract.messages[method.requestType]?.requiredOneofs ?? [] {
        let names = contract.messages[method.requestType]?.fields.filter { $0.oneof == oneof }.map(\.jsonName) ?? []
        #expect(names.filter { members[$0] != nil }.count == 1, "\(method.path): \(oneof)")
      }
    }
  }

  @Test(arguments: [
    ("One. Two.", "One."), (" One line\n goes on.\n\n Second.", "One line goes on."), ("Only", "Only"), ("", ""),
    ("Fails: with this", "Fails."),
  ])
  func summaryIsTheFirstSentence(comment: String, summary: String) {
    #expect(Documentation(comment).summary == summary)
  }

  @Test func itemsOfAListAreParagraphs() {
    #expect(Documentation(" Two:\n - one\n   more\n - two\n").paragraphs == ["Two:", "- one more", "- two"])
  }
}

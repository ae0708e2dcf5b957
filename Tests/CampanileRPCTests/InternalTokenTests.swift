import Testing

@testable import CampanileRPC

@Suite struct InternalTokenTests {
  private func isTrusted(_ configured: String?, _ presented: String) -> Bool {
    if case .trusted = InternalTokenAuthenticator(token: configured).authenticate(token: presented) { return true }
    return false
  }

  @Test(arguments: [
    ("one", "one"), ("old\nnew", "old"), ("old\nnew", "new"), ("old\r\nnew\n", "new"), ("\n\nnew", "new"),
  ])
  func acceptsEachConfiguredToken(_ configured: String, _ presented: String) {
    #expect(isTrusted(configured, presented))
  }

  @Test(
    arguments: [
      (nil, ""), (nil, "one"), ("", ""), ("\n", ""), ("one", ""), ("one", "on"), ("one", "one1"), ("one", "onf"),
      ("old\nnew", "old\nnew"), ("old\nnew", "oldnew"), ("old\nnew", "\n"), ("old\nnew", "nex"),
    ] as [(String?, String)])
  func rejectsOtherTokens(_ configured: String?, _ presented: String) {
    #expect(!isTrusted(configured, presented))
  }

  @Test func presentsFirstToken() {
    #expect(InternalTokenAuthenticator.presented("one") == "one")
    #expect(InternalTokenAuthenticator.presented("new\nold\n") == "new")
    #expect(InternalTokenAuthenticator.presented("") == "")
  }
}

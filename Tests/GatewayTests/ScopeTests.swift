import CampanileRPC
import Testing

@testable import Gateway

@Suite struct ScopeTests {
  private let services = ["notifications", "sync"]
  private func rights(_ scopes: String...) -> AccessRights {
    AccessRights(scopes.compactMap { Scope($0) }, services: services)
  }
  private func requirement(_ kind: Requirement.Kind, _ index: Int = 0) -> Requirement {
    Requirement(kind: kind, serviceIndex: index)
  }

  @Test(arguments: [
    "admin", "sync", "sync:read", "sync:write", "sync:publish", "sync:operate", "a", "my-service2",
    String(repeating: "a", count: 32),
  ])
  func validScopesAreParsed(text: String) { #expect(Scope(text)?.description == text) }

  @Test(arguments: [
    "", ":", ":read", "sync:", "sync:delete", "sync:read:write", "Sync", "2sync", "-sync", "sync ", "admin:read",
    "admin:",
    "sý", "k_aaaaaaaaaaaa", String(repeating: "a", count: 33),
  ])
  func invalidScopesAreRefused(text: String) { #expect(Scope(text) == nil) }

  @Test func scopesGrantOnlyTheirOwnRights() {
    let read = requirement(.read), write = requirement(.write)
    #expect(rights("notifications:read").allows(read) && !rights("notifications:read").allows(write))
    #expect(!rights("notifications:write").allows(read) && rights("notifications:write").allows(write))
    #expect(rights("notifications").allows(read) && rights("notifications").allows(write))
    #expect(!rights("notifications").allows(requirement(.read, 1)))
    #expect(!rights("notifications").allows(requirement(.admin)))
    #expect(rights("notifications").allows(requirement(.open)))
    #expect(rights("sync:read", "notifications:write").allows(requirement(.read, 1)))
    #expect(!rights("sync:read", "notifications:write").allows(requirement(.write, 1)))
    let publish = requirement(.publish), operate = requirement(.operate)
    #expect(rights("notifications:publish").allows(publish))
    for other: Requirement.Kind in [.read, .write, .operate, .admin] {
      #expect(!rights("notifications:publish").allows(requirement(other)))
    }
    #expect(rights("notifications:write").allows(publish) && !rights("notifications:write").allows(operate))
    #expect(rights("notifications:operate").allows(operate) && !rights("notifications:operate").allows(write))
    #expect(rights("notifications").allows(publish) && rights("notifications").allows(operate))
    #expect(!rights("notifications:read").allows(publish))
  }

  @Test func absentScopesGrantReadWriteAndPublish() {
    for index in [0, 1, 63] {
      for kind: Requirement.Kind in [.read, .write, .publish] { #expect(rights().allows(requirement(kind, index))) }
      for kind: Requirement.Kind in [.operate, .admin] { #expect(!rights().allows(requirement(kind, index))) }
    }
  }

  @Test func adminGrantsEverything() {
    for kind: Requirement.Kind in [.open, .admin, .read, .write, .publish, .operate] {
      #expect(rights("admin").allows(requirement(kind, 40)))
    }
  }

  @Test func scopesOfMissingServicesGrantNothing() {
    for kind: Requirement.Kind in [.admin, .read, .write, .publish, .operate] {
      for index in 0..<64 { #expect(!rights("attendance").allows(requirement(kind, index))) }
    }
  }
}

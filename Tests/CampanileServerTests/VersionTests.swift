import CampanileServer
import Testing

@Test func versionIsSemantic() throws {
  let parts = CampanileVersion.string.split(separator: ".")
  #expect(parts.count == 3)
  #expect(parts.allSatisfy { UInt($0) != nil })
}

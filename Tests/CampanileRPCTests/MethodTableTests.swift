import CampanileRPC
import Testing

@Suite struct MethodTableTests {
  @Test func namesAreFoundAmongMany() {
    let entries = (0..<500).map { (name: "campanile.service\($0 % 7).v1.Service/Method\($0)", value: $0) }
    let names = MethodTable(entries + [(name: entries[3].name, value: -3)])
    for entry in entries {
      let found = Array(entry.name.utf8).withUnsafeBytes { names[$0] }
      #expect(found == (entry.value == 3 ? -3 : entry.value))
      #expect(Array((entry.name + "x").utf8).withUnsafeBytes { names[$0] } == nil)
      #expect(Array(entry.name.dropLast().utf8).withUnsafeBytes { names[$0] } != entry.value)
    }
    #expect(names.values.count == 500)
    #expect(names[UnsafeRawBufferPointer(start: nil, count: 0)] == nil)
  }
}

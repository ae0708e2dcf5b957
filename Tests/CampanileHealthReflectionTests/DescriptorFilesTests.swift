import CampanileAPI
import CampanileRPC
import Testing

@testable import CampanileHealthReflection

@Suite struct DescriptorFilesTests {
  @Test func subsetContainsFilesAndImports() {
    let all = DescriptorFiles(DescriptorSet.serializedBytes)
    #expect(all.files.contains { $0.name == "grpc/health/v1/health.proto" && $0.services == ["Health"] })
    let health = DescriptorFiles(all.set(of: ["grpc.health.v1.Health"]))
    #expect(health.files.map(\.name) == ["grpc/health/v1/health.proto"])
    let notifications = DescriptorFiles(all.set(of: ["campanile.notifications.v1.NotificationsService"]))
    let names = notifications.files.map(\.name)
    #expect(names.contains("campanile/notifications/v1/notification.proto"))
    #expect(!names.contains("grpc/health/v1/health.proto"))
    for file in notifications.files {
      for dependency in file.dependencies { #expect(names.contains(dependency)) }
    }
    #expect(all.set(of: ["no.such.Service"]).isEmpty)
    #expect(all.set(of: []).isEmpty)
  }

  @Test func concatenatedSetsHaveEachFileOnce() {
    let once = DescriptorFiles(DescriptorSet.serializedBytes).files.map(\.name)
    #expect(DescriptorFiles(DescriptorSet.serializedBytes + DescriptorSet.serializedBytes).files.map(\.name) == once)
  }

  @Test func truncatedAndDamagedSetsAreDecodedPartially() {
    let bytes = DescriptorSet.serializedBytes
    let count = DescriptorFiles(bytes).files.count
    for length in stride(from: 0, to: bytes.count, by: 97) {
      #expect(DescriptorFiles(Array(bytes.prefix(length))).files.count <= count)
    }
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var damaged = bytes
      for _ in 0..<5 {
        damaged[Int.random(in: 0..<damaged.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
      }
      _ = DescriptorFiles(damaged).set(of: ["grpc.health.v1.Health"])
    }
    #expect(DescriptorFiles([0x0A] + [UInt8](repeating: 0xFF, count: 12)).files.isEmpty)
  }
}

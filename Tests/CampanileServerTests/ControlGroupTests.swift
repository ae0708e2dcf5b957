import CampanileRPC
import Testing

@testable import CampanileServer

@Suite struct ControlGroupTests {
  private func group(_ files: [String: String]) -> ControlGroup { ControlGroup { files[$0] } }

  @Test func lowestLimitOfAncestorsCounts() {
    #expect(
      group([
        "/proc/self/cgroup": "0::/system.slice/campanile.service\n",
        "/sys/fs/cgroup/system.slice/campanile.service/memory.max": "max\n",
        "/sys/fs/cgroup/system.slice/memory.max": "1073741824\n", "/sys/fs/cgroup/memory.max": "2147483648\n",
      ]).memoryBytesMax == 1 << 30)
    #expect(
      group(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "536870912\n"]).memoryBytesMax == 512 << 20)
  }

  @Test func versionOneAndContainersAreSupported() {
    let text = "12:cpu,cpuacct:/docker/ab\n5:memory:/docker/ab\n0::/docker/ab\n"
    let root = "/sys/fs/cgroup/memory"
    #expect(
      group(["/proc/self/cgroup": text, "\(root)/docker/ab/memory.limit_in_bytes": "268435456\n"]).memoryBytesMax
        == 256 << 20)
    // The path is the host's and does not exist in the container.
    #expect(
      group(["/proc/self/cgroup": text, "\(root)/memory.limit_in_bytes": "268435456\n"]).memoryBytesMax == 256 << 20)
    #expect(
      group(["/proc/self/cgroup": text, "\(root)/memory.limit_in_bytes": "9223372036854771712\n"]).memoryBytesMax == nil
    )
  }

  @Test(arguments: ["", "x", "0::", "0:::::\n", "0::/../..\n", "5:memory:/a\n"])
  func unreadableFilesMeanNoLimit(text: String) {
    #expect(group(["/proc/self/cgroup": text]).memoryBytesMax == nil)
    #expect(group([:]).memoryBytesMax == nil)
    #expect(group(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": text]).memoryBytesMax == nil)
  }

  private struct Case: Sendable {
    var arguments: [String] = []
    var limit: Int
    var memoryBytes: Int
    var waitingBytes: Int
  }

  private static let cases = [
    Case(limit: 536_870_912, memoryBytes: 456_340_265, waitingBytes: 57_042_533),
    Case(limit: 67_108_864, memoryBytes: 57_042_480, waitingBytes: 16_777_216),
    Case(limit: 0, memoryBytes: 0, waitingBytes: 67_108_864),
    Case(arguments: ["--max-memory-bytes", "0"], limit: 536_870_912, memoryBytes: 0, waitingBytes: 67_108_864),
    Case(
      arguments: ["--max-memory-bytes", "1073741824"], limit: 536_870_912, memoryBytes: 1_073_741_824,
      waitingBytes: 134_217_728),
    Case(
      arguments: ["--max-waiting-bytes", "8388608"], limit: 536_870_912, memoryBytes: 456_340_265,
      waitingBytes: 8_388_608),
  ]

  @Test(arguments: 0..<6) func settingsOverrideControlGroup(index: Int) throws {
    let expected = Self.cases[index]
    let loader = SettingsLoader(executable: "campanile-test", settings: CommonConfiguration.all(defaultPort: 7499))
    guard case .run(let settings) = try loader.load(arguments: expected.arguments, environment: [:]) else { return }
    let group = group(
      expected.limit == 0 ? [:] : ["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "\(expected.limit)\n"])
    #expect(try MemoryConfiguration.memoryBytesMax(settings, group) == expected.memoryBytes)
    let budget = try MemoryConfiguration.budget(settings, group)
    #expect(budget.totalBytesMax == expected.waitingBytes && budget.holderBytesMax == budget.totalBytesMax / 4)
  }
}

import CampanileBase
import CampanileLoad
import CampanileRPC
import Testing

@testable import CampanileCLI

/// Output of `campanile load` in addition to its report.
@Suite struct LoadSessionTests {
  private func notice(_ hosts: [String], rate: String?) throws -> String? {
    var configuration = ClientConfiguration(host: hosts[0], port: 7400)
    configuration.addresses = hosts.map { .init(host: $0, port: 7400) }
    return try LoadNotice.text(LoadTarget(transport: .rpc(configuration), method: "a.B/C"), rate: rate)
  }

  @Test(arguments: ["127.0.0.1", "127.8.9.10", "localhost", "::1"]) func loopbackNeedsNoNotice(_ host: String)
    throws
  {
    #expect(try notice([host], rate: nil) == nil && notice([host], rate: "900000") == nil)
  }

  /// A host name is not a loopback address, even if it begins like one.
  @Test(arguments: [
    "127.example.com", "127.0.0.1.example.com", "127.0.0", "127.0.0.+1", "127.0.0.256", "::2", "10.0.0.1", "",
  ])
  func otherHostsGetNotice(_ host: String) throws {
    #expect(try notice([host], rate: nil)?.contains("\(host)") == true)
    #expect(try notice([host], rate: "10001")?.contains("10001 calls per second") == true)
    #expect(try notice([host], rate: "1000..20000")?.contains("20000 calls per second") == true)
    #expect(try notice([host], rate: "10000") == nil)
    #expect(try notice(["127.0.0.1", host], rate: nil) != nil)
  }

  @Test func progressLineShowsRemainder() {
    var progress = LoadProgress(
      isWarmingUp: false, callsPerSecond: 1_234.5, p50Ms: 0.5, p99Ms: 2, calls: 900, errors: 1, remainingCalls: nil,
      remainingMs: 8_001)
    #expect(ProgressLine.text(progress) == "1234/s  p50 0.5 ms  p99 2.0 ms  1 errors of 900  9 s left")
    progress.remainingCalls = 77
    #expect(ProgressLine.text(progress).hasSuffix("  77 calls, 9 s left"))
    progress.remainingMs = nil
    #expect(ProgressLine.text(progress).hasSuffix("  77 calls left"))
    progress.isWarmingUp = true
    #expect(ProgressLine.text(progress) == "warming up, 77 calls left")
  }

  @Test func warmUpMayBeZero() {
    for (text, milliseconds) in [("0", 0 as Int64?), ("0s", 0), ("0ms", 0), ("2s", 2_000), ("-1s", nil), ("0x", nil)] {
      #expect(LoadRunCommand.WarmUp(argument: text)?.milliseconds == milliseconds)
    }
  }
}

import ArgumentParser
import CampanilePostgreSQL
import CampanileRPC
import Foundation
import Testing

@testable import CampanileCLI

@Suite struct BackupManifestTests {
  /// Runs `body` with a folder that is removed afterwards.
  private func withFolder<T>(_ body: (String) throws -> T) throws -> T {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
  }

  private func file(_ name: String, _ target: String) -> BackupManifest.File {
    .init(name: name, target: target, sizeBytes: 3, sha256: "00")
  }

  @Test func readsNewestOrGivenManifest() throws {
    try withFolder { folder in
      for stamp in ["20260102T000000Z", "20260101T000000Z"] {
        try BackupManifest(stamp: stamp, files: [file("a-\(stamp).sqlite", "a.sqlite")]).write(folder: folder)
      }
      #expect(try BackupManifest.read(folder: folder, stamp: nil).stamp == "20260102T000000Z")
      #expect(try BackupManifest.read(folder: folder, stamp: "20260101T000000Z").files[0].target == "a.sqlite")
      #expect(throws: UsageError.self) { try BackupManifest.read(folder: folder, stamp: "../x") }
      #expect(throws: UsageError.self) { try BackupManifest.read(folder: folder + "/none", stamp: nil) }
    }
  }

  @Test(arguments: [
    "../a.sqlite", "/etc/passwd", "a/../b", "a//b", "", ".hidden", "a/b/c/d", "a/.b", "a\0b",
  ])
  func rejectsTargetsOutsideFolder(_ target: String) throws {
    try withFolder { folder in
      try BackupManifest(stamp: "s", files: [file("a.sqlite", target)]).write(folder: folder)
      #expect(throws: UsageError.self) { try BackupManifest.read(folder: folder, stamp: "s") }
    }
  }

  @Test(arguments: ["../a.sqlite", "a/b.sqlite", "", ".a"])
  func rejectsNamesOutsideFolder(_ name: String) throws {
    try withFolder { folder in
      try BackupManifest(stamp: "s", files: [file(name, "a.sqlite")]).write(folder: folder)
      #expect(throws: UsageError.self) { try BackupManifest.read(folder: folder, stamp: "s") }
    }
  }

  @Test func detectsChangedFile() throws {
    try withFolder { folder in
      try Data("abc".utf8).write(to: URL(fileURLWithPath: folder + "/key"))
      var known = file("key", "signing-keys/key")
      known.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      let whole = BackupManifest(stamp: "s", files: [known])
      #expect(BackupCheck(manifest: whole, folder: folder).faults() == [])
      try Data("abd".utf8).write(to: URL(fileURLWithPath: folder + "/key"))
      #expect(BackupCheck(manifest: whole, folder: folder).faults().count == 1)
      try Data("abcd".utf8).write(to: URL(fileURLWithPath: folder + "/key"))
      #expect(BackupCheck(manifest: whole, folder: folder).faults().count == 1)
      try FileManager.default.removeItem(atPath: folder + "/key")
      #expect(BackupCheck(manifest: whole, folder: folder).faults().count == 1)
    }
  }

  @Test func restoresOnlyIntoEmptyFolders() throws {
    try withFolder { folder in
      try FileManager.default.createDirectory(atPath: folder + "/to/part", withIntermediateDirectories: true)
      try FileManager.default.createDirectory(atPath: folder + "/to/other", withIntermediateDirectories: true)
      try Data("abc".utf8).write(to: URL(fileURLWithPath: folder + "/key"))
      var known = file("key", "part/key")
      known.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      let restoration = Restoration(
        manifest: BackupManifest(stamp: "s", files: [known]), source: folder, target: folder + "/to")
      try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/to/part/there"))
      #expect(throws: UsageError.self) { try restoration.run() }
      #expect(!FileManager.default.fileExists(atPath: folder + "/to/part/key"))
      try FileManager.default.removeItem(atPath: folder + "/to/part/there")
      try restoration.run()
      #expect(FileManager.default.contents(atPath: folder + "/to/part/key") == Data("abc".utf8))
      #expect(throws: UsageError.self) { try restoration.run() }
    }
  }

  @Test func failedRestoreLeavesNoFiles() throws {
    try withFolder { folder in
      try Data("abd".utf8).write(to: URL(fileURLWithPath: folder + "/key"))
      let restoration = Restoration(
        manifest: BackupManifest(stamp: "s", files: [file("key", "key")]), source: folder, target: folder + "/to")
      #expect(throws: UsageError.self) { try restoration.run() }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/to").isEmpty)
    }
  }
}

@Suite struct DoctorTests {
  @Test(
    arguments: [
      (100_000_000, 1_000_000_000_000, Finding.Severity.bad), (900_000_000, 10_000_000_000, .warning),
      (40_000_000_000, 1_000_000_000_000, .warning), (60_000_000_000, 1_000_000_000_000, .good),
    ] as [(Int64, Int64, Finding.Severity)])
  func judgesFreeDiskSpace(_ free: Int64, _ total: Int64, _ severity: Finding.Severity) {
    #expect(DoctorRules.disk(freeBytes: free, totalBytes: total).severity == severity)
  }

  @Test func judgesModesAndOwners() {
    #expect(DoctorRules.mode("/f", mode: 0o100600, owner: 7, user: 7) == nil)
    #expect(DoctorRules.mode("/f", mode: 0o040700, owner: 7, user: 0) == nil)
    #expect(DoctorRules.mode("/f", mode: 0o100640, owner: 7, user: 7)?.severity == .bad)
    #expect(DoctorRules.mode("/f", mode: 0o100601, owner: 7, user: 7)?.severity == .bad)
    #expect(DoctorRules.mode("/f", mode: 0o100600, owner: 0, user: 7)?.severity == .bad)
  }

  @Test func judgesClock() {
    #expect(DoctorRules.clock(isSynchronized: true, nowSeconds: 1_800_000_000).severity == .good)
    #expect(DoctorRules.clock(isSynchronized: nil, nowSeconds: 1_800_000_000).severity == .good)
    #expect(DoctorRules.clock(isSynchronized: false, nowSeconds: 1_800_000_000).severity == .warning)
    #expect(DoctorRules.clock(isSynchronized: true, nowSeconds: 0).severity == .bad)
  }

  @Test func judgesStandbys() {
    func standby(_ state: String?, isSynchronous: Bool = true, lagBytes: Int64 = 0) -> ServerReport.Standby {
      .init(name: "b", state: state, isSynchronous: isSynchronous, lagBytes: lagBytes)
    }
    func severities(_ standbys: ServerReport.Standby...) -> [Finding.Severity] {
      DoctorRules.standbys(standbys).map(\.severity)
    }
    #expect(severities() == [.warning])
    let other = standby("streaming", isSynchronous: false)
    #expect(severities(standby("streaming"), other) == [.good, .good])
    // One standby fewer, and nothing can be written.
    #expect(severities(standby("streaming")) == [.good, .warning])
    #expect(severities(standby("streaming"), standby("catchup")) == [.good, .warning, .warning])
    #expect(severities(standby("streaming", lagBytes: 100_000_000), other) == [.warning, .good, .warning])
    #expect(severities(standby("streaming", isSynchronous: false)) == [.good, .warning])
    // A user without the right to see more.
    #expect(severities(standby(nil, isSynchronous: false)) == [.good])
  }

  @Test func judgesLeasesAndServersClock() {
    let vacancies = [
      ServerReport.Vacancy(name: "timers", sinceMs: 60_000), ServerReport.Vacancy(name: "relay", sinceMs: 900),
    ]
    let found = DoctorRules.vacancies(vacancies, database: "campanile_sync")
    #expect(found.map(\.detail) == ["campanile_sync: no process has done the work of timers for 60 s"])
    #expect(DoctorRules.serverClock(skewMs: -200).severity == .good)
    #expect(DoctorRules.serverClock(skewMs: -2_000).severity == .warning)
  }

  @Test func judgesWriteAheadLogSize() {
    #expect(DoctorRules.wal("a", walBytes: 4_000_000, databaseBytes: 0) == nil)
    #expect(DoctorRules.wal("a", walBytes: 300_000_000, databaseBytes: 10_000_000_000) == nil)
    #expect(DoctorRules.wal("a", walBytes: 300_000_000, databaseBytes: 1_000)?.severity == .warning)
  }

  /// Every finding with a problem has advice.
  @Test func everyProblemHasAdvice() {
    let doctor = Doctor(folder: "/nonexistent/campanile", endpoints: nil, portBase: 7400, pushHosts: ["nonsense"])
    for finding in doctor.findings() { #expect(finding.advice.isEmpty == (finding.severity == .good), "\(finding)") }
  }

  @Test func findsProblemsOfFolder() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(
      atPath: folder + "/apns", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let doctor = Doctor(folder: folder, endpoints: nil, portBase: 7400, pushHosts: [])
    func bad() -> Set<String> { Set(doctor.findings().filter { $0.severity == .bad }.map(\.check)) }
    let before = bad()
    try Data("no database".utf8).write(to: URL(fileURLWithPath: folder + "/sync.sqlite"))
    try Data("no key".utf8).write(to: URL(fileURLWithPath: folder + "/apns/AuthKey_ABCDEFGHIJ.p8"))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder + "/sync.sqlite")
    #expect(bad().subtracting(before) == ["databases", "signing keys", "file modes"])
  }
}

@Suite struct EnvironmentTests {
  private let all = [
    "CAMPANILE_ADDRESS": "gateway:7400", "CAMPANILE_TLS_TRUST": "/trust.pem", "CAMPANILE_TLS_SERVER_NAME": "name",
    "CAMPANILE_KEY": "cmp_1", "HOME": "/nonexistent",
  ]

  @Test func environmentSelectsServer() throws {
    let options = try ConnectionOptions.parse([])
    #expect(try options.destination(environment: all) == Destination(host: "gateway", port: 7400, token: "cmp_1"))
    #expect(options.clientTLS(all)?.trustRootsPath == "/trust.pem")
    #expect(options.clientTLS(all)?.serverName == "name")
    #expect(options.clientTLS([:]) == nil)
  }

  @Test func commandLineOverridesEnvironment() throws {
    let options = try ConnectionOptions.parse(["--address", "127.0.0.1:7401"])
    #expect(try options.destination(environment: all).port == 7401)
    #expect(options.clientTLS(all) == nil)
    let trusting = try ConnectionOptions.parse(["--address", "127.0.0.1:7401", "--tls-trust", "/mine.pem"])
    #expect(trusting.clientTLS(all)?.trustRootsPath == "/mine.pem")
    #expect(trusting.clientTLS(all)?.serverName == nil)
    let local = try ConnectionOptions.parse(["--data-dir", "/nonexistent"])
    #expect(throws: UsageError.self) { try local.destination(environment: all) }
    #expect(local.clientTLS(all) == nil)
  }
}

import CampanileAPI
import Foundation
import TestSupport
import Testing

@testable import CampanileCLI

@Suite struct SuitePlanTests {
  let plan = SuitePlan(binaryFolder: "/bin", dataFolder: "/data", portBase: 7400)

  @Test func assignsPortsToMembers() throws {
    let gateway = try #require(SuiteMember.all.first { $0.isGateway })
    let notifications = try #require(SuiteMember.all.first { $0.name == "notifications" })
    #expect(plan.ports(of: gateway) == MemberPorts(rpc: 7400, http: 7480, admin: 7600))
    #expect(plan.ports(of: notifications) == MemberPorts(rpc: 7401, http: 7501))
    var free = plan
    free.portBase = 0
    #expect(free.ports(of: gateway) == MemberPorts(rpc: 0, http: 0))
  }

  @Test func memberNamesAndPortsAreUnique() {
    let members = SuiteMember.all
    #expect(Set(members.map(\.name)).count == members.count)
    #expect(Set(members.flatMap { [plan.ports(of: $0).rpc, plan.ports(of: $0).http] }).count == 2 * members.count)
    #expect(members.filter(\.isGateway).count == 1)
  }

  @Test func passesBackendsToGateway() throws {
    let gateway = try #require(SuiteMember.all.first { $0.isGateway })
    let running = ["notifications", "activities", "apns-simulator"].enumerated().map { offset, name in
      (name, MemberPorts(rpc: 7401 + offset, http: 1))
    }
    let arguments = plan.arguments(
      of: gateway, ports: plan.ports(of: gateway), running: Dictionary(uniqueKeysWithValues: running))
    let position = try #require(arguments.firstIndex(of: "--backends"))
    #expect(arguments[position + 1] == "notifications=127.0.0.1:7401,activities=127.0.0.1:7402")
    #expect(!arguments.joined(separator: " ").contains("cmp_"))
  }

  @Test("replicas have ports of their own, and everyone knows all of them")
  func replicasAreKnown() throws {
    let plan = SuitePlan(
      binaryFolder: "/bin", dataFolder: "/data", portBase: 7400, store: "postgresql://db", replicas: 3)
    #expect(plan.members.count == 3 * (SuiteMember.all.count - 1) + 1)
    let ports = plan.members.map { plan.ports(of: $0) }
    let all = ports.flatMap { [$0.rpc, $0.http] + [$0.admin, $0.service].compactMap { $0 } }
    #expect(Set(all).count == all.count)
    #expect(Set(plan.members.map { plan.readyFile(of: $0) }).count == plan.members.count)
    let running = Dictionary(uniqueKeysWithValues: plan.members.map { ($0.name, plan.ports(of: $0)) })
    func value(_ flag: String, of name: String) throws -> Set<Substring> {
      let member = try #require(plan.members.first { $0.name == name })
      let arguments = plan.arguments(of: member, ports: plan.ports(of: member), running: running)
      let position = try #require(arguments.firstIndex(of: flag))
      return Set(arguments[position + 1].split(separator: ","))
    }
    for gateway in ["gateway", "gateway-2", "gateway-3"] {
      let backends = try value("--backends", of: gateway)
      #expect(
        backends.isSuperset(of: ["sync=127.0.0.1:7403", "sync=127.0.0.1:8403", "sync=127.0.0.1:9403"])
          && backends.count == 13)
    }
    #expect(
      try value("--activities-address", of: "sync-2") == ["127.0.0.1:7402", "127.0.0.1:8402", "127.0.0.1:9402"])
    #expect(plan.members.first { $0.name == "gateway-2" }?.after == ["gateway"])
  }

  @Test("the gateway routes the simulator's service, whose port a restart keeps")
  func simulatorServiceIsRouted() throws {
    let gateway = try #require(SuiteMember.all.first { $0.isGateway })
    let simulator = MemberPorts(rpc: 1, http: 2, service: 3)
    let running = ["activities": MemberPorts(rpc: 4, http: 5), "apns-simulator": simulator]
    let arguments = plan.arguments(of: gateway, ports: plan.ports(of: gateway), running: running)
    let position = try #require(arguments.firstIndex(of: "--backends"))
    #expect(Set(arguments[position + 1].split(separator: ",")) == ["simulator=127.0.0.1:3", "activities=127.0.0.1:4"])
    func service(_ ports: MemberPorts) -> String? {
      let arguments = plan.arguments(of: .simulator, ports: ports, running: [:])
      return arguments.firstIndex(of: "--rpc-port").map { arguments[$0 + 1] }
    }
    #expect(service(simulator) == "3" && service(MemberPorts(rpc: 1, http: 2)) == nil)
    #expect(plan.ports(of: .simulator).service == plan.ports(of: .simulator).rpc + 1)
  }

  @Test func passesAPNsServersToActivities() throws {
    let activities = try #require(SuiteMember.all.first { $0.name == "activities" })
    func apns(_ plan: SuitePlan) -> [String] {
      let arguments = plan.arguments(
        of: activities, ports: plan.ports(of: activities), running: ["apns-simulator": MemberPorts(rpc: 9, http: 1)])
      return Array(arguments[(arguments.firstIndex(of: "--signing-keys-dir") ?? 0)...])
    }
    #expect(
      apns(plan) == [
        "--signing-keys-dir", "/data/apns", "--apns-endpoint",
        "development=127.0.0.1:9,production=127.0.0.1:9,sandbox=127.0.0.1:9", "--apns-trust",
        "/data/apns-simulator/trust.pem",
      ])
    let other = SuitePlan(
      binaryFolder: "/bin", dataFolder: "/data", portBase: 7400,
      apns: try APNsServers(["sandbox=[::1]:5,mine=a:6", "production=b:7"], trustFile: "/t"))
    #expect(
      apns(other).dropFirst(2) == [
        "--apns-endpoint", "development=[::1]:5,mine=a:6,production=b:7,sandbox=[::1]:5", "--apns-trust", "/t",
      ])
    #expect(!other.members.contains { $0.role == .peer } && other.members.count == SuiteMember.all.count - 1)
  }

  @Test func passesAddressesOfLinkedMembers() throws {
    func links(_ plan: SuitePlan, _ name: String, running: [String: MemberPorts] = [:]) throws -> [String] {
      let member = try #require(plan.members.first { $0.name == name })
      let arguments = plan.arguments(of: member, ports: plan.ports(of: member), running: running)
      return zip(arguments, arguments.dropFirst()).filter { $0.0.hasSuffix("s-address") }.map { "\($0.0) \($0.1)" }
    }
    #expect(try links(plan, "notifications") == ["--activities-address 127.0.0.1:7402"])
    #expect(try links(plan, "activities") == ["--notifications-address 127.0.0.1:7401"])
    #expect(
      try links(plan, "attendance") == [
        "--activities-address 127.0.0.1:7402", "--notifications-address 127.0.0.1:7401",
      ])
    #expect(try links(plan, "gateway") == [])
    // If the system chooses the ports, those of linked members are reserved before the start.
    var free = plan
    free.portBase = 0
    var next = 40_000
    free.promisePorts {
      next += 1
      return next
    }
    for member in SuiteMember.all {
      let isLinked = SuiteMember.all.contains { $0.links[member.name] != nil }
      #expect((free.ports(of: member).rpc > 40_000) == isLinked)
    }
    let notifications = try #require(SuiteMember.all.first { $0.name == "notifications" })
    let port = free.ports(of: notifications).rpc
    #expect(try links(free, "activities") == ["--notifications-address 127.0.0.1:\(port)"])
    let running = ["notifications": MemberPorts(rpc: 9, http: 1)]
    #expect(try links(free, "activities", running: running) == ["--notifications-address 127.0.0.1:9"])
    #expect(Set(SuiteMember.all.flatMap(\.links.keys)).isSubset(of: SuiteMember.all.map(\.name)))
  }

  @Test func reservesUsablePorts() throws {
    var ports: Set<Int> = []
    for _ in 0..<50 {
      let port = try PromisedPort.pick()
      #expect((1024...65_535).contains(port))
      #expect(ports.insert(port).inserted, "\(port) is already reserved")
    }
  }

  @Test(arguments: ["", "sandbox", "sandbox=", "sandbox=host", "sandbox=:1", "=h:1", "s=h:0", "s=h:65536", "s=h:1,"])
  func rejectsInvalidAPNsServers(text: String) {
    #expect(throws: UsageError.self) { try APNsServers([text], trustFile: nil) }
  }

  @Test func reusesDevelopmentKey() throws {
    let folder = try TemporaryFolder()
    let made = try DevelopmentSigningKey.ensure(folder.path + "/apns")
    #expect(made.publicKeyPem.hasPrefix("-----BEGIN PUBLIC KEY-----"))
    #expect(try DevelopmentSigningKey.ensure(folder.path + "/apns") == made)
    let file = folder.path + "/apns/AuthKey_DEVELOPKEY.p8"
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    let described = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/apns/public/DEVELOPKEY.json"))
    #expect(try JSONDecoder().decode(Endpoints.APNs.self, from: described) == made)
    try Data("nonsense".utf8).write(to: URL(fileURLWithPath: file))
    #expect(throws: UsageError.self) { try DevelopmentSigningKey.ensure(folder.path + "/apns") }
  }

  @Test func restartDelayDoublesAndResets() {
    var policy = RestartPolicy()
    #expect((0..<8).map { _ in policy.delayMs(livedMs: 10) } == [200, 400, 800, 1600, 3200, 6400, 10_000, 10_000])
    for _ in 0..<100 { #expect(policy.delayMs(livedMs: 0) == 10_000) }
    #expect(policy.delayMs(livedMs: 30_000) == 200)
    #expect(policy.delayMs(livedMs: 0) == 400)
  }

  @Test func prefixesLinesWithName() {
    let printer = LogPrinter(names: ["gateway", "up"], isColoured: false)
    #expect(String(decoding: printer.line("up", Array("\u{1b}[31mx\u{1b}[0m".utf8)), as: UTF8.self) == "up      | x\n")
    let coloured = LogPrinter(names: ["gateway", "up"], isColoured: true)
    #expect(
      String(decoding: coloured.line("gateway", Array("x".utf8)), as: UTF8.self)
        == Terminal.Colour.cyan.paint("gateway |", if: true) + " x\n")
  }

  @Test func decodesReadyFile() {
    #expect(ReadyFile.ports(in: Data(#"{"rpc":1,"http":2,"pid":3}"#.utf8)) == MemberPorts(rpc: 1, http: 2))
    for bad in ["", "{", "{\"rpc\":1}", "[]"] { #expect(ReadyFile.ports(in: Data(bad.utf8)) == nil) }
  }

  @Test func reusesInternalToken() throws {
    let folder = try TemporaryFolder()
    let token = try InternalToken.ensure(folder.path + "/t")
    #expect(token.count == 43)
    #expect(try InternalToken.ensure(folder.path + "/t") == token)
    #expect(throws: UsageError.self) { try InternalToken.read(folder.path + "/none") }
  }

  @Test func rejectsInvalidChildArguments() {
    #expect(BoundChild.become(["up"]) == nil)
    #expect(BoundChild.become([]) == nil)
    #expect(BoundChild.become([BoundChild.marker]) == 64)
    #expect(BoundChild.become([BoundChild.marker, "x", "/bin/true"]) == 64)
    // This process is not a child of process 1, so the executable must not start.
    #expect(BoundChild.become([BoundChild.marker, "1", "/bin/true"]) == 127 || getppid() == 1)
  }
}

@Suite struct SampleTests {
  static var path: String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources/CampanileCLI/Resources/sample.json").path
  }

  @Test func sampleCoversAllFeatures() throws {
    let sample = try SampleFile.read(Self.path)
    #expect(sample.users.count >= 3)
    #expect(sample.users.flatMap(\.buckets.buckets).count >= 10)
    let entries = sample.users.flatMap(\.notifications.notifications)
    #expect(entries.count >= 300)
    #expect(Set(entries.map(\.id)).count == entries.count)
    #expect(Set(entries.flatMap(\.attachments).map(\.mediaType)) == ["IMAGE", "VIDEO", "AUDIO", "GIF", "ICON", "FILE"])
    #expect(Set(entries.flatMap { $0.actions.map(\.type) }).count == 8)
    #expect(entries.contains { $0.readAt == nil } && entries.contains { $0.readAt != nil })
    let text = entries.map { $0.title + ($0.body ?? "") }.joined()
    let missing = ["è", "東", "ع", "מ", "🔐", "👨‍👩‍👧‍👦"].filter { !text.contains($0) }
    #expect(missing == [])
  }

  @Test func sampleIsValid() throws {
    for user in try SampleFile.read(Self.path).users {
      let buckets = Set(user.buckets.buckets.map(\.id))
      for entry in user.notifications.notifications {
        #expect(buckets.contains(entry.bucketId))
        let message = entry.message(bucketID: "b_1")
        #expect((1...256).contains(message.title.unicodeScalars.count))
        #expect((message.body ?? "").utf8.count <= 16 * 1024)
        #expect(message.attachments.allSatisfy { $0.mediaType != .unspecified && $0.url.hasPrefix("https://") })
        #expect((message.actions + [message.tapAction].compactMap { $0 }).allSatisfy { $0.type != .unspecified })
        #expect("sample-\(entry.id)".count <= 64)
      }
    }
  }

  @Test func rejectsInvalidFiles() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/x.json"
    try Data("{\"users\":[{}]}".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: UsageError.self) { try SampleFile.read(path) }
    #expect(throws: UsageError.self) { try SampleFile.read(folder.path + "/none") }
  }
}

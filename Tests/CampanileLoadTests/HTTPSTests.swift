import CampanileBase
import CampanileRPC
import Foundation
import NIOSSL
import TestSupport
import Testing

@testable import CampanileLoad

/// Load over HTTPS, with certificates generated for the test.
struct HTTPSTests {
  /// Runs `body` with the port and CA file of a server whose certificate is for `name`.
  private func withServer(named name: String, _ body: (_ port: Int, _ authority: String) async throws -> Void)
    async throws
  {
    let folder = try TemporaryFolder()
    let (authority, key) = (folder.file("server.pem"), folder.file("server.key"))
    try ExternalProgram.makeCertificate(authority, key: key, names: name)
    let context = try NIOSSLContext(
      configuration: .makeServerConfiguration(
        certificateChain: try NIOSSLCertificate.fromPEMFile(authority).map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))))
    try await Servers.withHTTP(tls: context, { _, _ in HTTPAnswer() }) { port in
      try await body(port, authority)
    }
  }

  private func load(_ port: Int, _ tls: ClientTLS?) async throws -> LoadReport {
    var plan = LoadPlan()
    plan.concurrency = 4
    plan.connections = 4
    plan.count = 40
    let target = try HTTPTarget(url: "https://127.0.0.1:\(port)/api", tls: tls)
    return try await LoadRun(
      plan, requests: RequestSet(Array("{}".utf8)), target: LoadTarget(transport: .http(target), method: "a.B/C")
    ).run()
  }

  @Test func callsNeedTrustedCertificateWithName() async throws {
    try await withServer(named: "DNS:server.test") { port, authority in
      let report = try await load(port, ClientTLS(trustRootsPath: authority, serverName: "server.test"))
      #expect(report.calls == 40 && report.errors == 0, "\(report.statuses)")
      let other = try await load(port, ClientTLS(trustRootsPath: authority, serverName: "other.test"))
      #expect(other.statuses["UNAVAILABLE"]?.calls == 40)
      // An unknown CA is not trusted.
      let unknown = try await load(port, ClientTLS(serverName: "server.test"))
      #expect(unknown.statuses["UNAVAILABLE"]?.calls == 40)
    }
  }

  @Test func certificateMayContainAddress() async throws {
    try await withServer(named: "IP:127.0.0.1") { port, authority in
      let report = try await load(port, ClientTLS(trustRootsPath: authority))
      #expect(report.calls == 40 && report.errors == 0, "\(report.statuses)")
    }
  }

  @Test func serverWithoutTLSIsNotCalled() async throws {
    try await Servers.withHTTP({ _, _ in HTTPAnswer() }) { port in
      let report = try await load(port, nil)
      #expect(report.statuses["UNAVAILABLE"]?.calls == 40)
    }
  }

  @Test func unreadableFilesFailBeforeCalls() async {
    await #expect { _ = try await load(1, ClientTLS(trustRootsPath: "/nonexistent.pem")) } throws: {
      ($0 as? RPCError)?.reason == "TLS_CONFIGURATION_INVALID"
    }
  }

  @Test func tlsRequiresHTTPS() throws {
    #expect { try HTTPTarget(url: "http://a", tls: ClientTLS()) } throws: { ($0 as? LoadError)?.field == "--http" }
    let target = try HTTPTarget(url: "https://example.org/p")
    #expect(target.port == 443 && target.tls != nil && target.description == "https://example.org:443/p")
  }
}

import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import CampanileCLI

@Suite struct EndpointsTests {
  static let sample = Endpoints(
    services: [
      "gateway": .init(rpc: 7400, http: 7480, adminKey: "cmp_secret"), "notifications": .init(rpc: 7401, http: 7501),
    ], internalToken: "token")

  @Test func writesPrivateFlatObject() throws {
    let folder = try TemporaryFolder()
    try Self.sample.write(folder: folder.path)
    let path = folder.path + "/endpoints.json"
    #expect(
      try String(contentsOfFile: path, encoding: .utf8) == """
        {"gateway":{"adminKey":"cmp_secret","http":7480,"rpc":7400},"internalToken":"token",\
        "notifications":{"http":7501,"rpc":7401}}

        """)
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try Endpoints.read(folder: folder.path) == Self.sample)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["endpoints.json"])
  }

  @Test func includesSigningKey() throws {
    let folder = try TemporaryFolder()
    var endpoints = Self.sample
    endpoints.apns = .init(teamId: "T", keyId: "K", publicKeyPem: "P", topic: "a.b")
    try endpoints.write(folder: folder.path)
    let text = try String(contentsOfFile: folder.path + "/endpoints.json", encoding: .utf8)
    #expect(text.hasPrefix(#"{"apns":{"keyId":"K","publicKeyPem":"P","teamId":"T","topic":"a.b"},"gateway""#))
    #expect(try Endpoints.read(folder: folder.path) == endpoints)
  }

  @Test(arguments: ["", "[]", "{\"gateway\":7}", "{\"gateway\":{\"rpc\":\"x\"}}", "{"])
  func rejectsInvalidFiles(text: String) throws {
    let folder = try TemporaryFolder()
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/endpoints.json"))
    #expect(throws: UsageError.self) { try Endpoints.read(folder: folder.path) }
  }

  @Test func choosesServerAndSecret() throws {
    let folder = try TemporaryFolder()
    try Self.sample.write(folder: folder.path)
    func destination(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Destination {
      try ConnectionOptions.parse(arguments + ["--data-dir", folder.path]).destination(environment: environment)
    }
    #expect(try destination([]) == Destination(host: "127.0.0.1", port: 7400, token: "cmp_secret"))
    #expect(try destination(["--key", "k"]).token == "k")
    #expect(try destination([], ["CAMPANILE_KEY": "e"]).token == "e")
    #expect(
      try destination(["--target", "notifications"])
        == Destination(host: "127.0.0.1", port: 7401, token: "token", isInternalToken: true))
    #expect(try destination(["--target", "notifications", "--key", "token"]).isInternalToken == false)
    #expect(try destination(["--as", "user/alice"]).token == "token")
    #expect(try destination(["--address", "127.0.0.1:7401"]).token == "token")
    // A secret of this suite is not sent to another server.
    #expect(try destination(["--address", "example.com:7400"]).token == nil)
    #expect(try destination(["--address", "127.0.0.1:9999"]).token == nil)
    #expect(throws: UsageError.self) { try destination(["--target", "nothing"]) }
  }

  @Test func suiteSecretsAreSentOnlyToSuiteOverHTTP() throws {
    let folder = try TemporaryFolder()
    try Self.sample.write(folder: folder.path)
    func token(
      _ host: String, _ port: Int, _ arguments: [String] = [], _ environment: [String: String] = [:]
    ) throws -> String? {
      try ConnectionOptions.parse(arguments + ["--data-dir", folder.path])
        .httpToken(host: host, port: port, environment: environment)
    }
    #expect(try token("127.0.0.1", 7480) == "cmp_secret")
    #expect(try token("localhost", 7480) == "cmp_secret")
    #expect(try token("127.0.0.1", 7480, ["--as", "user/alice"]) == "token")
    #expect(try token("127.0.0.1", 7501) == "token")
    for (host, port) in [("example.com", 7480), ("127.0.0.1", 9999), ("127.0.0.1", 7400), ("127.example.com", 7480)] {
      #expect(try token(host, port) == nil)
      #expect(try token(host, port, ["--as", "user/alice"]) == nil)
      #expect(try token(host, port, ["--key", "k"]) == "k")
      #expect(try token(host, port, [], ["CAMPANILE_KEY": "e"]) == "e")
    }
    #expect(throws: UsageError.self) { try token("127.0.0.1", 7480, ["--key-file", folder.path + "/none"]) }
  }

  @Test func errorNamesSearchedFolders() throws {
    let error = #expect(throws: UsageError.self) {
      try ConnectionOptions.parse([]).destination(environment: ["HOME": "/nonexistent"])
    }
    #expect(error?.description.contains("/nonexistent/.campanile") == true)
  }

  @Test func locksFolderOnce() throws {
    let folder = try TemporaryFolder()
    let lock = try SuiteLock(folder: folder.path)
    let error = #expect(throws: UsageError.self) { _ = try SuiteLock(folder: folder.path) }
    #expect(error?.description.contains("process \(getpid())") == true)
    _ = consume lock
    _ = try SuiteLock(folder: folder.path)
  }
}

import Logging
import TestSupport
import Testing

@testable import CampanileServer

@Suite struct SecretTests {
  static let canary = "canary-7f3a-do-not-show"
  let loader = SettingsLoader(executable: "campanile-test", settings: CommonConfiguration.all(defaultPort: 7499))

  func outcome(_ arguments: [String], _ environment: [String: String] = [:]) throws -> SettingsLoader.Outcome {
    try loader.load(arguments: arguments, environment: environment)
  }

  @Test func privateFileIsReadWithoutNewline() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("token", Self.canary + "\r\n")
    guard case .run(let settings) = try outcome(["--internal-token-file", file]) else { return }
    #expect(try settings.secret("internal-token")?.reveal() == Self.canary)
    #expect(settings.origin(of: "internal-token") == .secretFile(path: file))
  }

  @Test(arguments: [0o640, 0o604, 0o660, 0o610, 0o644])
  func fileAccessibleToOthersIsRejected(mode: Int) throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("token", Self.canary, mode: mode)
    for flag in ["--internal-token-file", "--tls-key-file"] {
      let error = try #require(throws: ConfigurationError.self) { try outcome([flag, file]) }
      #expect(error.code == .insecureFile)
      #expect(error.message.contains(file) && error.message.contains("chmod 600"))
      #expect(!error.message.contains(Self.canary))
    }
  }

  @Test func emptyMissingLongAndDuplicateSecretsAreRejected() throws {
    let folder = try TemporaryFolder()
    let empty = try folder.file("empty", "\n")
    let long = try folder.file("long", String(repeating: Self.canary, count: 1000))
    let good = try folder.file("good", Self.canary)
    let cases: [([String], [String: String], ConfigurationError.Code)] = [
      (["--internal-token-file", empty], [:], .invalidValue),
      (["--internal-token-file", long], [:], .unreadableFile),
      (["--internal-token-file", folder.path + "/none"], [:], .unreadableFile),
      (["--internal-token-file", good], ["CAMPANILE_INTERNAL_TOKEN": Self.canary], .conflictingSettings),
      (["--internal-token", Self.canary], [:], .secretOnCommandLine),
      (["--internal-token=" + Self.canary], [:], .secretOnCommandLine),
      ([Self.canary], [:], .unexpectedArgument),
      ([], ["CAMPANILE_INTERNAL_TOKEN": String(repeating: Self.canary, count: 1000)], .invalidValue),
    ]
    for (arguments, environment, code) in cases {
      let error = try #require(throws: ConfigurationError.self) { try outcome(arguments, environment) }
      #expect(error.code == code)
      #expect(!error.message.contains(Self.canary))
    }
  }

  @Test(arguments: [
    ("short", 5), (String(repeating: "x", count: 31), 31), (String(repeating: "x", count: 40) + "\nsecond", 6),
    (String(repeating: "x", count: 4097), 4097),
  ])
  func weakInternalTokenIsRejected(text: String, count: Int) throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("token", text)
    guard case .run(let settings) = try outcome(["--internal-token-file", file]) else { return }
    let error = try #require(throws: ConfigurationError.self) { try InternalTokenRule.check(settings) }
    #expect(error.code == .invalidValue && error.key == "internal-token")
    #expect(error.message.contains("\(file), line") && error.message.contains("not \(count):"))
    #expect(error.message.contains("openssl rand -hex 32"))
    let good = try folder.file("good", String(repeating: "x", count: 32) + "\n" + String(repeating: "y", count: 64))
    guard case .run(let safe) = try outcome(["--internal-token-file", good]) else { return }
    #expect(throws: Never.self) { try InternalTokenRule.check(safe) }
  }

  @Test func secretsNeverAppearInOutput() throws {
    let environment = ["CAMPANILE_INTERNAL_TOKEN": Self.canary]
    for arguments in [["--print-config"], ["--help"]] {
      guard case .print(let text) = try outcome(arguments, environment) else {
        Issue.record("nothing printed")
        continue
      }
      #expect(!text.contains(Self.canary))
      if arguments == ["--print-config"] {
        #expect(text.contains("internal-token "))
        #expect(text.contains("[redacted]"))
        #expect(text.contains("environment CAMPANILE_INTERNAL_TOKEN"))
      }
    }
    guard case .run(let settings) = try outcome([], environment) else { return }
    let secret = try #require(try settings.secret("internal-token"))
    var dumped = ""
    dump(settings, to: &dumped)
    #expect(!"\(secret) \(String(reflecting: secret)) \(settings) \(dumped)".contains(Self.canary))
  }

  @Test(arguments: ["json", "pretty"])
  func logsRedactSecretKeysAtEveryDepth(format: String) throws {
    let sink = Collector()
    let handler = CampanileLogHandler(
      label: "t", level: .info, format: try #require(LogFormat(rawValue: format)), sink: sink,
      redactor: LogRedactor(additionalKeys: ["apns-key"]))
    let logger = Logger(label: "t") { _ in handler }
    logger.info(
      "m",
      metadata: [
        "token": "\(Self.canary)", "apns_key": "\(Self.canary)", "accessToken": "\(Self.canary)",
        "Authorization": ["\(Self.canary)"], "nested": ["list": [["password": "\(Self.canary)"]]], "shown": "yes",
      ])
    #expect(!sink.text.contains(Self.canary))
    #expect(sink.text.contains("yes"))
  }

  @Test func listeningBeyondLoopbackNeedsCredential() throws {
    for host in ["0.0.0.0", "::", "10.0.0.1", "127.0.0.1.example.org", "127.1", "example.org"] {
      guard case .run(let bare) = try outcome(["--host", host]) else { continue }
      let error = try #require(throws: ConfigurationError.self) { try ListenPolicy.standard.check(bare) }
      #expect(error.code == .credentialMissing)
      #expect(error.message.contains("--internal-token-file"))
      #expect(throws: Never.self) { try ListenPolicy.serviceAuthenticates.check(bare) }
      let plain = try #require(throws: ConfigurationError.self) { try ListenPolicy.checkEncryption(bare) }
      #expect(plain.code == .encryptionMissing)
      for way in ["--tls-cert-file", "--insecure-plaintext", "CAMPANILE_INSECURE_PLAINTEXT", "127.0.0.1"] {
        #expect(plain.message.contains(way))
      }
      guard case .run(let meant) = try outcome(["--host", host, "--insecure-plaintext"]) else { continue }
      #expect(throws: Never.self) { try ListenPolicy.checkEncryption(meant) }
      guard case .run(let encrypted) = try outcome(["--host", host, "--tls-cert-file", "/c"]) else { continue }
      #expect(throws: Never.self) { try ListenPolicy.checkEncryption(encrypted) }
      guard case .run(let safe) = try outcome(["--host", host], ["CAMPANILE_INTERNAL_TOKEN": "t"]) else { continue }
      #expect(throws: Never.self) { try ListenPolicy.standard.check(safe) }
    }
    for host in ["127.0.0.1", "127.9.9.9", "::1", "localhost"] {
      guard case .run(let settings) = try outcome(["--host", host]) else { continue }
      #expect(throws: Never.self) { try ListenPolicy.standard.check(settings) }
      #expect(throws: Never.self) { try ListenPolicy.checkEncryption(settings) }
    }
  }
}

import TestSupport
import Testing

@testable import CampanileServer

@Suite struct SettingsTests {
  static let own: [Setting] = [
    .list("backends", default: ["a"], maximumCount: 3, help: "addresses"),
    .string("greeting", help: "text"),
    Setting("ratio", .double(0...1), default: "0.5", help: "share"),
    .bool("echo", help: "offer the echo service"), CommonConfiguration.dataFolder,
  ]
  let loader = SettingsLoader(
    executable: "campanile-test", version: "1.2.3", settings: CommonConfiguration.all(defaultPort: 7499) + own)

  func load(_ arguments: [String] = [], _ environment: [String: String] = [:]) throws -> Settings {
    guard case .run(let settings) = try loader.load(arguments: arguments, environment: environment) else {
      throw StartupError("no run")
    }
    return settings
  }

  func failure(_ arguments: [String] = [], _ environment: [String: String] = [:]) throws -> ConfigurationError {
    try #require(throws: ConfigurationError.self) { try load(arguments, environment) }
  }

  @Test func flagsOverrideEnvironmentThenFileThenDefaults() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("c.json", #"{"port": 1, "max-connections": 2, "log-level": "error", "echo": true}"#)
    let settings = try load(
      ["--config", file, "--port=3"], ["CAMPANILE_PORT": "4", "CAMPANILE_MAX_CONNECTIONS": "5", "CAMPANILE_HOST": ""])
    #expect(try settings.int("port") == 3)
    #expect(settings.origin(of: "port") == .flag)
    #expect(try settings.int("max-connections") == 5)
    #expect(settings.origin(of: "max-connections") == .environment(name: "CAMPANILE_MAX_CONNECTIONS"))
    #expect(try settings.string("log-level") == "error")
    #expect(settings.origin(of: "log-level") == .file(path: file))
    #expect(try settings.bool("echo"))
    #expect(try settings.string("host") == "127.0.0.1")
    #expect(settings.origin(of: "host") == .defaultValue)
    #expect(settings.origin(of: "greeting") == .unset)
    #expect(try settings.optionalString("greeting") == nil)
    #expect(try settings.double("ratio") == 0.5)
  }

  @Test func environmentMayNameFile() throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("c.json", #"{"backends": ["x", " y"], "greeting": null}"#)
    let settings = try load([], ["CAMPANILE_CONFIG": file])
    #expect(try settings.list("backends") == ["x", "y"])
    #expect(!settings.isSet("greeting"))
  }

  @Test func listsMayBeGivenInSeveralFlags() throws {
    #expect(try load(["--backends", "x:1", "--backends=y:2,z:3"]).list("backends") == ["x:1", "y:2", "z:3"])
    #expect(throws: ConfigurationError.self) { try load(["--backends", "a,b", "--backends", "c,d"]) }
  }

  @Test func valuesKeepCommasAndDashes() throws {
    let settings = try load(["--greeting=a,b --c", "--backends", "x:1,y:2", "--ready-fd", "7", "--echo"])
    #expect(try settings.string("greeting") == "a,b --c")
    #expect(try settings.list("backends") == ["x:1", "y:2"])
    #expect(try settings.optionalInt("ready-fd") == 7)
    #expect(try settings.bool("echo"))
  }

  @Test(arguments: [
    (["--prot", "1"], "unknownSetting", "prot", "did you mean port?"),
    (["serve"], "unexpectedArgument", "", "position 1"),
    (["-x"], "unexpectedArgument", "", "position 1"),
    (["--"], "unexpectedArgument", "", "position 1"),
    (["--port"], "missingValue", "port", "from 0 to 65535"),
    (["--port", "--echo"], "missingValue", "port", "needs a value"),
    (["--port=1", "--port=2"], "conflictingSettings", "port", "more than once"),
    (["--port=70000"], "invalidValue", "port", "port is \"70000\" (flag) but must be a whole number from 0 to 65535"),
    (["--port=1.5"], "invalidValue", "port", "\"1.5\""),
    (["--port="], "invalidValue", "port", "\"\""),
    (["--ratio=nan"], "invalidValue", "ratio", "from 0.0 to 1.0"),
    (["--echo=maybe"], "invalidValue", "echo", "true or false"),
    (["--log-level=loud"], "invalidValue", "log-level", "one of trace, debug"),
    (["--backends=a,b,c,d"], "invalidValue", "backends", "at most 3"),
    (["--data-dir="], "invalidValue", "data-dir", "a path"),
    (["--config=/nonexistent/x.json"], "unreadableFile", "config", "/nonexistent/x.json"),
    (["--config=/tmp"], "unreadableFile", "config", "not a regular file"),
  ])
  func commandLineErrorsNameSetting(
    arguments: [String], code: String, key: String, text: String
  ) throws {
    let error = try failure(arguments)
    #expect(error.code.description == code)
    #expect(error.key == key)
    #expect(error.message.contains(text), "\(error.message)")
    #expect(!error.message.contains("\n"))
  }

  @Test func environmentErrorsNameVariable() throws {
    let error = try failure([], ["CAMPANILE_PORT": "many\nlines"])
    #expect(error.code == .invalidValue)
    #expect(error.message.contains("environment CAMPANILE_PORT"))
    #expect(!error.message.contains("\n"))
    let settings = try load([], ["CAMPANILE_SYNC_FOLDER": "x", "PATH": "/bin"])
    #expect(settings.undeclaredEnvironmentNames == ["CAMPANILE_SYNC_FOLDER"])
  }

  @Test(arguments: [
    (#"{"prot": 1}"#, "unknownSetting", "did you mean port?"),
    (#"{"config": "x"}"#, "unknownSetting", "config"),
    (#"{"port": true}"#, "invalidValue", "\"true\""),
    (#"{"port": {"a": 1}}"#, "invalidValue", "not nested"),
    (#"{"backends": ["a,b"]}"#, "invalidValue", "nested"),
    (#"{"internal-token": "canary-7f3a"}"#, "secretOnCommandLine", "internal-token-file"),
    (#"[1]"#, "unreadableFile", "JSON object"),
    (#"{"port": 1"#, "unreadableFile", "JSON object"),
    ("", "unreadableFile", "JSON object"),
  ])
  func fileErrorsNameMember(content: String, code: String, text: String) throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("c.json", content)
    let error = try failure(["--config", file])
    #expect(error.code.description == code)
    #expect(error.message.contains(text), "\(error.message)")
    #expect(error.message.contains(file))
    #expect(!error.message.contains("canary-7f3a"))
  }

  @Test func readingUndeclaredSettingThrows() throws {
    let settings = try load()
    #expect(throws: ConfigurationError.self) { try settings.string("nothing") }
    #expect(throws: ConfigurationError.self) { try settings.string("port") }
    #expect(throws: ConfigurationError.self) { try settings.int("host") }
    let error = try #require(throws: ConfigurationError.self) { try settings.string("greeting") }
    #expect(error.code == .missingValue)
    #expect(error.message.contains("CAMPANILE_GREETING"))
  }

  @Test func variablesBeginWithPrefixOfService() throws {
    let loader = SettingsLoader(
      executable: "my-service", environmentPrefix: "MY_SERVICE_", settings: CommonConfiguration.all(defaultPort: 1))
    let outcome = try loader.load(
      arguments: [],
      environment: ["MY_SERVICE_PORT": "4", "MY_SERVICE_PROT": "5", "CAMPANILE_PORT": "6", "MY_SERVICE_HOST": "::1"])
    guard case .run(let settings) = outcome else { throw StartupError("no run") }
    #expect(try settings.int("port") == 4)
    #expect(settings.origin(of: "host") == .environment(name: "MY_SERVICE_HOST"))
    #expect(settings.undeclaredEnvironmentNames == ["MY_SERVICE_PROT"])
    guard case .print(let help) = try loader.load(arguments: ["--help"], environment: [:]) else {
      throw StartupError("no help")
    }
    #expect(help.contains("MY_SERVICE_INTERNAL_TOKEN") && !help.contains("CAMPANILE_"))
    #expect(ServiceSpecification(name: "my-service", version: "1", defaultPort: 1).environmentPrefix == "MY_SERVICE_")
  }

  @Test func helpListsEverySetting() throws {
    guard case .print(let text) = try loader.load(arguments: ["--help"], environment: [:]) else {
      Issue.record("no help")
      return
    }
    for setting in loader.settings {
      #expect(text.contains(setting.isSecret ? setting.environmentName : setting.flag + " "))
      #expect(text.contains(setting.help))
    }
    guard case .print(let version) = try loader.load(arguments: ["--version"], environment: [:]) else {
      Issue.record("no version")
      return
    }
    #expect(version == "campanile-test 1.2.3\n")
  }

  @Test func everyDefaultIsValid() {
    for setting in loader.settings {
      if let value = setting.defaultValue { #expect(setting.kind.parse(value) != nil, "\(setting.key)") }
    }
  }
}

// swift-tools-version: 6.2
import PackageDescription

/// The settings with which every target of this package is compiled.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The products of other packages that targets use, by package.
let products = [
  "async-http-client": ["AsyncHTTPClient"],
  "GRDB.swift": ["GRDB", "GRDBSQLite"],
  "hdrhistogram-swift": ["Histogram"],
  "swift-argument-parser": ["ArgumentParser"],
  "swift-collections": ["DequeModule", "HeapModule"],
  "swift-configuration": ["Configuration"],
  "swift-distributed-tracing": ["InMemoryTracing", "Tracing"],
  "swift-log": ["Logging"],
  "swift-metrics": ["CoreMetrics", "Metrics", "MetricsTestKit"],
  "swift-nio": ["NIOCore", "NIOEmbedded", "NIOHTTP1", "NIOPosix", "NIOTLS"],
  "swift-nio-extras": ["NIOHTTPCompression"],
  "swift-nio-http2": ["NIOHPACK", "NIOHTTP2"],
  "swift-nio-ssl": ["NIOSSL"],
  "swift-protobuf": ["SwiftProtobuf", "SwiftProtobufPluginLibrary"],
  "swift-service-lifecycle": ["ServiceLifecycle", "UnixSignals"],
  "swift-subprocess": ["Subprocess"],
  "swift-system": ["SystemPackage"],
  "SwiftCSV": ["SwiftCSV"],
]

/// The traits that need a package, if `Server` is not the only one.
let traits = [
  "swift-distributed-tracing": "Integrations", "swift-log": "RPC", "swift-metrics": "Integrations", "swift-nio": "RPC",
  "swift-nio-ssl": "TLS", "swift-protobuf": "RPC", "swift-service-lifecycle": "Integrations",
]

/// Returns the dependencies with these names: products in the table above, otherwise targets of this package.
func dependencies(_ names: [String]) -> [Target.Dependency] {
  names.map { name in
    guard let package = products.first(where: { $0.value.contains(name) })?.key else { return .target(name: name) }
    return .product(name: name, package: package, condition: .when(traits: [traits[package, default: "Server"]]))
  }
}

func library(
  _ name: String, uses names: String..., path: String? = nil, exclude: [String] = [], resources: [Resource] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies(names), path: path, exclude: exclude, resources: resources,
    swiftSettings: settings)
}

func program(_ name: String, uses names: String..., path: String? = nil, exclude: [String] = []) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies(names), path: path, exclude: exclude, swiftSettings: settings)
}

func tests(_ name: String, uses names: String..., path: String? = nil) -> Target {
  .testTarget(name: name, dependencies: dependencies(names), path: path, swiftSettings: settings)
}

// MARK: Libraries, lowest first

let libraries: [Target] = [
  // C: functions of the system that Swift does not import, and libcrypto.
  .target(name: "CCampanile", linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("z")]),
  // C: the files of Clients/TypeScript, which the gateway serves.
  .target(name: "CClientFiles"),
  .systemLibrary(
    name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
  .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),

  // Shared by all: helpers, formats, the wire protocol and its generated API, the store.
  library("CampanileBase"),
  library("CampanileCodec", uses: "CampanileBase"),
  library("CampanileCrypto", uses: "COpenSSL", "CampanileBase"),
  library("CampanileCall", uses: "CampanileBase", "CampanileCodec"),
  library("CampanileMessages", uses: "CampanileCall", "CampanileCodec"),
  library("CampanileJSON", uses: "CampanileCodec"),
  // The contract as data: for documents, the command line and the generator of code.
  library("CampanileContract", uses: "CampanileCodec", "SwiftProtobuf"),
  library(
    "CampanileRPC", uses: "CampanileBase", "CampanileCall", "CampanileCodec", "CampanileCrypto", "Logging", "NIOCore",
    "NIOPosix", "NIOSSL"),
  library("CampanileHealthReflection", uses: "CampanileBase", "CampanileCodec", "CampanileRPC"),
  library(
    "CampanileIntegrations", uses: "CampanileBase", "CampanileRPC", "CoreMetrics", "Logging", "ServiceLifecycle",
    "Tracing"),
  library(
    "CampanileTesting", uses: "CampanileBase", "CampanileCall", "CampanileCodec", "CampanileRPC", "Logging"),
  library("CampanileAPI", uses: "CampanileBase", "CampanileMessages", "CampanileRPC"),
  library(
    "CampanileStore", uses: "CCampanile", "CampanileBase", "CampanileCrypto", "CoreMetrics", "GRDB", "GRDBSQLite"),
  library("CampanilePostgreSQL", uses: "CPostgreSQL", "CampanileStore"),
  library(
    "CampanileService", uses: "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileMessages", "CampanileRPC",
    "CampanileStore"),

  // The services and the gateway.
  library("APNs"),
  library(
    "Activities", uses: "APNs", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
    "CampanileService", "CampanileStore", "DequeModule", "NIOCore", "NIOHPACK", "NIOHTTP2", "NIOPosix", "NIOSSL",
    "NIOTLS"),
  library(
    "Attendance", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
    "CampanileService", "CampanileStore", "SwiftCSV"),
  library("Echo", uses: "CampanileAPI", "CampanileBase", "CampanileRPC"),
  library(
    "Gateway", uses: "AsyncHTTPClient", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileHealthReflection", "CampanileRPC", "CampanileStore", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix"),
  library(
    "GatewayHTTP", uses: "CCampanile", "CClientFiles", "CampanileAPI", "CampanileBase", "CampanileCodec",
    "CampanileContract", "CampanileCrypto", "CampanileHTTP", "CampanileRPC", "Gateway", "NIOCore", "NIOHTTP1",
    "NIOHTTPCompression", "SwiftProtobuf"
  ),
  library(
    "GatewayDialects", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
    "CampanileService", "Gateway", "GatewayHTTP", "NIOHTTP1"),
  library(
    "Notifications", uses: "AsyncHTTPClient", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileRPC", "CampanileService", "CampanileStore", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL"),
  library(
    "Sync", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileJSON",
    "CampanileRPC", "CampanileService", "CampanileStore", "NIOPosix", "SyncContents"),
  library("SyncContents", uses: "CCampanile", "CampanileBase", "CampanileCrypto", "CampanileStore"),

  // The parts of every server process, the simulator of APNs, and the command line with its load tester.
  library("CampanileHTTP", uses: "CampanileRPC", "NIOCore", "NIOHTTP1", "NIOPosix"),
  library(
    "CampanileServer", uses: "AsyncHTTPClient", "CampanileBase", "CampanileHTTP", "CampanileHealthReflection",
    "CampanileRPC", "Configuration", "CoreMetrics", "DequeModule", "Logging", "Metrics", "NIOCore", "NIOHTTP1",
    "NIOPosix", "ServiceLifecycle", "UnixSignals"),
  library(
    "APNsSimulator", uses: "APNs", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileRPC", "CampanileServer", "CampanileService", "DequeModule", "HeapModule", "NIOCore", "NIOHPACK",
    "NIOHTTP2", "NIOPosix", "NIOSSL"),
  library(
    "CampanileCLI", uses: "ArgumentParser", "CCampanile", "CampanileAPI", "CampanileBase", "CampanileCodec",
    "CampanileContract", "CampanileCrypto", "CampanileHealthReflection", "CampanileLoad", "CampanilePostgreSQL",
    "CampanileRPC", "CampanileStore", "NIOCore", "NIOHTTP1", "NIOPosix", "Subprocess", "SyncContents", "SystemPackage",
    "UnixSignals",
    exclude: ["Resources/make_sample.py"], resources: [.copy("Resources/sample.json")]),
  library(
    "CampanileLoad", uses: "CampanileBase", "CampanileJSON", "CampanileRPC", "Histogram", "NIOCore", "NIOHTTP1",
    "NIOPosix", "NIOSSL"),
]

// MARK: Programs

let programs = [
  program("campanile-echo", uses: "CampanileAPI", "CampanileServer", "Echo"),
  // All other programs in one: notifications, activities, sync, attendance, gateway, APNs simulator, and command line.
  program(
    "campanile-suite", uses: "APNsSimulator", "Activities", "Attendance", "CCampanile", "CampanileAPI",
    "CampanileBase", "CampanileCLI", "CampanileHealthReflection", "CampanilePostgreSQL", "CampanileRPC",
    "CampanileServer",
    "CampanileService", "CampanileStore", "Gateway", "GatewayDialects", "GatewayHTTP", "Logging", "Metrics",
    "Notifications",
    "ServiceLifecycle", "Sync", "SyncContents"),
  // Examples: a service on CampanileServer, a watch, a Live Activity. Examples/Package.swift has the others.
  program(
    "hello-server", uses: "CampanileBase", "CampanileCodec", "CampanileRPC", "CampanileServer", path: "Examples/server",
    exclude: ["campanile-generator.json", "hello.proto"]),
  program(
    "live-activity", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileRPC",
    path: "Examples/live-activity"),
  program("watch", uses: "CampanileAPI", "CampanileBase", "CampanileRPC", path: "Examples/watch"),
  // Generates CampanileMessages and CampanileAPI, and by the plugin the code of other packages.
  program("protoc-gen-campanile", uses: "CampanileContract", "SwiftProtobuf", "SwiftProtobufPluginLibrary"),
  .plugin(name: "CampanileGenerator", capability: .buildTool(), dependencies: ["protoc-gen-campanile"]),
  .plugin(
    name: "GenerateCampanile",
    capability: .command(
      intent: .custom(
        verb: "generate-campanile", description: "Generate Swift from the protos of targets, to be committed"),
      permissions: [.writeToPackageDirectory(reason: "writes into the folder Generated of each target")]),
    dependencies: ["protoc-gen-campanile"]),
]

// MARK: Tests, and the libraries and programs that only they use

let testSupport = [
  library(
    "SimulatedSuite", uses: "Activities", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileRPC", "CampanileService", "CampanileStore", "Gateway", "Logging", "NIOCore", "Notifications",
    path: "Tests/Simulation"),
  library(
    "ServiceTesting", uses: "CampanileBase", "CampanilePostgreSQL", "CampanileRPC", "CampanileStore",
    "PostgreSQLServer", "TestSupport", path: "Tests/Support/ServiceTesting"),
  library("PostgreSQLServer", path: "Tests/Support/PostgreSQLServer"),
  library("TLSPeer", path: "Tests/Support/tls-peer"),
  library("TestSupport", uses: "CampanileBase", "CampanileRPC", "CampanileTesting", path: "Tests/Support/TestSupport"),
  library("TestMessages", uses: "CampanileBase", "CampanileCodec", path: "Tests/TestMessages"),
  program(
    "guarded-work", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileJSON", "CampanileRPC",
    "CampanileStore", "Echo", "Gateway", "Logging", "NIOCore", "NIOPosix", "Notifications",
    path: "Tests/Support/guarded-work"),
  program(
    "message-validator", uses: "CampanileBase", "CampanileCodec", "CampanileMessages", "TestMessages",
    path: "Tests/Support/message-validator"),
  program("simulation", uses: "SimulatedSuite", path: "Tests/Support/simulation"),
  program("store-crasher", uses: "CampanileStore", path: "Tests/Support/store-crasher"),
]

let testTargets = [
  tests("APIOracleTests", uses: "CampanileAPI", "CampanileCodec", "SwiftProtobuf", "TestMessages"),
  tests(
    "APNsSimulatorTests", uses: "APNs", "APNsSimulator", "CampanileAPI", "CampanileBase", "CampanileCodec",
    "CampanileCrypto", "CampanileRPC", "CampanileServer", "CampanileService", "NIOPosix", "ServiceTesting"),
  tests("APNsTests", uses: "APNs"),
  tests(
    "ActivitiesTests", uses: "APNs", "Activities", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileRPC", "CampanileService", "CampanileStore", "NIOCore", "NIOHPACK", "NIOHTTP2", "NIOPosix", "NIOSSL",
    "ServiceTesting", "TestSupport"),
  tests(
    "AttendanceTests", uses: "Attendance", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileRPC", "CampanileService", "CampanileStore", "ServiceTesting", "TestSupport"),
  tests("CampanileBaseTests", uses: "CampanileBase"),
  tests(
    "CampanileCLITests", uses: "ArgumentParser", "CampanileAPI", "CampanileBase", "CampanileCLI",
    "CampanileContract", "CampanileLoad", "CampanilePostgreSQL", "CampanileRPC", "SwiftProtobuf", "TestSupport"),
  tests("CampanileCodecTests", uses: "CampanileBase", "CampanileCodec", "TestMessages"),
  tests("CampanileContractTests", uses: "CampanileAPI", "CampanileCodec", "CampanileContract"),
  tests(
    "CampanileCryptoTests", uses: "CampanileBase", "CampanileCrypto", "TestSupport"),
  tests("CampanileHTTPTests", uses: "CampanileHTTP", "NIOCore", "NIOPosix", "TestSupport"),
  tests(
    "CampanileHealthReflectionTests", uses: "CampanileAPI", "CampanileBase", "CampanileHealthReflection",
    "CampanileRPC", "CampanileTesting", "Echo", "TestSupport"),
  tests(
    "CampanileIntegrationsTests", uses: "CampanileAPI", "CampanileBase", "CampanileIntegrations", "CampanileRPC",
    "Echo", "InMemoryTracing", "Logging", "MetricsTestKit", "ServiceLifecycle", "TestSupport", "Tracing"),
  tests(
    "CampanileJSONTests", uses: "CampanileJSON", "TestSupport"),
  tests(
    "CampanileLoadTests", uses: "CampanileAPI", "CampanileBase", "CampanileJSON", "CampanileLoad", "CampanileRPC",
    "Echo", "Histogram", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "TestSupport"),
  tests(
    "CampanilePostgreSQLTests", uses: "CampanileBase", "CampanilePostgreSQL", "CampanileStore", "PostgreSQLServer"),
  tests(
    "CampanileRPCTests", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileRPC", "CampanileTesting",
    "Logging", "NIOCore", "NIOEmbedded", "NIOPosix", "TLSPeer", "TestSupport"),
  tests(
    "CampanileServerTests", uses: "CampanileAPI", "CampanileBase", "CampanileHTTP", "CampanileHealthReflection",
    "CampanileRPC", "CampanileServer", "CoreMetrics", "Echo", "Logging", "Metrics", "NIOCore", "NIOPosix",
    "ServiceLifecycle", "TestSupport"),
  tests(
    "CampanileStoreTests", uses: "CampanileBase", "CampanilePostgreSQL", "CampanileStore", "GRDB", "MetricsTestKit",
    "ServiceTesting", "store-crasher"),
  tests(
    "GatewayTests", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
    "CampanileHealthReflection", "CampanileRPC", "CampanileService", "CampanileStore", "Echo", "Gateway",
    "GatewayDialects", "GatewayHTTP", "Logging", "NIOCore", "NIOHTTP1", "NIOPosix", "ServiceTesting", "SwiftProtobuf",
    "TLSPeer", "TestSupport"),
  tests(
    "NotificationsTests", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanilePostgreSQL",
    "CampanileRPC", "CampanileService", "CampanileStore", "NIOSSL", "Notifications", "ServiceTesting", "TestSupport"),
  tests("SimulationTests", uses: "SimulatedSuite"),
  tests(
    "SyncTests", uses: "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileJSON",
    "CampanileRPC", "CampanileService", "CampanileStore", "ServiceTesting", "Sync", "SyncContents", "TestSupport"),
]

// MARK: The package

let package = Package(
  name: "campanile",
  platforms: [.macOS(.v15)],
  // Clients import CampanileMessages and what it needs: CampanileBase, CampanileCall and CampanileCodec, without any
  // other package. The package in Benchmarks imports most of them.
  products: [
    "CampanileAPI", "CampanileBase", "CampanileCall", "CampanileCodec", "CampanileCrypto",
    "CampanileHealthReflection", "CampanileIntegrations", "CampanileJSON", "CampanileMessages", "CampanilePostgreSQL",
    "CampanileRPC", "CampanileServer", "CampanileStore", "CampanileTesting", "Notifications",
  ].map { .library(name: $0, targets: [$0]) } + [
    .plugin(name: "CampanileGenerator", targets: ["CampanileGenerator"]),
    .plugin(name: "GenerateCampanile", targets: ["GenerateCampanile"]),
    .executable(name: "protoc-gen-campanile", targets: ["protoc-gen-campanile"]),
  ],
  traits: [
    .default(enabledTraits: ["Server"]),
    .trait(
      name: "RPC", description: "CampanileRPC and the generator of code: needs swift-log, swift-nio, swift-protobuf."),
    .trait(
      name: "TLS", description: "TLS for CampanileRPC: needs swift-nio-ssl, which builds BoringSSL.",
      enabledTraits: ["RPC"]),
    .trait(
      name: "Integrations",
      description:
        "CampanileIntegrations: needs swift-distributed-tracing, swift-metrics, swift-service-lifecycle.",
      enabledTraits: ["RPC"]),
    .trait(
      name: "Server", description: "Everything but the libraries of clients, with the packages that it needs.",
      enabledTraits: ["Integrations", "RPC", "TLS"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(
      url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: [.defaults, "CommandLineArguments"]),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", .upToNextMinor(from: "0.2.0")),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/swiftcsv/SwiftCSV", .upToNextMinor(from: "0.10.0")),
    .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
  ],
  targets: libraries + programs + testSupport + testTargets
)

// Only scripts/fuzz builds the fuzz targets: they need sanitizers in all their dependencies.
if Context.environment["CAMPANILE_FUZZ"] != nil {
  package.targets.append(
    program(
      "fuzz", uses: "Attendance", "CampanileAPI", "CampanileBase", "CampanileCodec", "CampanileCrypto",
      "CampanileJSON", "CampanileRPC", "CampanileService", "Gateway", "GatewayDialects", "GatewayHTTP", "NIOCore",
      "NIOHTTP1", "Sync", "TestMessages", path: "Tests/Fuzz", exclude: ["corpora"]))
}

// The test targets to build, set by scripts/sanitize. By default all are linked into one program, and each target takes
// time to build with a sanitizer. The last target contains planted faults and is used only there.
if let names = Context.environment["CAMPANILE_TESTS"]?.split(separator: " ").map(String.init), !names.isEmpty {
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
  if names.contains("PlantedTests") {
    package.targets.append(
      tests("PlantedTests", uses: "CampanileStore", "NIOCore", "NIOPosix", path: "Tests/Sanitizers/Planted"))
  }
}

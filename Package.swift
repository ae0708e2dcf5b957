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

let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let grdb: [Target.Dependency] = [
  .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
]
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let protobufPlugin: Target.Dependency = .product(name: "SwiftProtobufPluginLibrary", package: "swift-protobuf")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")

/// An executable that consists only of the main function of a library, which `campanile-suite` contains as well.
func program(_ name: String, _ library: Target.Dependency...) -> Target {
  .executableTarget(
    name: name, dependencies: library, path: "Sources/Executables/Mains/\(name)", swiftSettings: settings)
}

/// A program of Examples.
func example(_ name: String, _ libraries: Target.Dependency...) -> Target {
  .executableTarget(
    name: name, dependencies: libraries + ["CampanileRPC"], path: "Examples/\(name)",
    exclude: name == "hello" ? ["hello.proto"] : [], swiftSettings: settings)
}

let package = Package(
  name: "campanile",
  platforms: [.macOS(.v26)],
  products: [
    .library(name: "CampanileBase", targets: ["CampanileBase"]),
    .library(name: "CampanileCodec", targets: ["CampanileCodec"]),
    .library(name: "CampanileCrypto", targets: ["CampanileCrypto"]),
    .library(name: "CampanileJSON", targets: ["CampanileJSON"]),
    .library(name: "CampanileAPI", targets: ["CampanileAPI"]),
    .library(name: "CampanileRPC", targets: ["CampanileRPC"]),
    .library(name: "CampanileStore", targets: ["CampanileStore"]),
    .library(name: "Notifications", targets: ["Notifications"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    .package(
      url: "https://github.com/apple/swift-configuration", exact: "1.4.0", traits: [.defaults, "CommandLineArguments"]),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    .package(url: "https://github.com/apple/swift-protobuf", exact: "1.39.0"),
    .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    .package(url: "https://github.com/swiftcsv/SwiftCSV", exact: "0.10.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
  ],
  targets: [
    .target(name: "CampanileBase", swiftSettings: settings),
    .testTarget(name: "CampanileBaseTests", dependencies: ["CampanileBase"], swiftSettings: settings),
    .target(name: "CampanileCodec", dependencies: ["CampanileBase"], swiftSettings: settings),
    .target(name: "CampanileJSON", dependencies: ["CampanileCodec"], swiftSettings: settings),
    .testTarget(
      name: "CampanileJSONTests", dependencies: ["CampanileCodec", "CampanileJSON"], swiftSettings: settings),
    .target(
      name: "CampanileRPC",
      dependencies: [
        "CampanileBase", "CampanileCodec", "CampanileCrypto", log, .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]
        + nio,
      swiftSettings: settings),
    .target(
      name: "CampanileAPI", dependencies: ["CampanileBase", "CampanileCodec", "CampanileRPC"], swiftSettings: settings),
    .executableTarget(
      name: "protoc-gen-campanile", dependencies: [protobuf, protobufPlugin], swiftSettings: settings),
    .target(
      name: "TestMessages", dependencies: ["CampanileBase", "CampanileCodec"], path: "Tests/TestMessages",
      swiftSettings: settings),
    .testTarget(
      name: "CampanileCodecTests", dependencies: ["CampanileCodec", "TestMessages"], swiftSettings: settings),
    .testTarget(
      name: "APIOracleTests", dependencies: ["CampanileCodec", "CampanileAPI", "TestMessages", protobuf],
      swiftSettings: settings),
    .target(name: "TLSPeer", path: "Tests/Support/tls-peer", swiftSettings: settings),
    .testTarget(
      name: "CampanileRPCTests",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileRPC", "CampanileCodec", "TLSPeer",
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ] + nio,
      swiftSettings: settings),
    .target(name: "APNs", swiftSettings: settings),
    .testTarget(name: "APNsTests", dependencies: ["APNs"], swiftSettings: settings),
    .target(
      name: "APNsSimulator",
      dependencies: [
        "CampanileBase", "APNs", "CampanileCodec", "CampanileCrypto", "CampanileRPC", "CampanileRuntime",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"), .product(name: "NIOHTTP2", package: "swift-nio-http2"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ] + nio,
      swiftSettings: settings),
    .target(
      name: "APNsSimulatorProgram", dependencies: ["APNsSimulator", "CampanileRPC", "CampanileRuntime", log],
      path: "Sources/Executables/campanile-apns-simulator", swiftSettings: settings),
    program("campanile-apns-simulator", "APNsSimulatorProgram"),
    .testTarget(
      name: "APNsSimulatorTests",
      dependencies: [
        "CampanileBase", "APNsSimulator", "APNs", "CampanileCodec", "CampanileCrypto", "CampanileRuntime",
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: settings),
    .target(
      name: "Activities",
      dependencies: [
        "CampanileBase", "APNs", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
        "CampanileService",
        "CampanileStore",
        log, .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "NIOTLS", package: "swift-nio"),
      ] + nio,
      swiftSettings: settings),
    .target(
      name: "CampanileProgram", dependencies: ["CampanileRuntime", "CampanileStore"],
      path: "Sources/Executables/CampanileProgram", swiftSettings: settings),
    .target(
      name: "ActivitiesProgram",
      dependencies: [
        "Activities", "CampanileProgram", "CampanileRPC", "CampanileRuntime", "CampanileService", "CampanileStore", log,
      ],
      path: "Sources/Executables/campanile-activities", swiftSettings: settings),
    program("campanile-activities", "ActivitiesProgram"),
    .testTarget(
      name: "ActivitiesTests",
      dependencies: [
        "CampanileBase", "Activities", "APNs", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
        "CampanileService",
        "CampanileStore",
        .product(name: "NIOHPACK", package: "swift-nio-http2"),
        .product(name: "NIOHTTP2", package: "swift-nio-http2"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ] + nio,
      swiftSettings: settings),
    .target(
      name: "Echo", dependencies: ["CampanileBase", "CampanileAPI", "CampanileCodec", "CampanileRPC"],
      swiftSettings: settings),
    .target(
      name: "CampanileService",
      dependencies: [
        "CampanileBase", "CampanileCodec", "CampanileCrypto", "CampanileRPC", "CampanileStore",
        .product(name: "NIOPosix", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "Notifications",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC", "CampanileService",
        "CampanileStore",
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ] + nio,
      swiftSettings: settings),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    .systemLibrary(name: "CDisk"),
    .systemLibrary(name: "CAllocator"),
    .target(
      name: "SyncContents",
      dependencies: ["CDisk", "CZlib", "CampanileBase", "CampanileCrypto", "CampanileStore"], swiftSettings: settings),
    .target(
      name: "Sync",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileJSON", "CampanileRPC",
        "CampanileService", "CampanileStore", "SyncContents", .product(name: "NIOPosix", package: "swift-nio"),
      ],
      swiftSettings: settings),
    .target(
      name: "SyncProgram",
      dependencies: [
        "CampanileProgram", "CampanileRPC", "CampanileRuntime", "CampanileService", "CampanileStore", "Sync", log,
        .product(name: "Metrics", package: "swift-metrics"),
      ],
      path: "Sources/Executables/campanile-sync", swiftSettings: settings),
    program("campanile-sync", "SyncProgram"),
    .testTarget(
      name: "SyncTests",
      dependencies: [
        "CampanileBase", "Sync", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileJSON", "CampanileRPC",
        "CampanileService", "CampanileStore", "SyncContents",
      ],
      swiftSettings: settings),
    .target(
      name: "Attendance",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC", "CampanileService",
        "CampanileStore",
        .product(name: "SwiftCSV", package: "SwiftCSV"),
      ],
      swiftSettings: settings),
    .target(
      name: "AttendanceProgram",
      dependencies: ["Attendance", "CampanileProgram", "CampanileRuntime", "CampanileStore", log],
      path: "Sources/Executables/campanile-attendance", swiftSettings: settings),
    program("campanile-attendance", "AttendanceProgram"),
    .testTarget(
      name: "AttendanceTests",
      dependencies: [
        "CampanileBase", "Attendance", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
        "CampanileService",
        "CampanileStore",
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "campanile-echo", dependencies: ["CampanileRuntime", "Echo"], path: "Sources/Executables/campanile-echo",
      swiftSettings: settings),
    .target(
      name: "NotificationsProgram",
      dependencies: [
        "CampanileProgram", "CampanileRPC", "CampanileRuntime", "CampanileService", "CampanileStore", "Notifications",
        log,
      ],
      path: "Sources/Executables/campanile-notifications", swiftSettings: settings),
    program("campanile-notifications", "NotificationsProgram"),
    .testTarget(
      name: "NotificationsTests",
      dependencies: [
        "CampanileBase", "Notifications", "CampanileAPI", "CampanileCodec", "CampanileRPC", "CampanileService",
        "CampanileStore",
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ],
      swiftSettings: settings),
    .target(name: "CSQLiteSettings", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(
      name: "CampanileStore",
      dependencies: grdb + [
        "CSQLiteSettings", "CampanileBase", "CampanileCrypto", .product(name: "CoreMetrics", package: "swift-metrics"),
      ],
      swiftSettings: settings),
    .target(
      name: "CampanileRuntime",
      dependencies: [
        "CampanileBase", "CAllocator", "CampanileAPI", "CampanileCodec", "CampanileRPC", log,
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "SystemPackage", package: "swift-system"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ] + nio,
      swiftSettings: settings),
    .target(
      name: "CampanileLoad",
      dependencies: [
        "CampanileBase", "CampanileJSON", "CampanileRPC", .product(name: "Histogram", package: "hdrhistogram-swift"),
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ] + nio, swiftSettings: settings),
    .testTarget(
      name: "CampanileLoadTests",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileJSON", "CampanileLoad", "CampanileRPC", "Echo", log,
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ] + nio, swiftSettings: settings),
    .target(name: "CParentBound"),
    .target(
      name: "CampanileCLI",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileLoad", "CampanileRPC",
        "CampanileStore",
        "CParentBound", "SyncContents",
        argumentParser, protobuf, .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        subprocess, .product(name: "SystemPackage", package: "swift-system"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      exclude: ["Resources/make_sample.py"], resources: [.copy("Resources/sample.json")], swiftSettings: settings),
    .executableTarget(
      name: "campanile", dependencies: ["CampanileCLI"], path: "Sources/Executables/campanile",
      swiftSettings: settings),
    example("hello", "CampanileBase", "CampanileCodec", nio[0], nio[1]),
    example("watch", "CampanileAPI", "CampanileBase"),
    example("live-activity", "CampanileAPI", "CampanileBase", "CampanileCodec"),
    .executableTarget(
      name: "campanile-suite",
      dependencies: [
        "APNsSimulatorProgram", "ActivitiesProgram", "AttendanceProgram", "CampanileCLI", "GatewayProgram",
        "NotificationsProgram", "SyncProgram",
      ],
      path: "Sources/Executables/Mains/campanile-suite", swiftSettings: settings),
    .testTarget(
      name: "CampanileCLITests",
      dependencies: [
        "CampanileBase", "CampanileCLI", "CampanileAPI", "CampanileCodec", "CampanileRPC", argumentParser, protobuf,
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "store-crasher", dependencies: ["CampanileStore"], path: "Tests/Support/store-crasher",
      swiftSettings: settings),
    .target(
      name: "SimulatedSuite",
      dependencies: [
        "CampanileBase", "Activities", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
        "CampanileService",
        "CampanileStore", "Gateway", "Notifications", log, .product(name: "NIOCore", package: "swift-nio"),
      ],
      path: "Tests/Simulation", swiftSettings: settings),
    .executableTarget(
      name: "simulation", dependencies: ["SimulatedSuite"], path: "Tests/Support/simulation", swiftSettings: settings),
    .testTarget(name: "SimulationTests", dependencies: ["SimulatedSuite"], swiftSettings: settings),
    .executableTarget(
      name: "guarded-work",
      dependencies: [
        "CampanileAPI", "CampanileCodec", "CampanileJSON", "CampanileRPC", "CampanileStore", "Echo", "Gateway",
        "Notifications", log,
      ] + nio,
      path: "Tests/Support/guarded-work", swiftSettings: settings),
    .testTarget(
      name: "CampanileStoreTests",
      dependencies: [
        "CampanileBase", "CampanileStore", "store-crasher", .product(name: "MetricsTestKit", package: "swift-metrics"),
      ]
        + grdb,
      swiftSettings: settings),
    .testTarget(
      name: "CampanileRuntimeTests",
      dependencies: [
        "CampanileBase", "CampanileAPI", "CampanileCodec", "CampanileRPC", "CampanileRuntime", "Echo", log,
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Metrics", package: "swift-metrics"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ] + nio,
      swiftSettings: settings),
    .systemLibrary(
      name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
    .target(name: "CampanileCrypto", dependencies: ["COpenSSL", "CampanileBase"], swiftSettings: settings),
    .testTarget(
      name: "CampanileCryptoTests", dependencies: ["CampanileBase", "CampanileCrypto"], swiftSettings: settings),
    .target(
      name: "Gateway",
      dependencies: [
        "CampanileBase", "CZlib", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
        "CampanileService",
        "CampanileStore", log, protobuf,
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
      ] + nio,
      swiftSettings: settings),
    .target(
      name: "GatewayProgram",
      dependencies: [
        "CampanileBase", "CampanileProgram", "CampanileRPC", "CampanileRuntime", "CampanileStore", "Gateway", log,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Sources/Executables/campanile-gateway", swiftSettings: settings),
    program("campanile-gateway", "GatewayProgram"),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "CampanileBase", "Gateway", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileRPC",
        "CampanileStore", "Echo",
        "TLSPeer", log,
        protobuf, .product(name: "NIOHTTP1", package: "swift-nio"),
      ] + nio,
      swiftSettings: settings),
  ]
)

// Only scripts/fuzz builds the fuzz targets: they need sanitizers in all their dependencies.
if Context.environment["CAMPANILE_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "CampanileBase", "Attendance", "CampanileAPI", "CampanileCodec", "CampanileCrypto", "CampanileJSON",
        "CampanileRPC",
        "CampanileService", "Gateway", "Sync", "TestMessages", .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      path: "Tests/Fuzz", exclude: ["corpora"], swiftSettings: settings))
}

// The test targets to build, set by scripts/sanitize. By default all are linked into one program, and each target takes
// time to build with a sanitizer. The last target is used only there. It contains planted faults, and annotations, for
// every program, of thread order that ThreadSanitizer does not detect.
if let names = Context.environment["CAMPANILE_TESTS"]?.split(separator: " ").map(String.init), !names.isEmpty {
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
  if names.contains("PlantedTests") {
    for target in package.targets where target.type == .executable { target.dependencies.append("CThreadSanitizer") }
    package.targets += [
      .target(name: "CThreadSanitizer", path: "Tests/Sanitizers/CThreadSanitizer"),
      .testTarget(
        name: "PlantedTests", dependencies: ["CThreadSanitizer", "CampanileStore"] + nio,
        path: "Tests/Sanitizers/Planted", swiftSettings: settings),
    ]
  }
}

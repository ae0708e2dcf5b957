// swift-tools-version: 6.2
import PackageDescription

// Benchmarks and the peers they compare with. A separate package, so that users of Campanile never build them.
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

let package = Package(
  name: "campanile-benchmarks",
  platforms: [.macOS(.v26)],
  dependencies: [
    .package(name: "campanile", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-protobuf", exact: "1.39.0"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/grpc/grpc-swift-2", exact: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", exact: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf", exact: "2.4.1"),
  ],
  targets: [
    .executableTarget(
      name: "StoreBench",
      dependencies: [
        .product(name: "CampanileStore", package: "campanile"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Subprocess", package: "swift-subprocess"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "CodecBench",
      dependencies: [
        .product(name: "CampanileAPI", package: "campanile"), .product(name: "CampanileCodec", package: "campanile"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "ValidateBench",
      dependencies: [
        .product(name: "CampanileJSON", package: "campanile"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "SignBench", dependencies: [.product(name: "CampanileCrypto", package: "campanile")],
      swiftSettings: settings),
    .executableTarget(name: "FrameLoad", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "FrameEchoC", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "CoreSpeed", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "FrameAnswersC", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "FrameRelayC", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(
      name: "ClientLoad",
      dependencies: [
        .product(name: "CampanileAPI", package: "campanile"), .product(name: "CampanileBase", package: "campanile"),
        .product(name: "CampanileRPC", package: "campanile"),
      ] + nio,
      swiftSettings: settings),
    .executableTarget(name: "FrameEchoNIO", dependencies: nio, swiftSettings: settings),
    .executableTarget(name: "FrameRelayNIO", dependencies: nio, swiftSettings: settings),
    .executableTarget(name: "HTTPLoad", cSettings: [.unsafeFlags(["-O2"])]),
    .target(
      name: "NotificationsBackend",
      dependencies: [
        .product(name: "CampanileAPI", package: "campanile"), .product(name: "CampanileRPC", package: "campanile"),
        .product(name: "CampanileStore", package: "campanile"), .product(name: "Notifications", package: "campanile"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "HummingbirdPeer",
      dependencies: [
        "NotificationsBackend", .product(name: "CampanileAPI", package: "campanile"),
        .product(name: "CampanileCodec", package: "campanile"),
        .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
      ] + nio,
      swiftSettings: settings),
    .executableTarget(
      name: "GRPCPeer",
      dependencies: [
        "NotificationsBackend", .product(name: "CampanileAPI", package: "campanile"),
        .product(name: "CampanileCodec", package: "campanile"),
        .product(name: "GRPCCore", package: "grpc-swift-2"),
        .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport"),
        .product(name: "GRPCProtobuf", package: "grpc-swift-protobuf"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ] + nio,
      swiftSettings: settings),
  ]
)

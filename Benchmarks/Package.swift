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
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "campanile", path: ".."),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-protobuf", exact: "1.39.0"),
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
        .product(name: "CampanilePostgreSQL", package: "campanile"),
        .product(name: "CampanileStore", package: "campanile"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "CodecBench",
      dependencies: [
        .product(name: "CampanileAPI", package: "campanile"), .product(name: "CampanileCodec", package: "campanile"),
        .product(name: "CampanileJSON", package: "campanile"),
        .product(name: "SwiftProtobuf", package: "swift-protobuf"),
      ],
      swiftSettings: settings),
    .executableTarget(name: "FrameLoad", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(name: "BareServer", cSettings: [.unsafeFlags(["-O2"])]),
    .executableTarget(
      name: "ClientLoad",
      dependencies: [
        .product(name: "CampanileAPI", package: "campanile"), .product(name: "CampanileBase", package: "campanile"),
        .product(name: "CampanileRPC", package: "campanile"),
      ] + nio,
      swiftSettings: settings),
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

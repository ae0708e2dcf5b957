// swift-tools-version: 6.2
import PackageDescription

/// The settings with which every target of this package is compiled; those of the suite's package.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let package = Package(
  name: "campanile-client",
  platforms: [.iOS(.v17), .watchOS(.v10), .macOS(.v14), .tvOS(.v17), .visionOS(.v1)],
  products: [
    .library(name: "CampanileClient", targets: ["CampanileClient"]),
    .library(name: "CampanileActivities", targets: ["CampanileActivities"]),
    .library(name: "CampanileSync", targets: ["CampanileSync"]),
    .library(name: "CampanileLodge", targets: ["CampanileLodge"]),
  ],
  targets: [
    // Links to the suite's sources. The excluded folders serve servers only, and require newer systems.
    .target(
      name: "CampanileBase", exclude: ["Metrics", "Network", "Tasks", "Tracing"], swiftSettings: settings),
    .target(name: "CampanileCodec", dependencies: ["CampanileBase"], swiftSettings: settings),
    .target(name: "CampanileCall", dependencies: ["CampanileBase", "CampanileCodec"], swiftSettings: settings),
    .target(name: "CampanileMessages", dependencies: ["CampanileCall", "CampanileCodec"], swiftSettings: settings),
    .target(
      name: "CampanileClient", dependencies: ["CampanileBase", "CampanileCall", "CampanileCodec", "CampanileMessages"],
      swiftSettings: settings),
    .target(
      name: "CampanileActivities", dependencies: ["CampanileClient", "CampanileMessages"], swiftSettings: settings),
    .target(name: "CampanileLodge", dependencies: ["CampanileClient", "CampanileMessages"], swiftSettings: settings),
    .target(name: "CampanileSync", dependencies: ["CampanileClient", "CampanileMessages"], swiftSettings: settings),

    // Tests, and the program whose processes they kill.
    .executableTarget(
      name: "client-process", dependencies: ["CampanileClient"], path: "Tests/client-process", swiftSettings: settings),
    .testTarget(
      name: "CampanileClientTests",
      dependencies: [
        "CampanileActivities", "CampanileClient", "CampanileLodge", "CampanileMessages", "CampanileSync",
        "client-process",
      ], resources: [.copy("Fixtures")], swiftSettings: settings),
  ]
)

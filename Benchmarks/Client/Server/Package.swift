// swift-tools-version: 6.2
import PackageDescription

// Decoding by the server's codec, to compare the client's with: the same program, with the server's generated messages.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// All sources are links.
let package = Package(
  name: "server-decoding",
  platforms: [.macOS(.v15)],
  targets: [
    .target(name: "CampanileBase", exclude: ["Metrics", "Network", "Tasks", "Tracing"], swiftSettings: settings),
    .target(name: "CampanileCodec", dependencies: ["CampanileBase"], swiftSettings: settings),
    .target(name: "CampanileNotifications", dependencies: ["CampanileCodec"], swiftSettings: settings),
    .executableTarget(
      name: "DecodeBench", dependencies: ["CampanileCodec", "CampanileNotifications"], swiftSettings: [settings[0]]),
  ])

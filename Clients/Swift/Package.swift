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

/// Stand-ins for Apple's frameworks, so that the code for Apple's systems and the example apps compile on Linux. Only
/// for checks: `CAMPANILE_APPLE_STUBS=1 swift build --scratch-path .build-stubs`.
let usesStubs = Context.environment["CAMPANILE_APPLE_STUBS"] != nil
let stubs = [
  "ActivityKit": [], "AppIntents": [], "BackgroundTasks": [], "Network": [], "Security": [], "SwiftUI": [],
  "UserNotifications": [], "WatchConnectivity": [], "WatchKit": ["SwiftUI", "UserNotifications"],
  "WidgetKit": ["ActivityKit", "SwiftUI"],
]

func target(_ name: String, uses names: [String] = [], exclude: [String] = [], frameworks: [String] = []) -> Target {
  .target(
    name: name, dependencies: dependencies(names, frameworks), exclude: exclude, swiftSettings: settings)
}

/// The messages and the clients of a service.
func service(_ name: String, uses names: [String] = [], frameworks: [String] = []) -> Target {
  target(
    name, uses: ["CampanileCall", "CampanileClient", "CampanileMessages", "CampanileStorage"] + names,
    frameworks: frameworks)
}

func dependencies(_ names: [String], _ frameworks: [String]) -> [Target.Dependency] {
  (names + (usesStubs ? frameworks : [])).map { .target(name: $0) }
}

/// An example app: SwiftUI sources, which compile with the stand-ins.
func exampleApp(_ name: String, uses names: [String], frameworks: [String]) -> Target {
  .target(
    name: name, dependencies: dependencies(["CampanileClient"] + names, frameworks), path: "Examples/\(name)",
    swiftSettings: settings)
}

// The first three are links to the suite's sources. The excluded folders serve servers only, and require newer systems.
let libraries = [
  target("CampanileBase", exclude: ["Metrics", "Network", "Retry/CircuitBreaker.swift", "Tasks", "Tracing"]),
  target(
    "CampanileCodec", uses: ["CampanileBase"],
    exclude: ["JSON/JSONTree.swift", "Validation"] + ["Any", "Value", "Wrappers"].map { "WellKnown/Proto\($0).swift" }),
  target("CampanileCall", uses: ["CampanileBase", "CampanileCodec"], exclude: ["Interceptors"]),
  target("CampanileStorage", uses: ["CampanileCodec"]),
  target(
    "CampanileClient", uses: ["CampanileBase", "CampanileCall", "CampanileCodec"],
    frameworks: ["BackgroundTasks", "Network", "Security"]),
  target("CampanileMessages", uses: ["CampanileStorage"]),
  // The messages and the clients of each service, so that an app has those of the services that it uses.
  service("CampanileNotifications"),
  service("CampanileActivities", uses: ["CampanileNotifications"], frameworks: ["ActivityKit", "SwiftUI"]),
  service("CampanileAttendance"),
  target("CampanileLodge", uses: ["CampanileAttendance", "CampanileClient"]),
  service("CampanileSync", frameworks: ["WatchConnectivity"]),
  service("CampanileGateway"),
]

let programs: [Target] = [
  .executableTarget(
    name: "campanile-example",
    dependencies: dependencies(
      ["CampanileActivities", "CampanileClient", "CampanileLodge", "CampanileNotifications"], []),
    path: "Examples/CommandLine", swiftSettings: settings),
  // A process that tests kill.
  .executableTarget(
    name: "client-process", dependencies: ["CampanileNotifications"], path: "Tests/client-process",
    swiftSettings: settings),
]

let tests: [Target] = [
  .testTarget(
    name: "CampanileClientTests",
    dependencies: [
      "CampanileActivities", "CampanileClient", "CampanileGateway", "CampanileLodge", "CampanileMessages",
      "CampanileNotifications", "CampanileStorage", "CampanileSync",
      "client-process",
    ], resources: [.copy("Fixtures")], swiftSettings: settings)
]

let stubTargets: [Target] =
  stubs.map { name, names in
    .target(
      name: name, dependencies: names.map { .target(name: $0) }, path: "Tests/AppleStubs/\(name)",
      swiftSettings: settings)
  } + [
    exampleApp(
      "InboxApp", uses: ["CampanileActivities"],
      frameworks: ["ActivityKit", "SwiftUI", "UserNotifications", "WatchKit", "WidgetKit"]),
    exampleApp("RoomApp", uses: ["CampanileActivities"], frameworks: ["ActivityKit", "SwiftUI"]),
    exampleApp("TimerApp", uses: ["CampanileActivities"], frameworks: ["ActivityKit", "AppIntents", "SwiftUI"]),
    exampleApp("LodgeApp", uses: ["CampanileLodge"], frameworks: ["BackgroundTasks", "Security", "SwiftUI"]),
    .testTarget(
      name: "AppleStubTests",
      dependencies: dependencies(
        ["CampanileActivities", "CampanileClient", "CampanileSync"],
        ["ActivityKit", "BackgroundTasks", "Network", "Security", "WatchConnectivity"]),
      swiftSettings: settings),
  ]

let package = Package(
  name: "campanile-client",
  platforms: [.iOS(.v17), .watchOS(.v10), .macOS(.v14), .tvOS(.v17), .visionOS(.v1)],
  products: [
    "CampanileClient", "CampanileNotifications", "CampanileActivities", "CampanileSync", "CampanileAttendance",
    "CampanileLodge", "CampanileGateway",
  ].map { .library(name: $0, targets: [$0]) },
  targets: libraries + (usesStubs ? stubTargets : programs + tests)
)

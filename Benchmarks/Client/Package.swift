// swift-tools-version: 6.2
import PackageDescription

// The size and the speed of the client for apps. See ../README.md.
let package = Package(
  name: "client-benchmarks",
  platforms: [.macOS(.v14)],
  dependencies: [.package(name: "campanile-client", path: "../../Clients/Swift")],
  targets: [
    .executableTarget(name: "AppAlone"),
    .executableTarget(
      name: "AppWithClient",
      dependencies: [
        .product(name: "CampanileAttendance", package: "campanile-client"),
        .product(name: "CampanileNotifications", package: "campanile-client"),
      ]),
    .executableTarget(
      name: "DecodeBench", dependencies: [.product(name: "CampanileNotifications", package: "campanile-client")]),
  ])

// swift-tools-version: 6.2
import PackageDescription

func program(_ name: String, path: String) -> Target {
  .executableTarget(
    name: name,
    dependencies: [
      .product(name: "CampanileBase", package: "campanile"), .product(name: "CampanileCodec", package: "campanile"),
      .product(name: "CampanileRPC", package: "campanile"), .product(name: "NIOPosix", package: "swift-nio"),
    ],
    path: path,
    plugins: [.plugin(name: "CampanileGenerator", package: "campanile")])
}

let package = Package(
  name: "hello",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "campanile", path: "../../..", traits: ["RPC"]),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
  ],
  targets: [
    program("Hello", path: "Sources"), program("HelloCalls", path: "Client"), program("Streams", path: "Streams"),
  ]
)

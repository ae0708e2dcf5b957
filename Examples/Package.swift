// swift-tools-version: 6.2
import PackageDescription

/// The packages of products that are not Campanile's.
let packages = ["Logging": "swift-log", "ServiceLifecycle": "swift-service-lifecycle"]

// A package of its own, as readers would write it. `watch` and `live-activity` belong to the package of the suite.
func example(_ name: String, uses products: String...) -> Target {
  .executableTarget(
    name: name,
    dependencies: (["CampanileBase", "CampanileCodec", "CampanileRPC"] + products).map {
      .product(name: $0, package: packages[$0] ?? "campanile")
    },
    path: name,
    plugins: [.plugin(name: "CampanileGenerator", package: "campanile")])
}

let package = Package(
  name: "campanile-examples",
  platforms: [.macOS(.v15)],
  dependencies: [
    // Without the trait TLS, so that BoringSSL is not built.
    .package(name: "campanile", path: "..", traits: ["Integrations"]),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
  ],
  targets: [
    example("hello", uses: "CampanileHealthReflection"),
    example("service", uses: "CampanileHealthReflection", "CampanileIntegrations", "Logging", "ServiceLifecycle"),
    example("chat"),
    example("file-transfer", uses: "CampanileCrypto"),
    example("interceptor", uses: "Logging"),
    example("gateway"),
    .testTarget(
      name: "ExampleTests",
      dependencies: [
        "interceptor", "service", .product(name: "CampanileBase", package: "campanile"),
        .product(name: "CampanileRPC", package: "campanile"),
        .product(name: "CampanileTesting", package: "campanile"),
      ],
      path: "tests"),
  ]
)

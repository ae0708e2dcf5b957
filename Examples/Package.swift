// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as readers would write it. `watch` and `live-activity` belong to the package of the suite.
func example(_ name: String, uses products: String...) -> Target {
  .executableTarget(
    name: name,
    dependencies: (["CampanileBase", "CampanileCodec", "CampanileRPC"] + products).map {
      .product(name: $0, package: $0 == "Logging" ? "swift-log" : "campanile")
    },
    path: name,
    plugins: [.plugin(name: "CampanileGenerator", package: "campanile")])
}

let package = Package(
  name: "campanile-examples",
  platforms: [.macOS(.v26)],
  dependencies: [
    // Without the trait TLS, so that BoringSSL is not built.
    .package(name: "campanile", path: "..", traits: ["RPC"]),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
  ],
  targets: [
    example("hello", uses: "CampanileHealthReflection"),
    example("chat"),
    example("file-transfer", uses: "CampanileCrypto"),
    example("interceptor", uses: "Logging"),
  ]
)

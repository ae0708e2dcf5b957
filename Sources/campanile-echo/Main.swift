import CampanileAPI
import CampanileServer
import Echo

/// `campanile-echo`: a server for conformance and load tests.
@main
enum Main {
  static func main() async {
    let specification = ServiceSpecification(
      name: "campanile-echo", version: CampanileVersion.string, defaultPort: 7499, environmentPrefix: "CAMPANILE_",
      settings: [CommonConfiguration.dataFolder])
    await ServiceMain.main(specification) { _ in
      ServiceComponents(rpcServices: [EchoService()], descriptorSet: DescriptorSet.serializedBytes)
    }
  }
}

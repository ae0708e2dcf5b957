import CampanileAPI
import CampanileRuntime
import Echo

/// `campanile-echo`: a server for conformance and load tests.
@main
enum Main {
  static func main() async {
    await ServiceMain.main(ServiceSpecification(name: "campanile-echo", defaultPort: 7499)) { _ in
      ServiceComponents(rpcServices: [EchoService()], descriptorSet: DescriptorSet.serializedBytes)
    }
  }
}

import CampanileRuntime
import Echo

/// `campanile-echo`: a server for conformance and load tests.
@main
enum Main {
  static func main() async {
    await ServiceMain("campanile-echo", defaultPort: 7499).run { _ in
      ServiceComponents(rpcServices: [EchoService()])
    }
  }
}

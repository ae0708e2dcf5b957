// The service of the tutorial with CampanileServer: settings, logs, metrics, health over HTTP, and reload.

import CampanileRPC
import CampanileServer

let specification = ServiceSpecification(
  name: "hello", version: "1.0.0", defaultPort: 7600,
  settings: [.string("greeting", default: "Hello", help: "word before the name")])

await ServiceMain.main(specification) { context in
  let service = HelloService(greeting: try context.settings.string("greeting"))
  var components = ServiceComponents(
    rpcServices: [service], descriptorSet: HelloDescriptorSet.serializedBytes)
  components.interceptors = [.logging(context.logger)]
  return components
}

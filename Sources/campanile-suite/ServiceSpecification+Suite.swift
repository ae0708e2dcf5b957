import CampanileServer

extension ServiceSpecification {
  /// Creates the specification of a program of the suite: they have one version and one prefix of variables.
  static func program(
    name: String, defaultPort: Int, settings: [Setting], listenPolicy: ListenPolicy = .standard
  ) -> ServiceSpecification {
    ServiceSpecification(
      name: name, version: CampanileVersion.string, defaultPort: defaultPort, environmentPrefix: "CAMPANILE_",
      settings: settings, listenPolicy: listenPolicy)
  }
}

public import CampanileRPC

extension [any RPCService] {
  /// Returns `services` with the services `grpc.health.v1.Health` and `campanile.rpc.v1.ReflectionService` for all of
  /// them.
  ///
  /// - Parameters:
  ///   - health: The statuses to serve. If nil, every service is SERVING until the server drains.
  ///   - descriptorSet: A serialized `google.protobuf.FileDescriptorSet` with the files of `services` and their
  ///     imports. Without it, reflection lists the methods but cannot describe their messages.
  ///   - forwarded: Methods that a dispatcher of the server's own serves; reflection lists them as well.
  public static func withHealthAndReflection(
    _ services: [any RPCService], health: HealthRegistry? = nil, descriptorSet: [UInt8] = [],
    forwarded: [MethodDescriptor] = []
  ) -> [any RPCService] {
    let methods = MethodRegistry(services).methods + HealthMethods.all + ReflectionServiceMethods.all + forwarded
    let health = health ?? HealthRegistry(serving: Set(methods.map(\.service)))
    let reflection = ReflectionService(
      methods: methods, descriptorSet: descriptorSet + StandardDescriptorSet.serializedBytes)
    return services + [HealthService(health), reflection]
  }
}

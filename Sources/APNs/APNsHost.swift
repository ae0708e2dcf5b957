/// Apple's hosts ("Sending notification requests to APNs", "Sending channel management requests to APNs").
public struct APNsHost: Sendable, Hashable {
  public var name: String
  public var port: Int

  public init(name: String, port: Int) {
    self.name = name
    self.port = port
  }

  public static let production = APNsHost(name: "api.push.apple.com", port: 443)
  public static let sandbox = APNsHost(name: "api.sandbox.push.apple.com", port: 443)
  public static let productionChannels = APNsHost(name: "api-manage-broadcast.push.apple.com", port: 2196)
  public static let sandboxChannels = APNsHost(name: "api-manage-broadcast.sandbox.push.apple.com", port: 2195)
}

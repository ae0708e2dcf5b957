// A stand-in for Apple's framework: the declarations that this package uses, with a working part for tests.
public import Dispatch
import Foundation

public struct NWInterface: Sendable {
  public let name: String
  public init(name: String) { self.name = name }
}

public struct NWPath: Sendable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public let status: Status
  public let availableInterfaces: [NWInterface]
}

public final class NWPathMonitor: @unchecked Sendable {
  public var pathUpdateHandler: (@Sendable (_ path: NWPath) -> Void)?
  nonisolated(unsafe) private static var monitors: [NWPathMonitor] = []

  public init() {}
  public func start(queue: DispatchQueue) { Self.monitors.append(self) }
  public func cancel() { Self.monitors.removeAll { $0 === self } }

  /// For tests: the system reports a path.
  public static func systemReports(_ status: NWPath.Status, _ interfaces: String...) {
    let path = NWPath(status: status, availableInterfaces: interfaces.map { NWInterface(name: $0) })
    for monitor in monitors { monitor.pathUpdateHandler?(path) }
  }
}

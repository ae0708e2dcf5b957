// A stand-in for Apple's framework: the declarations that this package uses, with a working part for tests.
public import Dispatch
public import Foundation

open class BGTask: NSObject {
  public var expirationHandler: (() -> Void)?
  public private(set) var result: Bool?
  public func setTaskCompleted(success: Bool) { result = success }
}

public final class BGAppRefreshTask: BGTask {}

open class BGTaskRequest: NSObject {
  public let identifier: String
  public var earliestBeginDate: Date?
  init(_ identifier: String) { self.identifier = identifier }
}

public final class BGAppRefreshTaskRequest: BGTaskRequest {
  public init(identifier: String) { super.init(identifier) }
}

public final class BGTaskScheduler: @unchecked Sendable {
  public static let shared = BGTaskScheduler()
  private var handlers: [String: (BGTask) -> Void] = [:]
  public private(set) var submitted: [String] = []

  @discardableResult
  public func register(
    forTaskWithIdentifier identifier: String, using queue: DispatchQueue?, launchHandler: @escaping (BGTask) -> Void
  ) -> Bool {
    handlers[identifier] = launchHandler
    return true
  }

  public func submit(_ request: BGTaskRequest) throws { submitted.append(request.identifier) }

  /// For tests: the system launches a task.
  public func systemLaunches(_ identifier: String) -> BGTask {
    let task = BGAppRefreshTask()
    handlers[identifier]?(task)
    return task
  }
}

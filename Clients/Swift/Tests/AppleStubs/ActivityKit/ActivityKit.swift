// A stand-in for Apple's framework: the declarations that this package uses, with a working part for tests.
public import Foundation

public protocol ActivityAttributes: Codable {
  associatedtype ContentState: Codable, Hashable
}

public enum ActivityState: Sendable, Equatable { case active, ended, dismissed, stale, pending }

public struct ActivityContent<State: Codable & Hashable>: @unchecked Sendable {
  public var state: State
  public var staleDate: Date?

  public init(state: State, staleDate: Date?, relevanceScore: Double = 0) {
    self.state = state
    self.staleDate = staleDate
  }
}

public struct PushType: Sendable {
  public static let token = PushType()
  public static func channel(_ id: String) -> PushType { PushType() }
}

public enum ActivityUIDismissalPolicy: Sendable { case `default`, immediate }

/// A sequence with its latest element first, as those of the framework.
public struct Updates<Element: Sendable>: AsyncSequence, Sendable {
  let stream: AsyncStream<Element>
  public func makeAsyncIterator() -> AsyncStream<Element>.Iterator { stream.makeAsyncIterator() }
}

final class Broadcast<Element: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var continuations: [AsyncStream<Element>.Continuation] = []

  var updates: Updates<Element> {
    let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
    lock.withLock { continuations.append(continuation) }
    return Updates(stream: stream)
  }

  func send(_ element: Element) { for continuation in lock.withLock({ continuations }) { continuation.yield(element) } }
}

/// The state of the framework, by the name of the attributes' type.
final class Registry: @unchecked Sendable {
  static let shared = Registry()
  private let lock = NSLock()
  private var values: [String: any Sendable] = [:]

  func value<Value: Sendable>(_ key: String, _ make: () -> Value) -> Value {
    lock.withLock {
      if let value = values[key] as? Value { return value }
      let value = make()
      values[key] = value
      return value
    }
  }
}

final class Box<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value
  init(_ value: Value) { stored = value }
  var value: Value {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
}

public final class Activity<Attributes: ActivityAttributes>: Identifiable, @unchecked Sendable {
  public typealias ContentState = Attributes.ContentState

  public let id: String
  public let attributes: Attributes
  private let tokenBox = Box<Data?>(nil)
  private let tokens = Broadcast<Data>()
  private let stateBox = Box(ActivityState.active)
  private let states = Broadcast<ActivityState>()
  private let contentBox: Box<ActivityContent<ContentState>>

  private init(_ attributes: Attributes, _ content: ActivityContent<ContentState>) {
    id = UUID().uuidString
    self.attributes = attributes
    contentBox = Box(content)
  }

  public var content: ActivityContent<ContentState> { contentBox.value }
  public var pushToken: Data? { tokenBox.value }
  public var pushTokenUpdates: Updates<Data> { tokens.updates }
  public var activityState: ActivityState { stateBox.value }
  public var activityStateUpdates: Updates<ActivityState> { states.updates }

  private static var name: String { String(describing: Attributes.self) }
  private static var running: Box<[Activity]> { Registry.shared.value(name + "/running") { Box([]) } }
  private static var started: Broadcast<Activity> { Registry.shared.value(name + "/started") { Broadcast() } }
  private static var startToken: Box<Data?> { Registry.shared.value(name + "/token") { Box(nil) } }
  private static var startTokens: Broadcast<Data> { Registry.shared.value(name + "/tokens") { Broadcast() } }

  public static var activities: [Activity] { running.value }
  public static var activityUpdates: Updates<Activity> { started.updates }
  public static var pushToStartToken: Data? { startToken.value }
  public static var pushToStartTokenUpdates: Updates<Data> { startTokens.updates }

  public static func request(
    attributes: Attributes, content: ActivityContent<ContentState>, pushType: PushType? = nil
  ) throws -> Activity {
    let activity = Activity(attributes, content)
    running.value.append(activity)
    started.send(activity)
    return activity
  }

  public func update(_ content: ActivityContent<ContentState>) async { contentBox.value = content }

  public func end(
    _ content: ActivityContent<ContentState>?, dismissalPolicy: ActivityUIDismissalPolicy = .default
  ) async {
    systemSends(state: .ended)
  }

  // For tests: what the system does.

  public func systemSends(token: Data) {
    tokenBox.value = token
    tokens.send(token)
  }

  public func systemSends(state: ActivityState) {
    stateBox.value = state
    states.send(state)
  }

  public static func systemSends(pushToStartToken token: Data) {
    startToken.value = token
    startTokens.send(token)
  }
}

public final class ActivityAuthorizationInfo: Sendable {
  private static let changes = Broadcast<Bool>()
  private static let allowed = Box(false)

  public init() {}
  public var areActivitiesEnabled: Bool { true }
  public var frequentPushesEnabled: Bool { Self.allowed.value }
  public var frequentPushEnablementUpdates: Updates<Bool> { Self.changes.updates }

  public static func systemSends(frequentPushesEnabled isEnabled: Bool) {
    allowed.value = isEnabled
    changes.send(isEnabled)
  }
}

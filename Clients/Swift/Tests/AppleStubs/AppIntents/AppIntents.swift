// A stand-in for Apple's framework: the declarations that the examples use.

public protocol AppIntent: Sendable {
  static var title: LocalizedStringResource { get }
  associatedtype Result: IntentResult
  init()
  func perform() async throws -> Result
}

public protocol LiveActivityIntent: AppIntent {}
public protocol IntentResult: Sendable {}

public struct EmptyIntentResult: IntentResult {}

extension IntentResult where Self == EmptyIntentResult {
  public static func result() -> EmptyIntentResult { EmptyIntentResult() }
}

public struct LocalizedStringResource: ExpressibleByStringLiteral, Sendable {
  public init(stringLiteral value: String) {}
}

@propertyWrapper public struct Parameter<Value: Sendable>: Sendable {
  public var wrappedValue: Value {
    get { stored! }
    set { stored = newValue }
  }
  private var stored: Value?
  public init(title: LocalizedStringResource) {}
}

extension AppIntent {
  public typealias Parameter = AppIntents.Parameter
}

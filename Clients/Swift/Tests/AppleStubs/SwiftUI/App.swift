@MainActor public protocol Scene {}

@MainActor public protocol App {
  associatedtype Body: Scene
  @SceneBuilder var body: Body { get }
  init()
}

extension App {
  public static func main() { _ = Self() }
}

@MainActor @resultBuilder public enum SceneBuilder {
  public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup<Content: View>: @MainActor Scene {
  @MainActor public init(@ViewBuilder content: () -> Content) {}
}

@MainActor @propertyWrapper public struct State<Value> {
  nonisolated(unsafe) private var stored: Value
  nonisolated public init(wrappedValue: Value) { stored = wrappedValue }
  public var wrappedValue: Value {
    get { stored }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { Binding(wrappedValue) }
}

@MainActor @propertyWrapper public struct Binding<Value> {
  private let stored: Value
  init(_ value: Value) { stored = value }
  public var wrappedValue: Value {
    get { stored }
    nonmutating set {}
  }
  public var projectedValue: Binding<Value> { self }
}

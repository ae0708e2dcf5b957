public struct Color: PrimitiveView, Sendable {
  nonisolated public init(red: Double, green: Double, blue: Double) {}
  nonisolated public static let primary = Color(red: 0, green: 0, blue: 0)
  nonisolated public static let secondary = Color(red: 0, green: 0, blue: 0)
  nonisolated public static let blue = Color(red: 0, green: 0, blue: 0)
}

public struct Font: Sendable {
  public static let headline = Font()
  public static let subheadline = Font()
  public static let caption = Font()
  public static let title = Font()
  public static let body = Font()
  public func monospacedDigit() -> Font { self }
}

extension View {
  public func font(_ font: Font?) -> Modified { Modified() }
  public func foregroundStyle(_ color: Color) -> Modified { Modified() }
  public func tint(_ color: Color?) -> Modified { Modified() }
  public func padding() -> Modified { Modified() }
  public func frame(width: Double? = nil, height: Double? = nil) -> Modified { Modified() }
  public func navigationTitle(_ title: some StringProtocol) -> Modified { Modified() }
  public func disabled(_ isDisabled: Bool) -> Modified { Modified() }
  public func badge(_ count: Int) -> Modified { Modified() }
  public func task(_ action: @escaping @MainActor () async -> Void) -> Modified { Modified() }
  public func refreshable(_ action: @escaping @MainActor () async -> Void) -> Modified { Modified() }
  public func onAppear(perform action: (@MainActor () -> Void)? = nil) -> Modified { Modified() }
  public func swipeActions<Content: View>(@ViewBuilder content: () -> Content) -> Modified { Modified() }
  public func tag(_ value: some Hashable) -> Modified { Modified() }
  public func lineLimit(_ count: Int?) -> Modified { Modified() }
}

// A stand-in for Apple's framework: the declarations that this package and its examples use. Views have no effect.
public import Foundation
@_exported public import Observation

@MainActor @preconcurrency public protocol View {
  associatedtype Body: View
  @ViewBuilder var body: Body { get }
}

extension Never: View {
  public var body: Never { fatalError("a primitive view has no body") }
}

/// A view of the framework.
public protocol PrimitiveView: View where Body == Never {}
extension PrimitiveView {
  public var body: Never { fatalError("a primitive view has no body") }
}

@MainActor @resultBuilder public enum ViewBuilder {
  public static func buildBlock() -> EmptyView { EmptyView() }
  public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
  public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<(repeat each Content)>
  {
    TupleView()
  }
  public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
  public static func buildEither<First: View, Second: View>(first: First) -> Conditional<First, Second> { .init() }
  public static func buildEither<First: View, Second: View>(second: Second) -> Conditional<First, Second> { .init() }
}

extension Optional: View where Wrapped: View {
  public var body: Never { fatalError("a primitive view has no body") }
}
extension Optional: PrimitiveView where Wrapped: View {}

public struct EmptyView: PrimitiveView {
  nonisolated public init() {}
}
public struct TupleView<Content>: PrimitiveView { nonisolated init() {} }
public struct Conditional<First: View, Second: View>: PrimitiveView { nonisolated init() {} }
public struct Modified: PrimitiveView { nonisolated init() {} }

public struct Text: PrimitiveView {
  public init(_ text: some StringProtocol) {}
  public init(_ date: Date, style: DateStyle) {}
  public init(timerInterval: ClosedRange<Date>, pauseTime: Date? = nil, countsDown: Bool = true) {}
  public enum DateStyle { case date, time, relative, timer, offset }
}

public struct Image: PrimitiveView {
  public init(systemName: String) {}
}
public struct AsyncImage<Content: View>: PrimitiveView {
  public init<I: View, P: View>(
    url: URL?, @ViewBuilder content: @escaping (Image) -> I, @ViewBuilder placeholder: @escaping () -> P
  ) where Content == Conditional<I, P> {}
}
public struct Label: PrimitiveView {
  public init(_ title: some StringProtocol, systemImage: String) {}
}
public struct Spacer: PrimitiveView { public init() {} }
public struct Divider: PrimitiveView { public init() {} }
public struct Circle: PrimitiveView {
  public init() {}
  public func fill(_ color: Color) -> Modified { Modified() }
}
public struct ProgressView: PrimitiveView {
  public init() {}
  public init(value: Double?, total: Double = 1) {}
  public init(timerInterval: ClosedRange<Date>, countsDown: Bool = true) {}
}

public enum HorizontalAlignment { case leading, center, trailing }
public enum VerticalAlignment { case top, center, bottom }

public struct VStack<Content: View>: PrimitiveView {
  public init(alignment: HorizontalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
}
public struct HStack<Content: View>: PrimitiveView {
  public init(alignment: VerticalAlignment = .center, spacing: Double? = nil, @ViewBuilder content: () -> Content) {}
}
public struct List<Content: View>: PrimitiveView {
  public init(@ViewBuilder content: () -> Content) {}
  public init<Data: RandomAccessCollection, Row: View>(_ data: Data, @ViewBuilder row: @escaping (Data.Element) -> Row)
  where Data.Element: Identifiable, Content == ForEach<Data, Row> {}
  public init<Data: RandomAccessCollection, ID: Hashable, Row: View>(
    _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder row: @escaping (Data.Element) -> Row
  ) where Content == ForEach<Data, Row> {}
}
public struct ForEach<Data: RandomAccessCollection, Content: View>: PrimitiveView {
  public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content)
  where Data.Element: Identifiable {}
  public init<ID: Hashable>(
    _ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content
  ) {}
}
public struct Section<Content: View>: PrimitiveView {
  public init(_ title: some StringProtocol, @ViewBuilder content: () -> Content) {}
}
public struct Form<Content: View>: PrimitiveView { public init(@ViewBuilder content: () -> Content) {} }
public struct ScrollView<Content: View>: PrimitiveView { public init(@ViewBuilder content: () -> Content) {} }
public struct NavigationStack<Content: View>: PrimitiveView { public init(@ViewBuilder root: () -> Content) {} }

public struct Button<Content: View>: PrimitiveView {
  public enum Role { case destructive, cancel }
  public init(_ title: some StringProtocol, role: Role? = nil, action: @escaping @MainActor () -> Void)
  where Content == Text {}
  public init(role: Role? = nil, action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Content) {}
}
public struct Toggle: PrimitiveView { public init(_ title: some StringProtocol, isOn: Binding<Bool>) {} }
public struct TextField: PrimitiveView { public init(_ title: some StringProtocol, text: Binding<String>) {} }
public struct SecureField: PrimitiveView { public init(_ title: some StringProtocol, text: Binding<String>) {} }
public struct Picker<Content: View>: PrimitiveView {
  public init<Value: Hashable>(
    _ title: some StringProtocol, selection: Binding<Value>, @ViewBuilder content: () -> Content
  ) {}
}

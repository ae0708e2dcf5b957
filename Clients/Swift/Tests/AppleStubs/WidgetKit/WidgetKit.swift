// A stand-in for Apple's framework: the declarations that the examples use.
public import ActivityKit
public import SwiftUI

public protocol WidgetConfiguration {}

@MainActor public protocol Widget {
  associatedtype Body: WidgetConfiguration
  init()
  var body: Body { get }
}

public struct ActivityViewContext<Attributes: ActivityAttributes> {
  public let attributes: Attributes
  public let state: Attributes.ContentState
  public let activityID: String
  public let isStale: Bool
}

@MainActor public struct ActivityConfiguration<Attributes: ActivityAttributes>: @MainActor WidgetConfiguration {
  public init<Content: View>(
    for type: Attributes.Type, @ViewBuilder content: @escaping (ActivityViewContext<Attributes>) -> Content,
    dynamicIsland: @escaping (ActivityViewContext<Attributes>) -> DynamicIsland
  ) {}
}

public enum DynamicIslandExpandedRegionPosition: Sendable { case leading, trailing, center, bottom }

@MainActor public struct DynamicIslandExpandedRegion<Content: View> {
  public init(_ position: DynamicIslandExpandedRegionPosition, @ViewBuilder content: () -> Content) {}
}

@MainActor @resultBuilder public enum DynamicIslandExpandedContentBuilder {
  public static func buildBlock<each Content: View>(_ content: repeat DynamicIslandExpandedRegion<each Content>) -> Int
  { 0 }
}

@MainActor public struct DynamicIsland {
  public init<Leading: View, Trailing: View, Minimal: View>(
    @DynamicIslandExpandedContentBuilder expanded: @escaping () -> Int,
    @ViewBuilder compactLeading: @escaping () -> Leading, @ViewBuilder compactTrailing: @escaping () -> Trailing,
    @ViewBuilder minimal: @escaping () -> Minimal
  ) {}
}

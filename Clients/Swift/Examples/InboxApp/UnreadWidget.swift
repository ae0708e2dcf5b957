#if canImport(WidgetKit) && canImport(ActivityKit) && !os(macOS)
  import CampanileActivities
  import Foundation
  import SwiftUI
  import WidgetKit

  /// The newest unread notifications on the Lock Screen and in the Dynamic Island.
  struct UnreadWidget: Widget {
    var body: some WidgetConfiguration {
      ActivityConfiguration(for: UnreadActivityAttributes.self) { context in
        UnreadLockScreenView(state: context.state)
      } dynamicIsland: { context in
        DynamicIsland {
          DynamicIslandExpandedRegion(.leading) { Image(systemName: "bell.fill") }
          DynamicIslandExpandedRegion(.trailing) { Text("\(context.state.unreadCount)") }
          DynamicIslandExpandedRegion(.bottom) { UnreadLockScreenView(state: context.state) }
        } compactLeading: {
          Image(systemName: "bell.fill")
        } compactTrailing: {
          Text("\(context.state.unreadCount)")
        } minimal: {
          Text("\(context.state.unreadCount)")
        }
      }
    }
  }

  struct UnreadLockScreenView: View {
    let state: UnreadContentState

    var body: some View {
      VStack(alignment: .leading, spacing: 8) {
        HStack {
          Text("Notifications").font(.headline)
          Spacer()
          Text("\(state.unreadCount) unread").font(.caption).foregroundStyle(.secondary)
        }
        Divider()
        ForEach(state.notifications) { item in
          HStack(alignment: .top, spacing: 8) {
            AsyncImage(url: URL(string: item.bucketIconUrl ?? "")) { image in
              image
            } placeholder: {
              Image(systemName: "bell.fill")
            }
            .frame(width: 24, height: 24)
            VStack(alignment: .leading, spacing: 2) {
              Text(item.title).font(.subheadline)
              if let subtitle = item.subtitle { Text(subtitle).font(.caption).foregroundStyle(.secondary) }
            }
          }
        }
        if state.hiddenCount > 0 { Text("Tap to view all").font(.caption).foregroundStyle(.blue) }
      }
      .padding()
    }
  }
#endif

import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

// Webhooks.
extension ZentikSession {
  /// Maximum number of the newest notifications that are searched for the webhook.
  static let notificationsLookedAtMax = 2000

  /// Runs a webhook.
  ///
  /// The app sends neither the notification nor the action to which the webhook belongs. The action is therefore taken
  /// from the newest notification that has the webhook among its actions.
  func executeWebhook(_ id: String, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let (notification, action) = try await action(of: id, calls)
    let request = InvokeActionRequest(notificationId: notification, actionId: action)
    let response: InvokeActionResponse = try await call(NotificationsServiceMethods.invokeAction, request, calls)
    let run = response.run ?? ActionRun()
    guard run.state != .failed else {
      throw RPCError(
        .unavailable, run.message.isEmpty ? "the webhook failed" : run.message,
        reason: run.reason.isEmpty ? "WEBHOOK_FAILED" : run.reason)
    }
    return DialectAnswer(
      200,
      .object([
        "success": .bool(true), "status": .integer(Int64(run.httpStatus)), "retrying": .bool(run.state == .retrying),
      ]))
  }

  private func action(of webhook: String, _ calls: InnerCalls) async throws(RPCError) -> (String, String) {
    var token = ""
    var count = 0
    repeat {
      let request = ListNotificationsRequest(pageSize: 500, pageToken: token)
      let page: ListNotificationsResponse = try await call(
        NotificationsServiceMethods.listNotifications, request, calls)
      for notification in page.notifications {
        if let action = Self.action(of: notification, running: webhook) { return (notification.id, action) }
      }
      count += page.notifications.count
      token = page.nextPageToken
    } while !token.isEmpty && count < Self.notificationsLookedAtMax
    throw RPCError(.notFound, "no notification has this webhook", reason: "WEBHOOK_NOT_FOUND")
  }

  /// Returns the id of the notification's action that runs the webhook, as `InvokeAction` expects it.
  static func action(of notification: Notification, running webhook: String) -> String? {
    let isIt = { (action: Action) in action.type == .webhook && action.value == webhook }
    if let index = notification.actions.firstIndex(where: isIt) { return String(index) }
    return notification.tapAction.map(isIt) == true ? "tap" : nil
  }
}

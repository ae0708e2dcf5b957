// A stand-in for Apple's framework: the declarations that the examples use.
public import SwiftUI
public import UserNotifications

@MainActor open class WKUserNotificationHostingController<Body: View> {
  public init() {}
  open var body: Body { fatalError("the subclass has a body") }
  open func didReceive(_ notification: UNNotification) {}
}

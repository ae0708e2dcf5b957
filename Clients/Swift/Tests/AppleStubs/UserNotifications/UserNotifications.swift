// A stand-in for Apple's framework: the declarations that the examples use.
open class UNNotificationContent { public var userInfo: [AnyHashable: Any] = [:] }
open class UNNotificationRequest { public var content = UNNotificationContent() }
open class UNNotification { public var request = UNNotificationRequest() }

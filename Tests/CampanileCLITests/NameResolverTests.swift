import CampanileCLI
import Testing

@Suite struct NameResolverTests {
  let methods = [
    KnownMethod(service: "campanile.notifications.v1.NotificationsService", name: "GetNotification"),
    KnownMethod(service: "campanile.notifications.v1.NotificationsService", name: "ListNotifications"),
    KnownMethod(service: "campanile.rpc.v1.ReflectionService", name: "ListServices"),
    KnownMethod(service: "grpc.health.v1.Health", name: "List"),
    KnownMethod(service: "campanile.other.v1.Health", name: "List"),
  ]

  @Test(arguments: [
    "campanile.notifications.v1.NotificationsService/GetNotification", "NotificationsService/GetNotification",
    "NotificationsService.GetNotification", "GetNotification", "getnotification",
    "v1.NotificationsService/GetNotification",
  ])
  func resolvesUniqueNames(text: String) throws {
    #expect(try NameResolver.method(text, among: methods) == methods[0])
  }

  @Test func prefersExactName() throws {
    let twins = [
      KnownMethod(service: "a.S", name: "get"), KnownMethod(service: "a.S", name: "Get"),
    ]
    #expect(try NameResolver.method("Get", among: twins).name == "Get")
    #expect(try NameResolver.method("get", among: twins).name == "get")
    #expect(throws: NameError.self) { try NameResolver.method("GET", among: twins) }
  }

  @Test func ambiguousNameListsCandidates() {
    let error = #expect(throws: NameError.self) { try NameResolver.method("Health/List", among: methods) }
    #expect(error?.candidates == ["campanile.other.v1.Health/List", "grpc.health.v1.Health/List"])
    #expect(error?.description.contains("ambiguous") == true)
  }

  @Test func doesNotMatchPartialWords() {
    #expect(throws: NameError.self) { try NameResolver.method("Notification", among: methods) }
    #expect(throws: NameError.self) { try NameResolver.method("Service/GetNotification", among: methods) }
  }

  @Test(arguments: ["GetNotfication", "GetNotificaiton", "getNotifications", "NotificationService/GetNotification"])
  func suggestsNamesForTypos(text: String) {
    let error = #expect(throws: NameError.self) { try NameResolver.method(text, among: methods) }
    #expect(error?.candidates.first == methods[0].path)
    #expect(error?.description.contains("did you mean") == true)
  }

  @Test(arguments: ["", "/", "Frobnicate", String(repeating: "x", count: 10_000), "\u{1b}[31mred"])
  func suggestsNothingForUnknownWords(text: String) {
    let error = #expect(throws: NameError.self) { try NameResolver.method(text, among: methods) }
    #expect(error?.candidates == [])
    #expect(error?.description.unicodeScalars.contains("\u{1b}") == false)
    #expect((error?.description.count ?? .max) < 256)
  }
}

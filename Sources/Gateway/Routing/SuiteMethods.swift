import CampanileAPI
public import CampanileRPC

/// The methods behind the gateway, from the generated tables.
public enum SuiteMethods {
  /// Every method of the suite's services, including services that are not configured.
  public static let all: [MethodDescriptor] =
    NotificationsServiceMethods.all + SharingServiceMethods.all + AutomationServiceMethods.all
    + DeliveryServiceMethods.all + TransferServiceMethods.all + ContainersServiceMethods.all
    + EngagementServiceMethods.all + EchoServiceMethods.all + activities + attendance + sync
    + SimulatorServiceMethods.all

  private static let activities: [MethodDescriptor] =
    ActivitiesServiceMethods.all + PushTokensServiceMethods.all + TimersServiceMethods.all + RoomsServiceMethods.all
    + UnreadServiceMethods.all + ActivityDebugServiceMethods.all + SigningServiceMethods.all
    + PushDeliveryServiceMethods.all + BroadcastChannelsServiceMethods.all + ActivityGroupsServiceMethods.all
    + WidgetsServiceMethods.all

  private static let attendance: [MethodDescriptor] =
    MembersServiceMethods.all + MeetingsServiceMethods.all + AttendanceServiceMethods.all
    + StatisticsServiceMethods.all + SessionsServiceMethods.all + LodgeServiceMethods.all

  private static let sync: [MethodDescriptor] =
    ZonesServiceMethods.all + AssetsServiceMethods.all + UploadsServiceMethods.all + DevicesServiceMethods.all

  /// Returns the methods of the configured backends, which reflection lists in addition to the gateway's own.
  public static func methods(of backends: [BackendConfiguration]) -> [MethodDescriptor] {
    all.filter { method in backends.contains { method.path.hasPrefix($0.servicePrefix) } }
  }

  /// Returns the full names of a backend's services, for health checks.
  public static func serviceNames(of backend: BackendConfiguration) -> [String] {
    var names: [String] = []
    for method in methods(of: [backend]) where !names.contains(method.service) { names.append(method.service) }
    return names
  }
}

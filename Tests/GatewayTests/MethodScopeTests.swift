import CampanileAPI
import CampanileHealthReflection
import CampanileRPC
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// The scope that each method requires. A new method must be listed here, so that its scope is a deliberate choice.
@Suite struct MethodScopeTests {
  private static let methods =
    SuiteMethods.all + AccessServiceMethods.all + ConsoleServiceMethods.all + WatchServiceMethods.all
    + ReflectionServiceMethods.all

  @Test func everyMethodHasItsListedScope() {
    let found = Self.methods.map { method in
      "\(method.path.dropFirst("campanile.".count)) \(method.scope)\(method.isBulk ? " bulk" : "")"
    }
    let expected = Self.listed
    for line in Set(found).subtracting(expected).sorted() { Issue.record("not listed: \(line)") }
    for line in Set(expected).subtracting(found).sorted() { Issue.record("listed, but not found: \(line)") }
    #expect(found.count == expected.count)
  }

  @Test func keysCanHaveEveryScope() {
    for method in Self.methods where !["public", "authenticated"].contains(method.scope) {
      let scope = Scope(method.scope)
      #expect(scope != nil, "\(method.path)")
      guard case .right(_, let service)? = scope?.grant else {
        #expect(method.scope == "admin", "\(method.path)")
        continue
      }
      let package = method.path.split(separator: ".")[1]
      #expect(service == package || package == "rpc" && service == "echo", "\(method.path)")
    }
  }

  /// Fields of responses that look like a secret, but are not.
  private static let harmless: Set = [
    // A position in a list or a log.
    "next_page_token", "resume_token",
    // The first and last digits of a push token, or its id in the store.
    "redacted_token", "token_id",
    // The public part of a key.
    "key_id",
    // A key that collapses notifications, and keys of localised texts in an app.
    "collapse_key", "title_loc_key", "loc_key",
  ]

  /// Methods whose services store the response to a request with an id without its secret, as their tests show.
  private static let storedWithoutSecret: Set = [
    "campanile.attendance.v1.MeetingsService/CreateCalendarFeed",
    "campanile.gateway.v1.AccessService/CreateApiKey", "campanile.gateway.v1.AccessService/RotateApiKey",
    "campanile.notifications.v1.SharingService/CreateInviteCode",
    "campanile.notifications.v1.SharingService/CreatePublishKey",
  ]

  @Test("a response with a field that looks like a secret is marked, or its field is listed as harmless")
  func secretsAreMarked() throws {
    let index = SchemaIndex(descriptorSet: DescriptorSet.serializedBytes)
    let marks: Set = ["secret", "token", "code", "pin", "password", "key", "pem"]
    func secrets(_ message: String, _ seen: inout Set<String>) -> [String] {
      guard seen.insert(message).inserted, let schema = index.messages[message] else { return [] }
      return schema.fields.flatMap { field -> [String] in
        switch field.kind {
        case .message(let inner): return secrets(inner, &seen)
        case .string, .bytes:
          let isSecret = !marks.isDisjoint(with: field.name.split(separator: "_").map(String.init))
          return isSecret && !Self.harmless.contains(field.name) ? ["\(message).\(field.name)"] : []
        default: return []
        }
      }
    }
    for method in Self.methods {
      var seen: Set<String> = []
      let found = secrets(method.responseType, &seen)
      #expect(method.hasSecretResponse == !found.isEmpty, "\(method.path): \(found)")
      // Services store the responses to requests with a request id: where the response is secret, without the secret.
      if method.hasSecretResponse {
        let hasRequestID = index.messages[method.requestType]?.field("request_id") != nil
        #expect(hasRequestID == Self.storedWithoutSecret.contains(method.path), "\(method.path)")
      }
    }
    #expect(Self.methods.count(where: \.hasSecretResponse) >= 7)
  }

  @Test func onlySixMethodsArePublic() {
    #expect(Self.methods.count(where: { $0.scope == "public" }) == 6)
  }

  @Test("any credential is enough only for the gateway's own methods about the caller itself")
  func onlyMethodsAboutTheCallerNeedNoScope() {
    let found = Self.methods.filter { $0.scope == "authenticated" }
    #expect(found.count == 6)
    for method in found {
      #expect(method.path.hasPrefix("campanile.gateway.v1."))
      let requirement = Requirement(kind: Requirement.Kind(method))
      #expect(requirement.kind == .authenticated)
      #expect(AccessRights([Scope("sync:read")].compactMap { $0 }, services: ["sync"]).allows(requirement))
    }
  }

  /// The lines of the table, each with service, method and scope.
  private static var listed: [String] {
    var service = ""
    var lines: [String] = []
    for line in table.split(separator: "\n") {
      if line.hasPrefix(" ") { lines.append("\(service)/\(line.drop { $0 == " " })") } else { service = String(line) }
    }
    return lines
  }

  private static let table = """
    activities.v1.ActivitiesService
      BatchUpdateActivities activities:write bulk
      EndActivity activities:write
      GetActivity activities:read
      ListActivities activities:read
      ListActivityChanges activities:read
      SetActivityPushes activities:write
      StartActivity activities:write
      UpdateActivity activities:write
      WatchActivities activities:read
    activities.v1.ActivityDebugService
      EndAllActivities admin
      GetActivityStatus admin
      TestEnd admin
      TestStart admin
      TestToConnected admin
      TestToWaiting admin
    activities.v1.ActivityGroupsService
      EndActivityGroup activities:operate bulk
      UpdateActivityGroup activities:operate bulk
    activities.v1.BroadcastChannelsService
      CreateBroadcastChannel activities:operate
      DeleteBroadcastChannel activities:operate
      GetBroadcastChannel activities:operate
      ListBroadcastChannels activities:operate
      SendBroadcast activities:operate bulk
    activities.v1.PushDeliveryService
      DeleteDeadLetters activities:operate bulk
      GetPush activities:operate
      ListActivityUsers activities:operate
      ListDeadLetters activities:operate
      ListPushStatistics activities:operate
      ListPushes activities:operate
      ReplayDeadLetters activities:operate bulk
      WatchPushes activities:operate
    activities.v1.PushTokensService
      DeletePushToken activities:write
      GetActivityPushToken activities:write
      GetPushToken activities:read
      ListPushTokens activities:read
      RegisterPushToken activities:write
      UpdateInstallation activities:write
    activities.v1.RoomsService
      DisconnectRooms activities:write
      JoinRoom activities:write
      LeaveRoom activities:write
      ReportPeer activities:write
    activities.v1.SigningService
      ListSigningKeys admin
      PutSigningKey admin
      RevokeSigningKey admin
      SignProviderToken admin
    activities.v1.TimersService
      CompleteTimer activities:write
      PauseTimer activities:write
      ResumeTimer activities:write
      StartTimer activities:write
      StopTimer activities:write
    activities.v1.UnreadService
      PutUnreadSummary activities:operate
      SendAlert activities:operate
      StartUnreadActivity activities:write
    activities.v1.WidgetsService
      ReloadWidgets activities:operate
    attendance.v1.AttendanceService
      CheckIn attendance:write
      ConfirmAttendance attendance:write
      GetCheckInCode attendance:read
      ListMeetingAttendance attendance:read
      ListMemberAttendance attendance:read
      ListRosterChanges attendance:read
      RecordAttendance attendance:write
      RecordMeetingAttendance attendance:write
      WatchRosterChanges attendance:read
    attendance.v1.LodgeService
      ExportCsv attendance:read
      GetLodgeSettings attendance:read
      ImportCsv attendance:write
      ListAuditEntries attendance:read
      UndoChange attendance:write
      UpdateLodgeSettings attendance:write
      VerifyAuditLog attendance:read
    attendance.v1.MeetingsService
      CancelMeeting attendance:write
      CreateCalendarFeed attendance:write
      CreateMeeting attendance:write
      DeleteCalendarFeed attendance:write
      DeleteMeeting attendance:write
      GetCalendar public
      GetMeeting attendance:read
      ListCalendarFeeds attendance:read
      ListMeetingYears attendance:read
      ListMeetings attendance:read
      ListUpcomingMeetings attendance:read
      UpdateMeeting attendance:write
    attendance.v1.MembersService
      CreateMember attendance:write
      DeactivateMember attendance:write
      EraseMember attendance:write
      ExportMemberData attendance:read
      GetMember attendance:read
      ListMembers attendance:read
      ReactivateMember attendance:write
      RemoveMemberPin attendance:write
      SetMemberPin attendance:write
      UpdateMember attendance:write
    attendance.v1.SessionsService
      ChangePin attendance:write
      GetCurrentMember attendance:read
      ListSessions attendance:read
      Login public
      Logout attendance:write
      RevokeSessions attendance:write
    attendance.v1.StatisticsService
      GetForecast attendance:read
      GetMemberStatistics attendance:read
      ListAbsentees attendance:read
      ListMemberSummaries attendance:read
    gateway.v1.AccessService
      CreateApiKey admin
      GetCaller authenticated
      ListApiKeys admin
      RevokeApiKey admin
      RotateApiKey admin
    gateway.v1.ConsoleService
      CreateSignInLink authenticated
      ListAuditEvents admin
      ListConsoleSessions authenticated
      RevokeConsoleSession authenticated
    gateway.v1.WatchService
      UpdateWatches authenticated
      WatchMany authenticated
    notifications.v1.AutomationService
      Beat notifications:publish
      CreateHeartbeat notifications:write
      CreateTemplate notifications:write
      CreateWebhook notifications:write
      DeleteHeartbeat notifications:write
      DeleteTemplate notifications:write
      DeleteWebhook notifications:write
      GetTemplate notifications:read
      ListHeartbeats notifications:read
      ListTemplates notifications:read
      ListWebhooks notifications:read
      RunWebhook notifications:write
      UpdateTemplate notifications:write
      UpdateWebhook notifications:write
    notifications.v1.ContainersService
      ListUsers notifications:operate
      ReadContainers notifications:operate
      WatchChangedUsers notifications:operate
    notifications.v1.DeliveryService
      ExplainUserDelivery notifications:operate
      ListNotificationUsers notifications:operate
      RecordDeliveries notifications:operate
    notifications.v1.EngagementService
      BatchRecordEngagement notifications:write
      BatchReportEngagement public
      GetNotificationEngagement notifications:read
      ListBucketEngagement notifications:read
      ListEngagementChanges notifications:read
      WatchEngagementChanges notifications:read
    notifications.v1.NotificationsService
      BatchCreateNotifications notifications:publish
      BatchDeleteNotifications notifications:write
      CancelPostponement notifications:write
      CancelScheduledNotification notifications:write
      CreateBucket notifications:write
      CreateNotification notifications:publish
      DeleteBucket notifications:write
      DeleteNotification notifications:write
      ExplainDelivery notifications:read
      GetAttachmentContent notifications:read
      GetBucket notifications:read
      GetBucketSettings notifications:read
      GetLongLook notifications:read
      GetNotification notifications:read
      GetUnreadCounts notifications:read
      GetUnreadSummary notifications:read
      GetUserSettings notifications:read
      InvokeAction notifications:write
      ListActionRuns notifications:read
      ListBuckets notifications:read
      ListDeletedBuckets notifications:read
      ListDeletedNotifications notifications:read
      ListNotificationChanges notifications:read
      ListNotifications notifications:read
      ListPostponedNotifications notifications:read
      ListScheduledNotifications notifications:read
      MarkAllNotificationsRead notifications:write
      MarkNotificationsRead notifications:write
      MarkNotificationsUnread notifications:write
      PostponeNotification notifications:write
      SearchNotifications notifications:read
      SnoozeNotification notifications:write
      UndeleteBucket notifications:write
      UndeleteNotifications notifications:write
      UpdateBucket notifications:write
      UpdateBucketSettings notifications:write
      UpdateNotification notifications:write
      UpdateUserSettings notifications:write
      WatchNotifications notifications:read
    notifications.v1.SharingService
      AcceptInvitation notifications:write
      AcceptInviteCode notifications:write
      BlockUser notifications:write
      CancelInvitation notifications:write
      CreateInviteCode notifications:write
      CreatePublishKey notifications:write
      DeclineInvitation notifications:write
      InviteToBucket notifications:write
      ListBlockedUsers notifications:read
      ListBucketInvitations notifications:read
      ListBucketShares notifications:read
      ListInvitations notifications:read
      ListInviteCodes notifications:read
      ListPublishKeys notifications:read
      PublishWithKey public
      RevokeInviteCode notifications:write
      RevokePublishKey notifications:write
      ShareBucket notifications:write
      UnblockUser notifications:write
      UnshareBucket notifications:write
    notifications.v1.TransferService
      ExportUserData notifications:read
      ImportUserData notifications:write
    rpc.v1.EchoService
      Chat echo:write
      Collect echo:write
      Echo echo:read
      Expand echo:read
      Fail echo:write
    rpc.v1.ReflectionService
      GetFileDescriptorSet public
      ListServices public
    simulator.v1.SimulatorService
      CreateFault simulator:operate
      DeleteFault simulator:operate
      GetScreen simulator:operate
      InvalidateScreen simulator:operate
      ListFaults simulator:operate
      ListScreens simulator:operate
      ListSimulatedPushes simulator:operate
      SetDeviceConnection simulator:operate
      WatchScreens simulator:operate
      WatchSimulatedPushes simulator:operate
    sync.v1.AssetsService
      CommitAssets sync:write
      DeleteAsset sync:write
      DownloadAsset sync:read
      GetAsset sync:read
      GetAssetDelta sync:read
      ImportRecords sync:write bulk
      ListAssetVersions sync:read
      ListAssets sync:read
      PatchAsset sync:write
      PutAsset sync:write
      ResolveAssetConflict sync:write
      RestoreAssetVersion sync:write
    sync.v1.DevicesService
      AcknowledgeUpdates sync:publish
      ListSyncDevices sync:read
      ListUpdates sync:read
      PublishUpdate sync:publish
      RegisterDevice sync:write
      SetSubscriptions sync:publish
      UnregisterDevice sync:write
      WatchUpdates sync:read
    sync.v1.UploadsService
      CancelUpload sync:write
      CreateUpload sync:write
      GetUpload sync:read
      UploadContent sync:write
    sync.v1.ZonesService
      CreateZone sync:write
      DeleteZone sync:write
      GetZone sync:read
      ListSyncUsers sync:operate
      ListZoneChanges sync:read
      ListZones sync:read
      UpdateZone sync:write
      WatchZoneChanges sync:read
    """
}

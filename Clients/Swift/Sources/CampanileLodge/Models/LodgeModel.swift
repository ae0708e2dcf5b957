public import CampanileAttendance
public import CampanileClient
public import Foundation
public import Observation

/// The lodge for a screen, offline first: it shows what the device has stored, and confirmations wait for a network.
///
/// ```swift
/// @State var lodge = LodgeModel(campanile, session: session, folder: folder, outbox: outbox)
/// List(lodge.upcoming) { meeting in … }.task { await lodge.run() }
/// lodge.confirm(meeting.id, present: true)
/// ```
@MainActor @Observable public final class LodgeModel {
  /// The member who is signed in; `nil` before.
  public private(set) var me: Member?
  public private(set) var roster = Roster()
  /// The statistics of all active members, ordered by name; empty if the lodge keeps them private.
  public private(set) var summaries: [MemberSummary] = []
  /// The confirmations that wait for a network.
  public private(set) var pending: [PendingAttendance] = []
  /// The confirmations that the server refused, until `dismiss` removes them.
  public private(set) var refused: [RefusedAttendance] = []
  /// Whether the data may be out of date, because there is no connection.
  public private(set) var isStale = true
  /// Whether the member has to sign in again. What the device has stored is still shown.
  public private(set) var needsSignIn: Bool
  public private(set) var error: RPCError?

  @ObservationIgnored let campanile: Campanile
  @ObservationIgnored let session: LodgeSession
  @ObservationIgnored let outbox: Outbox
  @ObservationIgnored private let file: RosterFile
  @ObservationIgnored private let now: @Sendable () -> Date
  @ObservationIgnored private var settings: LodgeSettings?
  /// The calls that were seen in the outbox, to notice those that were sent.
  @ObservationIgnored private var seen: [PendingAttendance] = []

  /// - Parameters:
  ///   - campanile: With `session.credentials`.
  ///   - folder: A folder for the stored roster.
  public init(
    _ campanile: Campanile, session: LodgeSession, folder: URL, outbox: Outbox,
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.campanile = campanile
    self.session = session
    self.outbox = outbox
    self.now = now
    file = RosterFile(folder)
    needsSignIn = !session.isActive
    do throws(RPCError) {
      let contents = try file.read()
      (roster, summaries, settings) = (contents.roster, contents.summaries, contents.settings)
      me = roster.members[contents.memberID]
    } catch {
      self.error = error
    }
    outboxChanged()
  }

  // MARK: Signing in

  /// Signs a member in and loads the lodge.
  public func signIn(name: String, pin: String) async throws {
    let member = try await session.signIn(campanile, name: name, pin: pin)
    if member.id != me?.id { (roster, summaries) = (Roster(), []) }
    (me, needsSignIn, error) = (member, false, nil)
    store()
    try await refresh()
  }

  /// Signs out, and removes what the device has stored. Confirmations that wait are withdrawn.
  public func signOut() async throws {
    try await session.signOut(campanile)
    for entry in pending { try outbox.remove(entry.id) }
    try file.remove()
    (me, roster, summaries, needsSignIn) = (nil, Roster(), [], true)
    outboxChanged()
  }

  // MARK: Following

  /// Follows the lodge until the task is cancelled. Ends if the session has expired: `needsSignIn` is then true.
  public func run() async {
    let waiting = Task { for await _ in outbox.changes() { self.outboxChanged() } }
    defer { waiting.cancel() }
    do {
      try await refresh()
      for try await event in campanile.attendance.watch(.init(resumeToken: roster.resumeToken)) {
        switch event {
        case .started: (isStale, error) = (false, nil)
        case .reached: try await loadSummaries()
        case .change(let change, let token):
          roster.apply(change)
          roster.resumeToken = token
          showMe()
          store()
        case .gap: try await refresh()
        case .waiting(let cause, _): (isStale, error) = (true, cause)
        }
      }
    } catch is CancellationError {
    } catch {
      failed(error)
    }
    isStale = true
  }

  /// Loads what has changed, and returns. For background launches and pulling to refresh.
  public func refresh() async throws {
    do {
      me = try await session.renew(campanile)
      needsSignIn = false
      do {
        try await loadRoster()
      } catch let error as RPCError where error.reason == "TOKEN_TOO_OLD" {
        roster = Roster()
        try await loadRoster()
      }
      if let loaded = try? await campanile.attendance.lodge.getLodgeSettings(.init()).settings { settings = loaded }
      try await loadSummaries()
      (isStale, error) = (false, nil)
      showMe()
      store()
    } catch {
      failed(error)
      throw error
    }
  }

  // MARK: Attendance

  /// Confirms the member's own presence or absence: shown at once, sent when there is a network.
  public func confirm(_ meetingID: String, present: Bool) { confirm(meetingID, status: present ? .present : .absent) }

  /// Confirms a status of the member, such as `excused`.
  public func confirm(_ meetingID: String, status: AttendanceStatus) {
    do throws(RPCError) {
      // Only the last decision counts: earlier ones that were not sent are withdrawn.
      for entry in pending where entry.meetingID == meetingID { try outbox.remove(entry.id) }
      seen.removeAll { $0.meetingID == meetingID }
      try outbox.add(
        AttendanceServiceMethods.confirmAttendance,
        // The time of the decision: of two devices, the later decision counts, whichever arrives first.
        ConfirmAttendanceRequest(meetingId: meetingID, status: status, eventTime: ProtoTimestamp(now())),
        object: meetingID)
    } catch {
      self.error = error
    }
    outboxChanged()
  }

  /// Removes a refusal that the member has seen.
  public func dismiss(_ refusal: RefusedAttendance) {
    try? outbox.remove(refusal.id)
    outboxChanged()
  }

  /// Returns the member's status at a meeting, as the member has chosen it; `nil` if there is none.
  public func status(of meetingID: String) -> AttendanceStatus? {
    pending.last { $0.meetingID == meetingID }?.status ?? me.flatMap { roster.attendance[meetingID]?[$0.id]?.status }
  }

  /// Whether the member's status at a meeting waits for a network.
  public func isPending(_ meetingID: String) -> Bool { pending.contains { $0.meetingID == meetingID } }

  /// The next meetings.
  public var upcoming: [Meeting] { roster.upcoming(after: now()) }

  /// Returns the member's own statistics, with the confirmations that wait; 0 means all years.
  public func statistics(year: Int32 = 0) -> AttendanceStatistics? {
    guard let me else { return nil }
    var statuses = roster.statuses(of: me.id)
    for entry in pending { statuses[entry.meetingID] = entry.status }
    guard let settings else {
      return StatisticsRules.statistics(of: me, meetings: roster.meetings.values, statuses: statuses, year: year)
    }
    return StatisticsRules.statistics(
      of: me, meetings: roster.meetings.values, statuses: statuses, year: year, settings: settings)
  }
}

// MARK: - Loading

extension LodgeModel {
  private func loadRoster() async throws {
    var next = roster
    var hasMore = true
    while hasMore {
      let page = try await campanile.attendance.service.listRosterChanges(
        .init(resumeToken: next.resumeToken, pageSize: 500, fromStart: next.resumeToken.isEmpty))
      for change in page.changes { next.apply(change) }
      next.resumeToken = page.resumeToken
      hasMore = page.hasMore
    }
    roster = next
  }

  private func loadSummaries() async throws {
    var loaded: [MemberSummary] = []
    var request = ListMemberSummariesRequest(pageSize: 500)
    do {
      repeat {
        let page = try await campanile.attendance.statistics.listMemberSummaries(request)
        loaded += page.summaries
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      summaries = loaded
    } catch let error as RPCError where error.code == .permissionDenied {
      // The lodge keeps statistics private.
      summaries = []
    }
  }

  private func showMe() {
    if let id = me?.id, let member = roster.members[id] { me = member }
  }

  private func failed(_ cause: any Error) {
    guard !(cause is CancellationError) else { return }
    let failure = cause as? RPCError ?? RPCError(.unknown, "\(cause)")
    error = failure
    isStale = true
    if failure.code == .unauthenticated { needsSignIn = true }
  }

  private func store() {
    do throws(RPCError) {
      try file.write(.init(roster: roster, memberID: me?.id ?? "", summaries: summaries, settings: settings))
    } catch {
      self.error = error
    }
  }

  private func outboxChanged() {
    do throws(RPCError) {
      pending = try outbox.entries().compactMap { PendingAttendance($0) }
      refused = try outbox.refusals().compactMap { RefusedAttendance($0) }
    } catch {
      self.error = error
      return
    }
    // A call that has left without a refusal was accepted; its change arrives later.
    let left = seen.filter { entry in
      !pending.contains { $0.id == entry.id } && !refused.contains { $0.id == entry.id }
    }
    for entry in left {
      if let me { roster.record(entry.status, meetingID: entry.meetingID, memberID: me.id) }
    }
    seen = pending
  }
}

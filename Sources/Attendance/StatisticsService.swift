public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.attendance.v1.StatisticsService`.
public struct StatisticsService: StatisticsServiceProtocol {
  let repository: any AttendanceRepository
  let access: AccessControl
  let limits: AttendanceLimits

  public func getMemberStatistics(
    _ request: GetMemberStatisticsRequest, context: CallContext
  ) async throws -> GetMemberStatisticsResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let number = try FieldIDs.member(request.memberId)
    try await access.requireOpenStatistics(caller, of: number)
    let day = request.asOfDate.isEmpty ? nil : try Self.day(request.asOfDate, "asOfDate")
    return GetMemberStatisticsResponse(
      statistics: try await repository.tally(ofMember: number, year: Years.year(request.year), asOfDay: day).statistics)
  }

  public func listMemberSummaries(
    _ request: ListMemberSummariesRequest, context: CallContext
  ) async throws -> ListMemberSummariesResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    try await access.requireOpenStatistics(caller, of: nil)
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["summaries", String(request.year), request.includeInactive ? "all" : "active"], parts: 1, limits: limits)
    let found = try await repository.summaries(
      query, year: Years.year(request.year), includesInactive: request.includeInactive)
    let (summaries, nextPageToken) = query.page(found) { [MemberRules.key(of: $0.name)] }
    return ListMemberSummariesResponse(summaries: summaries, nextPageToken: nextPageToken)
  }

  public func listAbsentees(
    _ request: ListAbsenteesRequest, context: CallContext
  ) async throws -> ListAbsenteesResponse {
    let caller = try await access.caller(context, .secretary)
    try request.checkConstraints()
    let day = try Self.day(request.sinceDate, "sinceDate")
    let query = try PositionQuery(
      user: caller.name, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["absentees", request.sinceDate], parts: 1, limits: limits)
    let (absentees, nextPageToken) = query.page(
      try await repository.absentees(sinceDay: day, query)
    ) { [MemberRules.key(of: $0.name)] }
    return ListAbsenteesResponse(absentees: absentees, nextPageToken: nextPageToken)
  }

  public func getForecast(_ request: GetForecastRequest, context: CallContext) async throws -> GetForecastResponse {
    let caller = try await access.caller(context, .member)
    try request.checkConstraints()
    let number = try FieldIDs.member(request.memberId)
    try await access.requireOpenStatistics(caller, of: number)
    let (tally, upcoming) = try await repository.forecast(ofMember: number, year: Years.year(request.year))
    let forecast = Forecast(
      present: tally.present, counted: tally.counted, upcoming: upcoming, target: Int(request.targetPercentage))
    return GetForecastResponse(
      statistics: tally.statistics, upcomingCount: Int32(clamping: upcoming), reachable: forecast.isReachable,
      neededCount: Int32(clamping: forecast.needed), bestPercentage: Int32(clamping: forecast.bestPercentage))
  }

  /// Returns the day in a text of the declared form, which may still name a day such as 2025-02-30.
  private static func day(_ text: String, _ field: String) throws(RPCError) -> Int64 {
    guard let day = Days.parse(text) else {
      throw .invalidField(field, "must be a day of the years 1000 to 9999 as YYYY-MM-DD", .dateInvalid)
    }
    return day
  }
}

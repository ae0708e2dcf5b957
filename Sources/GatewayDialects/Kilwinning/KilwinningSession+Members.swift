import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import GatewayHTTP

// Members (fratelli).
extension KilwinningSession {
  func members(_ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    if !caller.isStranger {
      do throws(RPCError) {
        let found = try await list(calls, as: caller.identity)
        let zone = try await zone(calls, as: caller.identity)
        return DialectAnswer(200, .array(found.map { KilwinningModels.brother($0, zone: zone) }))
      } catch {
        // An ended session shows the picker again, and its cookie is still sent.
        guard error.code == .unauthenticated, caller.session != nil else { throw error }
      }
    }
    var answer = try await dialect.picker.answer { [self] in
      do throws(RPCError) {
        let found = try await list(calls, as: KilwinningCaller.picker)
        return .success(DialectAnswer(200, .array(found.map { KilwinningModels.brother($0, zone: nil) })))
      } catch { return .failure(error) }
    }
    if caller.session != nil { answer.headers.append(noCookie) }
    return answer
  }

  private func list(_ calls: InnerCalls, as identity: InnerCalls.Identity) async throws(RPCError) -> [Member] {
    try await pages { (token) async throws(RPCError) in
      let request = ListMembersRequest(pageSize: 1000, pageToken: token)
      let page: ListMembersResponse = try await calls.unary(
        MembersServiceMethods.listMembers, request, as: identity)
      return (page.members, page.nextPageToken)
    }
  }

  /// Updates only the fields that the request names.
  func updateMember(_ id: Int64, _ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    let fields = try JSONFields(body)
    var member = Member(id: "m_\(id)")
    var mask: [String] = []
    if let word = try fields.string("grado") {
      member.degree = try known(word, KilwinningWords.degrees, "grado")
      mask.append("degree")
    }
    if let text = try fields.string("data_iniziazione") {
      member.initiationDate = try await day(text, "data_iniziazione", calls)
      mask.append("initiation_date")
    }
    if let text = try fields.string("data_passaggio") {
      member.passingDate = try await day(text, "data_passaggio", calls)
      mask.append("passing_date")
    }
    if let text = try fields.string("data_elevazione") {
      member.raisingDate = try await day(text, "data_elevazione", calls)
      mask.append("raising_date")
    }
    // An empty mask would mean all set fields; here it means none.
    guard !mask.isEmpty else {
      let request = GetMemberRequest(memberId: member.id)
      let response: GetMemberResponse = try await call(MembersServiceMethods.getMember, request, calls)
      return DialectAnswer(200, try await brother(response.member, calls, as: caller.identity))
    }
    let request = UpdateMemberRequest(member: member, updateMask: .init(paths: mask))
    let response: UpdateMemberResponse = try await call(MembersServiceMethods.updateMember, request, calls)
    return DialectAnswer(200, try await brother(response.member, calls, as: caller.identity))
  }

  /// Returns a member in the app's form for a caller who has logged in.
  func brother(
    _ member: Member?, _ calls: InnerCalls, as identity: InnerCalls.Identity
  ) async throws(RPCError) -> JSONTree {
    let member = member ?? Member()
    let hasDay = [member.initiationDate, member.passingDate, member.raisingDate].contains { !$0.isEmpty }
    return KilwinningModels.brother(member, zone: hasDay ? try await zone(calls, as: identity) : "")
  }

  /// Returns the lodge's time zone.
  private func zone(_ calls: InnerCalls, as identity: InnerCalls.Identity) async throws(RPCError) -> String {
    let response: GetLodgeSettingsResponse = try await calls.unary(
      LodgeServiceMethods.getLodgeSettings, GetLodgeSettingsRequest(), as: identity)
    return response.settings?.timeZone ?? ""
  }

  /// Returns the day in the lodge's time zone, because the app sends an instant in its device's time zone.
  private func day(_ text: String, _ key: String, _ calls: InnerCalls) async throws(RPCError) -> String {
    if text.utf8.count == 10 { return text }
    guard let time = DialectTimes.time(text) else {
      throw RPCError.invalidField(key, "it must be an instant such as 2025-11-25T18:30:00Z")
    }
    return DialectTimes.day(time, zone: try await zone(calls, as: caller.identity))
  }
}

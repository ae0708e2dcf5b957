import CampanileAPI
import CampanileCodec
import GatewayHTTP

/// The app's models, with all keys that its decoders require, in Italian and English.
enum KilwinningModels {
  /// Returns a member in the app's form.
  ///
  /// - Parameter zone: The lodge's time zone, which defines the instants of days. Nil for a caller who has not logged
  ///   in: the result then has only the data of the picker.
  static func brother(_ member: Member, zone: String?) -> JSONTree {
    let isKnown = zone != nil
    let names = names(of: member)
    let degree = KilwinningWords.word(member.degree, KilwinningWords.degrees)
    var tree: [String: JSONTree] = [
      "id": .integer(member.number), "nome": .string(member.name), "first_name": .string(names.first),
      "last_name": .string(names.last), "email": .string(isKnown ? member.email : ""), "grado": .string(degree),
      "degree": .string(degree), "role": .string(KilwinningWords.word(member.office, KilwinningWords.offices)),
      "admin_access": .bool(isKnown && isAdmin(member)),
      "registration_date": .string(DialectTimes.text(member.createTime)),
    ]
    // The first server has only this key. Like the app's, it is absent without an office.
    if member.office != .noneValue, member.office != .unspecified {
      tree["carica_fissa"] = .string(KilwinningWords.word(member.office, KilwinningWords.offices))
    }
    guard let zone else { return .object(tree) }
    for (key, day) in [
      ("data_iniziazione", member.initiationDate), ("data_passaggio", member.passingDate),
      ("data_elevazione", member.raisingDate),
    ] where !day.isEmpty { tree[key] = .string(DialectTimes.text(day: day, zone: zone)) }
    return .object(tree)
  }

  /// Returns whether the app shows the functions for managing meetings and degrees. Both roles may call all of them.
  static func isAdmin(_ member: Member) -> Bool { member.role == .admin || member.role == .secretary }

  /// Returns the first and last name. If neither is set, splits the full name.
  private static func names(of member: Member) -> (first: String, last: String) {
    if !member.givenName.isEmpty || !member.familyName.isEmpty { return (member.givenName, member.familyName) }
    guard let space = member.name.firstIndex(of: " ") else { return (member.name, "") }
    return (String(member.name[..<space]), String(member.name[member.name.index(after: space)...]))
  }

  static func tornata(_ meeting: Meeting) -> JSONTree {
    let date = DialectTimes.text(meeting.startTime)
    let type = KilwinningWords.word(meeting.type, KilwinningWords.types)
    let status = KilwinningWords.word(meeting.status, KilwinningWords.statuses)
    let place = KilwinningWords.place(meeting.location)
    var tree: [String: JSONTree] = [
      "id": .integer(meeting.number), "discussione": .string(meeting.discussion), "title": .string(meeting.discussion),
      "data": .string(date), "date": .string(date), "tipo": .string(type), "type": .string(type),
      "location": .string(meeting.location.isEmpty ? place : meeting.location), "location_enum": .string(place),
      "introduced_by": .string(meeting.introducedBy), "cena": .bool(meeting.hasDinner),
      "has_dinner": .bool(meeting.hasDinner), "stato": .string(status), "status": .string(status),
    ]
    if !meeting.notes.isEmpty { tree["notes"] = .string(meeting.notes) }
    if !meeting.coverImageUrl.isEmpty { tree["cover_image_url"] = .string(meeting.coverImageUrl) }
    return .object(tree)
  }

  /// Returns an attendance record in the app's form.
  ///
  /// - Parameter member: The number of the member.
  static func presence(_ attendance: Attendance, member: Int64) -> JSONTree? {
    guard let meeting = number(of: attendance.meetingId, "t_") else { return nil }
    var tree: [String: JSONTree] = [
      "fratello_id": .integer(member), "brother_id": .integer(member), "tornata_id": .integer(meeting),
      "presente": .bool(attendance.status == .present), "status": .string(KilwinningWords.presence(attendance.status)),
    ]
    if let time = attendance.updateTime, attendance.status != .notConfirmed {
      tree["confirmed_at"] = .string(DialectTimes.text(time))
    }
    return .object(tree)
  }

  /// Returns statistics in the app's form. Excused meetings outside the denominator count neither in the total nor as
  /// absences, so that the three figures agree.
  static func statistics(_ found: AttendanceStatistics) -> JSONTree {
    let total = Int64(found.countedCount)
    let present = Int64(found.presentCount)
    return .object([
      "totali_tornate": .integer(total), "total_tornate": .integer(total), "presenze_count": .integer(present),
      "presences": .integer(present), "absences": .integer(max(0, total - present)),
      "percentuale": .integer(Int64(found.percentage)), "presenze_consecutive": .integer(Int64(found.currentStreak)),
      "consecutive_presences": .integer(Int64(found.currentStreak)),
      "personal_record": .integer(Int64(found.bestStreak)), "attendance_rate": .double(found.rate),
    ])
  }

  static func year(_ found: MeetingYear) -> JSONTree {
    .object([
      "anno": .integer(Int64(found.year)), "tornate": .integer(Int64(found.meetingCount)),
      "completate": .integer(Int64(found.completedCount)),
    ])
  }

  static func summary(_ found: MemberSummary) -> JSONTree {
    let statistics = found.statistics ?? AttendanceStatistics()
    return .object([
      "id": .integer(found.memberNumber), "nome": .string(found.name),
      "grado": .string(KilwinningWords.word(found.degree, KilwinningWords.degrees)),
      "presenze": .integer(Int64(statistics.presentCount)),
      "tornate_disponibili": .integer(Int64(statistics.countedCount)),
      "percentuale": .integer(Int64(statistics.percentage)),
    ])
  }

  /// Returns the number in an id such as `t_3`.
  static func number(of id: String, _ prefix: String) -> Int64? {
    id.hasPrefix(prefix) ? Int64(id.dropFirst(prefix.count)) : nil
  }
}

import CampanileAttendance
import CampanileClient
import Foundation

/// The stored roster and statistics of a device.
///
/// A file of lines, each with one message in JSON. A line that this version cannot read makes the whole file useless:
/// the roster is then read from the server again.
struct RosterFile: Sendable {
  private let folder: PrivateFolder
  private static let name = "lodge.jsonl"

  init(_ url: URL) { folder = PrivateFolder(url) }

  /// The contents of the file.
  struct Contents: Hashable, Sendable {
    var roster = Roster()
    /// The member who is signed in.
    var memberID = ""
    var summaries: [MemberSummary] = []
    var settings: LodgeSettings?
  }

  func read() throws(RPCError) -> Contents {
    guard let bytes = try folder.read(Self.name) else { return Contents() }
    let lines = bytes.split(separator: UInt8(ascii: "\n")).map { Array($0) }
    return (try? Self.decode(lines)) ?? Contents()
  }

  func write(_ contents: Contents) throws(RPCError) {
    var bytes: [UInt8] = []
    func add(_ message: some ProtoMessage) {
      bytes += message.jsonUTF8Bytes()
      bytes.append(UInt8(ascii: "\n"))
    }
    add(ListRosterChangesRequest(resumeToken: contents.roster.resumeToken))
    add(Member(id: contents.memberID))
    add(contents.settings ?? LodgeSettings())
    for summary in contents.summaries { add(ListMemberSummariesResponse(summaries: [summary])) }
    for member in contents.roster.members.values { add(RosterChange(change: .member(member))) }
    for meeting in contents.roster.meetings.values { add(RosterChange(change: .meeting(meeting))) }
    for record in contents.roster.attendance.values.flatMap(\.values) {
      add(RosterChange(change: .attendance(record)))
    }
    try folder.write(bytes, to: Self.name)
  }

  /// Removes everything at logout.
  func remove() throws(RPCError) { try folder.remove(Self.name) }

  private static func decode(_ lines: [[UInt8]]) throws -> Contents {
    guard lines.count >= 3 else { return Contents() }
    var contents = Contents()
    contents.roster.resumeToken = try ListRosterChangesRequest(jsonUTF8: lines[0]).resumeToken
    contents.memberID = try Member(jsonUTF8: lines[1]).id
    let settings = try LodgeSettings(jsonUTF8: lines[2])
    contents.settings = settings.timeZone.isEmpty ? nil : settings
    for line in lines.dropFirst(3) {
      if line.starts(with: Array(#"{"summaries""#.utf8)) {
        contents.summaries += try ListMemberSummariesResponse(jsonUTF8: line).summaries
      } else {
        contents.roster.apply(try RosterChange(jsonUTF8: line))
      }
    }
    return contents
  }
}

import CampanileAPI
import CampanileBase
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// Files in Italian and English.
@Suite struct ItalianFileTests {
  @Test("files in Italian have Italian headers and words, semicolons and a byte order mark, and can be imported")
  func italianFilesRoundTrip() async throws {
    let fixture = try Fixture()
    let italian = CsvFormat(language: .italian, separator: .unspecified, hasByteOrderMark: true)
    try await fixture.run { component in
      let anna = try #require(
        try await component.members.createMember(
          .init(member: Member(name: "Anna; la \"prima\"", degree: .master, office: .seniorWarden, role: .secretary)),
          context: admin
        ).member)
      _ = try await component.makeMember("=Bruno")
      let meeting = try await component.makeMeeting(
        atMs: fixture.clock.nowMs - Fixture.dayMs, .completed, "Le, colonne")
      try await component.record(anna, meeting, .notConfirmed)
      let summary = try await component.exportCsv(.summary, italian)
      let lines = summary.split(separator: "\r\n").map(String.init)
      #expect(
        lines[0] == "\u{FEFF}id_fratello;nome;grado;tornate;tornate_conteggiate;presenze;assenze;giustificate;"
          + "non_confermate;percentuale;presenze_consecutive;record")
      #expect(lines[1] == "m_2;\"'=Bruno\";Apprendista;1;1;0;0;0;1;0;0;0")
      #expect(lines[2] == "m_1;\"Anna; la \"\"prima\"\"\";Maestro;1;1;0;0;0;1;0;0;0")
      var files: [(CsvTable, String, String)] = []
      for table in [CsvTable.members, .meetings, .attendance] {
        files.append((table, try await component.exportCsv(table, italian), try await component.exportCsv(table)))
      }
      #expect(files[0].1.contains("\"1° Sorvegliante\"") && files[0].1.contains(";\"sì\";segretario;"))
      #expect(files[1].1.contains(";ordinaria;completata;;no;"))
      #expect(files[2].1.hasSuffix("t_1;2026-02-01T02:40:00Z;non confermato\r\n"))
      // Importing them changes nothing, and in another lodge restores the same data.
      for (table, text, _) in files {
        let found = try await component.importCsv(table, text)
        #expect(found.committed && found.unchangedCount == found.rowCount && found.rowCount > 0, "\(found)")
      }
      let other = try Fixture()
      try await other.run { copy in
        for (table, text, expected) in files {
          let withoutIDs = table == .attendance ? text : text.replacing(/(?m)^(m|t)_\d+;/, with: ";")
          #expect(try await copy.importCsv(table, withoutIDs).errors == [])
          let english = try await copy.exportCsv(table)
          #expect(english.split(separator: "\r\n").count == expected.split(separator: "\r\n").count)
        }
      }
    }
  }

  @Test(arguments: [
    (LodgeLanguage.unspecified, CsvSeparator.unspecified, ","), (.english, .semicolon, ";"), (.italian, .comma, ","),
    (.italian, .unspecified, ";"),
  ])
  func separatorFollowsTheLanguageUnlessGiven(_ language: LodgeLanguage, _ separator: CsvSeparator, _ expected: String)
  {
    let format = CsvFormat(language: language, separator: separator, hasByteOrderMark: false)
    #expect(String(UnicodeScalar(format.separator)) == expected)
  }

  @Test("every word and column has one meaning in both languages")
  func wordsAreUnambiguous() {
    for table in [CsvTable.members, .meetings, .attendance] {
      let columns = ImportReader.columns(of: table).all
      let italian = columns.map(CsvColumns.italian(_:))
      #expect(Set(italian).count == columns.count)
      #expect(italian.map(CsvColumns.english(_:)) == columns && columns.map(CsvColumns.english(_:)) == columns)
    }
    func check<V>(_ vocabulary: CsvVocabulary<V>) {
      for word in vocabulary.words {
        #expect(
          vocabulary.value(word.english) == word.value && vocabulary.value(word.italian.uppercased()) == word.value)
      }
    }
    check(CsvWords.degrees)
    check(CsvWords.offices)
    check(CsvWords.roles)
    check(CsvWords.types)
    check(CsvWords.meetingStatuses)
    check(CsvWords.statuses)
    check(CsvWords.booleans)
  }
}

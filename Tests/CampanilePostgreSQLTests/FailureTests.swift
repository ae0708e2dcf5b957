@testable import CampanilePostgreSQL
import CampanileStore
import Testing

@Suite("Errors of a server")
struct FailureTests {
  @Test(
    "an SQLSTATE becomes the error that a caller can act upon",
    arguments: [
      ("23505", StoreError.Code.constraint), ("23503", .constraint), ("53100", .diskFull), ("53200", .overloaded),
      ("53300", .overloaded), ("54000", .overloaded), ("57014", .interrupted), ("40001", .busy), ("40P01", .busy),
      ("55P03", .busy), ("57P01", .unavailable), ("08006", .unavailable), ("XX001", .corrupt), ("XX002", .corrupt),
      ("XX000", .unavailable), ("42P01", .invalidArgument), ("22P02", .invalidArgument), ("28P01", .unavailable),
      ("25006", .unavailable), ("25P02", .unavailable),
    ])
  func code(_ state: String, _ code: StoreError.Code) {
    #expect(ServerFailure.code(for: state) == code)
  }

  @Test(
    "messages contain no values of rows",
    arguments: [
      ("22P02", "invalid input syntax for type bigint: \"geheim\"", "invalid input syntax for type bigint"),
      ("22003", "value \"99999\" is out of range for type smallint", "value … is out of range for type smallint"),
      ("42601", "syntax error in tsquery: \"geheim &\"", "syntax error in tsquery"),
      (
        "23505", "duplicate key value violates unique constraint \"a\"",
        "duplicate key value violates unique constraint \"a\""
      ),
      ("42P01", "relation \"a\" does not exist", "relation \"a\" does not exist"),
    ])
  func message(_ state: String, _ original: String, _ expected: String) {
    #expect(ServerFailure.withoutValues(original, state) == expected)
  }

  @Test("a server before version 15 is refused with both versions")
  func version() throws {
    #expect(ServerCheck.versionFault(150_000) == nil)
    #expect(ServerCheck.versionFault(180_001) == nil)
    #expect(ServerCheck.versionFault(130_012) == "the server is PostgreSQL 13.12, but the store needs 15.0 or newer")
  }

  @Test("defaults of a connection are added unless the address gives them")
  func parameters() throws {
    let limits = PostgreSQLLimits()
    let plain = try ServerAddress("postgresql://one/data", setting: "--store", defaultDatabase: nil).connection(
      .writer, limits)
    #expect(plain["target_session_attrs"] == "read-write")
    #expect(plain["connect_timeout"] == "2")
    #expect(plain["application_name"] == "campanile")
    #expect(plain["client_encoding"] == "UTF8")
    #expect(plain["options"]?.contains("-c default_transaction_read_only=on") == false)
    let text = "postgresql://one,two/data?connect_timeout=9&application_name=x&options=-c%20work_mem%3D8MB"
    let given = try ServerAddress(text, setting: "--store", defaultDatabase: nil).connection(.reader, limits)
    #expect(given["target_session_attrs"] == "primary")
    #expect(given["connect_timeout"] == "9")
    #expect(given["application_name"] == "x")
    #expect(given["options"]?.hasPrefix("-c work_mem=8MB -c ") == true)
    #expect(given["options"]?.contains("-c default_transaction_read_only=on") == true)
  }
}

import CampanileBase
import Foundation
import Testing

@Suite struct PrivateFileTests {
  @Test func writtenFileIsReadableByItsOwnerAlone() throws {
    try withFolder { folder in
      let path = "\(folder)/secret"
      try PrivateFile.write("first".utf8, to: path)
      try PrivateFile.write("second".utf8, to: path)
      #expect(try PrivateFile.read(path, sizeBytesMax: 6, isPrivate: true) == Array("second".utf8))
      #expect(throws: PrivateFile.Failure.self) { try PrivateFile.read(path, sizeBytesMax: 5, isPrivate: true) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["secret"])
    }
  }

  @Test func failedWriteNamesTheFileAndLeavesNoCopy() throws {
    try withFolder { folder in
      let path = "\(folder)/taken"
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      let failure = #expect(throws: PrivateFile.Failure.self) { try PrivateFile.write("x".utf8, to: path) }
      #expect(failure?.description.hasPrefix("cannot write \(path): ") == true)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["taken"])
    }
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "private-file-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }
}

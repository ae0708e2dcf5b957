import SwiftProtobuf

/// The text of a comment.
package struct Documentation: Sendable, Hashable {
  /// The paragraphs, each on one line. The items of a list are paragraphs that begin with `- `.
  package let paragraphs: [String]
  /// The lines as written, without the space after `//` and without empty lines at the end.
  package let lines: [String]

  package init(_ comment: String) {
    var lines = comment.split(separator: "\n", omittingEmptySubsequences: false).map {
      String($0.hasPrefix(" ") ? $0.dropFirst() : $0)
    }
    while lines.last?.isEmpty == true { lines.removeLast() }
    self.lines = lines
    var paragraphs: [String] = []
    var isOpen = false
    for line in comment.split(separator: "\n", omittingEmptySubsequences: false) {
      let text = line.drop(while: \.isWhitespace)
      if text.isEmpty {
        isOpen = false
      } else if isOpen, !text.hasPrefix("- "), let last = paragraphs.popLast() {
        paragraphs.append(last + " " + text)
      } else {
        paragraphs.append(String(text))
        isOpen = true
      }
    }
    self.paragraphs = paragraphs
  }

  package var isEmpty: Bool { paragraphs.isEmpty }

  /// The paragraphs, separated by empty lines.
  package var text: String { paragraphs.joined(separator: "\n\n") }

  /// The first sentence.
  package var summary: String {
    guard let first = paragraphs.first else { return "" }
    let end = first.firstRange(of: ". ") ?? first.firstRange(of: ": ")
    guard let end else { return first.hasSuffix(":") ? first.dropLast() + "." : first }
    return first[..<end.lowerBound] + "."
  }

  /// The stable reasons of errors that the text names, such as `ETAG_MISMATCH`: words of capital letters with an
  /// underscore. Names of enum values and gRPC statuses look the same; the caller removes them.
  package var reasons: [String] {
    paragraphs.flatMap { $0.split { !$0.isASCII || !($0.isLetter || $0.isNumber || $0 == "_") } }
      .filter { word in
        word.contains("_") && word.first?.isLetter == true && !word.contains(where: \.isLowercase)
      }.map(String.init)
  }
}

/// The leading comments of a file, by the location of the declaration (descriptor.proto, SourceCodeInfo.Location.path).
struct FileComments {
  private var leading: [[Int32]: String] = [:]

  init(_ file: Google_Protobuf_FileDescriptorProto) {
    for location in file.sourceCodeInfo.location where location.hasLeadingComments {
      leading[location.path] = location.leadingComments
    }
  }

  subscript(path: [Int32]) -> Documentation { Documentation(leading[path] ?? "") }
}

import Foundation

// Fixed work, a number of times, for `scripts/bench guard`, which counts its instructions.
//
//   guarded-work KIND COUNT      scan, decode, encode, dispatch, forward or write
//
// The main thread ends as threads of C do and waits for what is asynchronous: valgrind does not outlive the end of an
// asynchronous main.
let arguments = CommandLine.arguments
guard arguments.count == 3, let kind = WorkKind(rawValue: arguments[1]), let count = Int(arguments[2]), count > 0 else {
  let kinds = WorkKind.allCases.map(\.rawValue).joined(separator: ", ")
  FileHandle.standardError.write(Data("usage: guarded-work KIND COUNT; there are \(kinds)\n".utf8))
  exit(64)
}
do {
  // What was worked out is printed, so that no work is left out as useless.
  print(try kind.run(count))
} catch {
  FileHandle.standardError.write(Data("guarded-work: \(error)\n".utf8))
  exit(1)
}

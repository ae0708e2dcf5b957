import Foundation

// Does a fixed amount of work for `scripts/bench guard`, which counts the instructions.
//
//   guarded-work KIND COUNT      scan, decode, encode, dispatch, forward, write or read
//
// The main thread exits like that of a C program and blocks on asynchronous work: valgrind crashes at the end of an
// asynchronous main.
let arguments = CommandLine.arguments
guard arguments.count == 3, let kind = WorkKind(rawValue: arguments[1]), let count = Int(arguments[2]), count > 0 else {
  let kinds = WorkKind.allCases.map(\.rawValue).joined(separator: ", ")
  FileHandle.standardError.write(Data("usage: guarded-work KIND COUNT; kinds are \(kinds)\n".utf8))
  exit(64)
}
do {
  // Prints the result, so that the compiler cannot remove the work as unused.
  print(try kind.run(count))
} catch {
  FileHandle.standardError.write(Data("guarded-work: \(error)\n".utf8))
  exit(1)
}

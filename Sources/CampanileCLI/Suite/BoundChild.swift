internal import CCampanile
internal import Foundation

/// A child process that the kernel kills when its parent ends, even after `kill -9`.
///
/// swift-subprocess has no hook between fork and exec. The child therefore first runs this program, which registers the
/// parent-death signal with the kernel and then replaces itself by the executable.
public enum BoundChild {
  /// First argument of such a child; not a subcommand for users.
  static let marker = "--bound-to-parent"

  /// Returns the arguments with which this program replaces itself by `executable`.
  static func arguments(executable: String, _ arguments: [String]) -> [String] {
    [marker, String(getpid()), executable] + arguments
  }

  /// Replaces this process by the program in `arguments`, if they begin with `marker`.
  ///
  /// - Returns: Nil without the marker; an exit code if the program cannot be started.
  public static func become(_ arguments: [String]) -> Int32? {
    guard arguments.first == marker else { return nil }
    guard arguments.count >= 3, let parent = Int32(arguments[1]) else {
      Console.note("campanile: \(marker) is reserved for the child processes of `campanile up`")
      return UsageError.exitCode
    }
    var words: [UnsafeMutablePointer<CChar>?] = arguments.dropFirst(2).map { strdup($0) }
    words.append(nil)
    campanile_exec_bound(parent, words)
    Console.note("campanile: cannot start \(arguments[2]): \(String(cString: strerror(errno)))")
    return 127
  }
}

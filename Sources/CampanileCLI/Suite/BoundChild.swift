internal import CParentBound
internal import Foundation

/// A child process that the kernel ends when its parent ends, also after `kill -9`.
///
/// swift-subprocess starts processes and offers no hook between fork and exec, so that the child is at first this program
/// again, which asks the kernel for the bond and then replaces itself.
public enum BoundChild {
  /// The first argument of such a child. It is no subcommand: no one types it.
  static let marker = "--bound-to-parent"

  /// The arguments that make this program become `executable`.
  static func arguments(executable: String, _ arguments: [String]) -> [String] {
    [marker, String(getpid()), executable] + arguments
  }

  /// Becomes the program that `arguments` name, or answers at once with `nil` when they are not of this kind.
  ///
  /// - Returns: an exit code when the program could not be started.
  public static func become(_ arguments: [String]) -> Int32? {
    guard arguments.first == marker else { return nil }
    guard arguments.count >= 3, let parent = Int32(arguments[1]) else {
      Console.note("campanile: \(marker) is for the children of `campanile up`")
      return UsageError.exitCode
    }
    var words: [UnsafeMutablePointer<CChar>?] = arguments.dropFirst(2).map { strdup($0) }
    words.append(nil)
    campanile_exec_bound(parent, words)
    Console.note("campanile: cannot start \(arguments[2]): \(String(cString: strerror(errno)))")
    return 127
  }
}

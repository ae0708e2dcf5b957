import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A process started with its own standard input and output.
///
/// Foundation's `Process` waits until all descendants have ended, so it cannot start a server that stays.
struct ChildProcess {
  let id: pid_t

  /// Starts a program found in `PATH`. It inherits every descriptor that is not closed on exec.
  init(_ arguments: [String], input: Int32, output: Int32, folder: String) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, output, 2)
    let copies = (["env", "--chdir=\(folder)"] + arguments).map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, "/usr/bin/env", &actions, nil, copies + [nil], environ)
    guard code == 0 else {
      throw PostgreSQLCluster.Failure(description: "cannot start \(arguments[0]): error \(code)")
    }
    self.id = id
  }

  /// Waits for the end and returns the exit code.
  func wait() -> Int32 {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
  }

  /// Runs a program and returns its output.
  @discardableResult
  static func run(_ arguments: [String], in folder: String) throws -> String {
    let path = NSTemporaryDirectory() + "campanile-\(UUID().uuidString)"
    let output = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard output >= 0, input >= 0 else { throw PostgreSQLCluster.Failure(description: "cannot write \(path)") }
    defer {
      close(output)
      close(input)
      unlink(path)
    }
    let code = try ChildProcess(arguments, input: input, output: output, folder: folder).wait()
    let text = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    guard code == 0 else {
      throw PostgreSQLCluster.Failure(description: "\(arguments.joined(separator: " ")): \(text)")
    }
    return text
  }
}

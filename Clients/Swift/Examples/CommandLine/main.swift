import CampanileClient
import Foundation

// The example apps without screens: they use the same models, and print what a screen would show.
//   campanile-example inbox                 unread notifications
//   campanile-example room                  a chat room
//   campanile-example timer                 a timer that is paused without a network
//   campanile-example lodge NAME PIN        the next meeting and the percentage
// The gateway and the key are CAMPANILE_URL and CAMPANILE_KEY.

let arguments = Array(CommandLine.arguments.dropFirst())
let example = try Example()
do {
  switch arguments.first {
  case "inbox": try await example.inbox()
  case "room": try await example.room()
  case "timer": try await example.timer()
  case "lodge" where arguments.count == 3: try await example.lodge(name: arguments[1], pin: arguments[2])
  default:
    FileHandle.standardError.write(Data("usage: campanile-example inbox|room|timer|lodge NAME PIN\n".utf8))
    exit(64)
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}

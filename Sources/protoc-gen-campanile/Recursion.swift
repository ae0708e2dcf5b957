import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Finds the fields that would make a struct contain itself.
final class Recursion {
  private var reachable: [String: Set<String>] = [:]

  /// Returns whether the message of this singular field contains, directly or indirectly, the field's own message.
  func isRecursive(_ field: FieldDescriptor) -> Bool {
    guard field.type == .message, let message = field.messageType, let owner = field.containingType else {
      return false
    }
    return message.fullName == owner.fullName || reach(message).contains(owner.fullName)
  }

  /// Returns the messages stored inline in `message`, at any depth. Arrays and dictionaries store theirs out of line.
  private func reach(_ message: Descriptor) -> Set<String> {
    if let known = reachable[message.fullName] { return known }
    var found: Set<String> = []
    var open = [message]
    while let next = open.popLast() {
      for field in next.fields where field.type == .message && !field.isRepeated {
        guard let inner = field.messageType, found.insert(inner.fullName).inserted else { continue }
        open.append(inner)
      }
    }
    reachable[message.fullName] = found
    return found
  }
}

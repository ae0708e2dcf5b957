import NIOCore

@testable import CampanileRPC

/// A byte stream contains the same frames for every division into reads.
let frameTarget = FuzzTarget("frame") { input in
  guard let seed = input.first else { return }
  let stream = Array(input.dropFirst())
  let whole = framesOf([stream])
  var pieces: [[UInt8]] = []
  var at = 0
  var size = Int(seed % 7) + 1
  while at < stream.count {
    pieces.append(Array(stream[at..<min(at + size, stream.count)]))
    at += size
    size = size * Int(seed | 1) % 11 + 1
  }
  require(framesOf(pieces) == whole, "different frames in \(pieces.count) pieces")
  require(whole.frames.allSatisfy { (1...frameBytesMax).contains($0.count) }, "a frame beyond the limit")
  // The frames match the stream's content.
  var expected = 0
  for frame in whole.frames {
    require(stream[expected + 4..<expected + 4 + frame.count].elementsEqual(frame), "different content")
    expected += 4 + frame.count
  }
}

private let frameBytesMax = 300

private struct Frames: Equatable {
  var frames: [[UInt8]] = []
  var fault: FrameDecoder.Fault?
  var isInsideFrame = false
}

private func framesOf(_ pieces: [[UInt8]]) -> Frames {
  var decoder = FrameDecoder(frameBytesMax: frameBytesMax)
  var found = Frames()
  for piece in pieces {
    do throws(FrameDecoder.Fault) {
      try decoder.feed(ByteBuffer(bytes: piece)) { bytes in
        found.frames.append(Array(bytes))
        return true
      }
    } catch {
      found.fault = error
      return found
    }
  }
  found.isInsideFrame = decoder.isInsideFrame
  return found
}

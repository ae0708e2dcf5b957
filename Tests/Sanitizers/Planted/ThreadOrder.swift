import Foundation
import Testing

/// Correct code that looks like a race to a sanitizer unaware of its ordering. None of these tests may be reported.
@Suite struct ThreadOrder {
  @Test func aContendedLock() async {
    let meeting = Meeting()
    await withTaskGroup { group in
      for _ in 0..<2 {
        group.addTask {
          meeting.meet()
          for _ in 0..<20_000 { meeting.addUnderLock() }
        }
      }
    }
    #expect(meeting.word == 40_000)
  }

  /// Resumes every second continuation before it is awaited.
  @Test func resumedContinuations() async {
    for round in 0..<200 {
      let meeting = Meeting()
      await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        Thread.detachNewThread {
          meeting.word += 1
          continuation.resume()
          meeting.arrive()
        }
        if round % 2 == 0 { meeting.meet() }
      }
      meeting.word += 1
      #expect(meeting.word == 2)
    }
  }

  /// The thread that changes an array in place has the last reference: the other has read a copy and released it.
  @Test func aCopyThatWasReadAndLetGo() {
    let meeting = Meeting()
    Thread.detachNewThread {
      #expect(meeting.sumOfACopy() == 3)
      meeting.arrive()
    }
    meeting.meet()
    meeting.append(3)
    #expect(meeting.sumOfACopy() == 6)
  }
}

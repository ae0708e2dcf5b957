/// Intentional faults, which the harness must find.
enum Planted {
  /// Uses a length before checking it against the input's size: AddressSanitizer must report the read.
  static let lengthBeforeCheck = FuzzTarget("planted-length") { input in
    guard input.count >= 4, input.starts(with: [0x43, 0x42]) else { return }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 1)
    defer { copy.deallocate() }
    copy.copyBytes(from: input)
    guard let base = copy.baseAddress else { return }
    var sum: UInt8 = 0
    for index in 0..<Int(input[2]) { sum &+= base.load(fromByteOffset: 4 + index, as: UInt8.self) }
    if sum == 0, input[3] == 1 { print("zero") }
  }

  /// A parser of decimal numbers that overflows.
  static let trapOnValue = FuzzTarget("planted-trap") { input in
    guard let first = input.first, first == UInt8(ascii: "#") else { return }
    var value: Int8 = 0
    for byte in input.dropFirst() {
      guard (0x30...0x39).contains(byte) else { return }
      value = value * 10 + Int8(byte - 0x30)
    }
    // The value is used, so that the compiler does not remove it.
    if value == 99 { print("ninety-nine") }
  }
}

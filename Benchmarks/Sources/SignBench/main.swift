import CampanileCrypto

// Signs on one thread for the given number of seconds, and prints the ES256 signatures per second.
let seconds = CommandLine.arguments.dropFirst().first.flatMap(Double.init) ?? 2
let key = try ES256PrivateKey.generate()
// The length of a provider token's signing input.
let message = [UInt8](repeating: 0x61, count: 110)
for _ in 0..<1000 { _ = try key.sign(message) }
let clock = ContinuousClock()
let start = clock.now
let end = start + .seconds(seconds)
var count = 0
while clock.now < end {
  for _ in 0..<256 { _ = try key.sign(message) }
  count += 256
}
print(Double(count) / ((clock.now - start) / .seconds(1)))

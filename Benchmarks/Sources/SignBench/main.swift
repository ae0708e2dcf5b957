import CampanileCrypto

// Signs for so many seconds on one thread and prints how many ES256 signatures a second that makes.
let seconds = CommandLine.arguments.dropFirst().first.flatMap(Double.init) ?? 2
let key = try ES256PrivateKey.generate()
// As long as the signing input of a provider token.
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

import CampanileJSON
import Sync

/// Applying a patch, a merge patch or a delta between two texts gives the second one, and arbitrary ones are applied or
/// refused.
let patchTarget = FuzzTarget("patch") { input in
  // Two texts, separated by a zero byte.
  let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
  guard parts.count == 2 else { return }
  let (old, new) = (parts[0], parts[1])
  if let delta = ByteDelta.encode(from: old, to: new) {
    require((try? ByteDelta.decode(delta, base: old)) == new, "the delta gives a different text")
  }
  // The second part is also tested as a delta.
  let bounded = ByteDelta.Limits(deltaBytesMax: 65_536, targetBytesMax: 65_536)
  if let target = try? ByteDelta.decode(new, base: old, limits: bounded) {
    require(target.count <= bounded.targetBytesMax, "a delta exceeded its limit")
  }
  let limits = JSONLimits(depthMax: 64)
  guard let before = try? JSONValue.parse(old, limits: limits), let after = try? JSONValue.parse(new, limits: limits)
  else { return }
  let patch = JSONPatch.diff(from: before, to: after)
  require((try? patch.apply(to: before)) == after, "the patch gives a different value: \(shown(old)) to \(shown(new))")
  if let merge = JSONMergePatch.diff(from: before, to: after) {
    require(merge.apply(to: before) == after, "the merge patch gives a different value: \(shown(old)) to \(shown(new))")
  }
  _ = JSONMergePatch(after).apply(to: before)
  let small = JSONPatch.Limits(operationsMax: 100, depthMax: 64, addedBytesMax: 100_000, workMax: 1_000_000)
  if let foreign = try? JSONPatch(after, limits: small), let result = try? foreign.apply(to: before, limits: small) {
    require((try? JSONValue.parse(result.serialised())) == result, "a patched value is not JSON")
  }
}

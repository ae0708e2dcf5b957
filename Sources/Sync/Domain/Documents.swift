import CampanileAPI
import CampanileBase
import CampanileJSON
import CampanileRPC
import CampanileService

/// Patches, deltas and merges of whole documents. Takes memory and time: run only on `DocumentWorker`.
enum Documents {
  /// Applies a patch to a document.
  ///
  /// - Throws: INVALID_ARGUMENT, reason `PATCH_INVALID`, if the patch is malformed; FAILED_PRECONDITION, reason
  ///   `PATCH_REFUSED`, with the operation and its path if it does not apply.
  static func apply(
    _ patch: PatchAssetRequest.Patch, to document: [UInt8], sizeMax: Int64
  ) throws(RPCError) -> [UInt8] {
    let target = try parse(document)
    let changed: JSONValue
    switch patch {
    case .jsonPatch(let text):
      let operations: JSONPatch
      do {
        operations = try JSONPatch.parse(Array(text.utf8))
      } catch { throw .patchInvalid("jsonPatch", "\(error)") }
      do throws(JSONPatchError) {
        changed = try operations.apply(to: target)
      } catch { throw .patchRefused(error) }
    case .mergePatch(let text):
      do throws(JSONSyntaxError) {
        changed = JSONMergePatch(try JSONValue.parse(Array(text.utf8))).apply(to: target)
      } catch { throw .patchInvalid("mergePatch", error.message) }
    }
    let bytes = changed.serialised()
    guard Int64(bytes.count) <= sizeMax else {
      throw .refused("patch", "results in more than \(sizeMax) bytes", .contentTooLarge)
    }
    return bytes
  }

  /// Returns the smallest delta of the accepted kinds, each verified by applying it; nil if none is smaller than the
  /// new document.
  static func delta(
    from old: [UInt8], to new: [UInt8], accepted: [DeltaKind]
  ) throws(RPCError) -> (kind: DeltaKind, bytes: [UInt8])? {
    var best: (kind: DeltaKind, bytes: [UInt8])?
    func offer(_ kind: DeltaKind, _ bytes: [UInt8]) {
      if bytes.count < best?.bytes.count ?? new.count { best = (kind, bytes) }
    }
    let wantsDocuments = accepted.contains(.jsonPatch) || accepted.contains(.mergePatch)
    if wantsDocuments, let before = try? parse(old), let after = try? parse(new) {
      if accepted.contains(.jsonPatch) {
        let patch = JSONPatch.diff(from: before, to: after)
        let bytes = patch.serialised()
        if bytes.count < new.count, (try? patch.apply(to: before)) == after { offer(.jsonPatch, bytes) }
      }
      if accepted.contains(.mergePatch), let patch = JSONMergePatch.diff(from: before, to: after),
        patch.apply(to: before) == after
      {
        offer(.mergePatch, patch.document.serialised())
      }
    }
    if accepted.contains(.bytes),
      let delta = ByteDelta.encode(from: old, to: new, limits: .init(deltaBytesMax: new.count)),
      (try? ByteDelta.decode(delta, base: old)) == new
    {
      offer(.bytes, delta)
    }
    return best
  }

  /// Merges the records of two files, with the version that both are based on. Throws FAILED_PRECONDITION, reason
  /// `MERGE_REFUSED`.
  static func merge(
    base: [UInt8]?, mine: [UInt8], theirs: [UInt8], recordType: String, path: String
  ) throws(RPCError) -> [UInt8] {
    guard let container = Container(rawValue: recordType) else {
      throw .refused("\(path)onConflict", "only BucketsData and NotificationsData can be merged", .mergeRefused)
    }
    let ancestor: JSONValue?
    if let base { ancestor = try parse(base) } else { ancestor = nil }
    let (ours, others) = (try parse(mine), try parse(theirs))
    do throws(RecordMergeError) {
      return try RecordMerge.merge(
        container, base: ancestor, ours: ours, theirs: others
      ).document.serialised()
    } catch { throw .refused("\(path)onConflict", "cannot be merged: \(error)", .mergeRefused) }
  }

  private static func parse(_ document: [UInt8]) throws(RPCError) -> JSONValue {
    do throws(JSONSyntaxError) {
      return try JSONValue.parse(document)
    } catch { throw .jsonInvalid(error) }
  }
}

extension RPCError {
  static func patchInvalid(_ field: String, _ message: String) -> RPCError {
    .invalidField(field, "is not a valid patch: \(message)", .patchInvalid)
  }

  static func patchRefused(_ failure: JSONPatchError) -> RPCError {
    var error = RPCError.refused("jsonPatch", "does not apply: \(failure)", .patchRefused)
    error.errorMetadata = ["path": failure.path, "why": failure.reason]
    if let index = failure.operationIndex { error.errorMetadata["operation"] = String(index) }
    return error
  }
}

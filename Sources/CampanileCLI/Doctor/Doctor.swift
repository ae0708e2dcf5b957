internal import CCampanile
internal import CampanileCrypto
internal import CampanilePostgreSQL
internal import CampanileStore
internal import Foundation

/// Checks a data folder and the machine's resources. Changes nothing.
struct Doctor {
  var folder: String
  var endpoints: Endpoints?
  var portBase: Int
  /// APNs servers to check, as `HOST:PORT`.
  var pushHosts: [String]
  /// The PostgreSQL server of the data, as `--store` takes it.
  var store: String?
  var timeoutMs: Int64 = 3_000

  func findings() -> [Finding] {
    [.good("version", "campanile 0.1.0")] + machine() + files() + databases() + servers() + keys() + ports() + pushes()
  }

  private func machine() -> [Finding] {
    var findings: [Finding] = []
    var place = statvfs()
    if statvfs(existing, &place) == 0 {
      let block = Int64(place.f_frsize)
      findings.append(
        DoctorRules.disk(freeBytes: Int64(place.f_bavail) * block, totalBytes: Int64(place.f_blocks) * block))
      if place.f_files > 0, place.f_favail < 10_000 {
        findings.append(
          .bad(
            "disk", "only \(place.f_favail) inodes are free",
            do: "remove small files: each content of sync needs an inode"))
      }
    }
    let isInStep = campanile_clock_is_in_step()
    findings.append(
      DoctorRules.clock(
        isSynchronized: isInStep < 0 ? nil : isInStep == 1, nowSeconds: Int64(Date().timeIntervalSince1970)))
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_max < 4096 {
      findings.append(
        .warning(
          "descriptors", "at most \(limit.rlim_max) file descriptors can be open",
          do: "raise LimitNOFILE or ulimit -n: each connection needs a descriptor"))
    }
    return findings
  }

  /// The data folder, or its nearest existing ancestor.
  private var existing: String {
    var path = URL(fileURLWithPath: folder).standardizedFileURL
    while !FileManager.default.fileExists(atPath: path.path), path.path != "/" { path.deleteLastPathComponent() }
    return path.path
  }

  private func files() -> [Finding] {
    guard FileManager.default.fileExists(atPath: folder) else {
      return [.good("data folder", "\(folder) does not exist yet: `campanile up` creates it")]
    }
    var findings: [Finding] = []
    let secrets = ["internal-token", "admin-key", "endpoints.json", "gateway/admin-key"].map { "\(folder)/\($0)" }
    for path in [folder] + databasePaths + keyPaths + secrets {
      var status = stat()
      guard lstat(path, &status) == 0 else { continue }
      if let finding = DoctorRules.mode(path, mode: status.st_mode, owner: status.st_uid, user: getuid()) {
        findings.append(finding)
      }
    }
    return findings.isEmpty ? [.good("file modes", "only their owner can read secret files")] : findings
  }

  private var databasePaths: [String] {
    ((try? BackupCommand.databases(in: folder, except: folder + "/backups")) ?? []).map { "\(folder)/\($0)" }
  }

  private var keyPaths: [String] {
    let added = ((try? BackupCommand.keys(in: folder)) ?? []).map { "\(folder)/\($0)" }
    let given = ((try? FileManager.default.contentsOfDirectory(atPath: folder + "/apns")) ?? []).sorted()
    return added + given.filter { $0.hasSuffix(".p8") }.map { "\(folder)/apns/\($0)" }
  }

  private func databases() -> [Finding] {
    var findings: [Finding] = []
    for path in databasePaths {
      let name = path.split(separator: "/").last.map(String.init) ?? path
      do {
        try Store.checkFile(path: path)
      } catch {
        findings.append(
          .bad("databases", "\(name): \(error)", do: "restore a backup: see docs/operations.md, a corrupt database"))
        continue
      }
      if let finding = DoctorRules.wal(name, walBytes: sizeBytes(path + "-wal"), databaseBytes: sizeBytes(path)) {
        findings.append(finding)
      }
    }
    if findings.isEmpty, !databasePaths.isEmpty {
      findings.append(.good("databases", "\(databasePaths.count) are intact"))
    }
    return findings
  }

  private func servers() -> [Finding] {
    guard let store else { return [] }
    var findings: [Finding] = []
    var report: ServerReport?
    for part in SuiteMember.all where part.role != .peer {
      let database = SuiteMember.database(part.name)
      do {
        let found = try PostgreSQLEngine(store, defaultDatabase: database).report()
        findings.append(
          .good("store", "\(database): PostgreSQL \(found.version), \(found.databaseBytes / 1_000_000) MB"))
        findings += DoctorRules.vacancies(found.vacancies, database: database)
        report = found
      } catch {
        findings.append(.bad("store", "\(database): \(error.message)", do: "see docs/postgresql.md"))
      }
    }
    guard let report else { return findings }
    return findings + DoctorRules.standbys(report.standbys) + [DoctorRules.serverClock(skewMs: report.clockSkewMs)]
  }

  private func sizeBytes(_ path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : 0
  }

  private func keys() -> [Finding] {
    let bad = keyPaths.filter { $0.hasSuffix(".p8") && (try? ES256PrivateKey(path: $0)) == nil }
    let good = keyPaths.filter { $0.hasSuffix(".p8") }.count - bad.count
    return bad.map { .bad("signing keys", "\($0) is not an ES256 key", do: "replace it with the .p8 file from Apple") }
      + (good > 0 ? [.good("signing keys", "\(good) can sign")] : [])
  }

  private func ports() -> [Finding] {
    guard let endpoints else {
      let taken = (0...4).map { portBase + $0 }.filter { port in
        PortProbe.fault(connecting: "127.0.0.1", port: port, timeoutMs: timeoutMs) == nil
      }
      guard !taken.isEmpty else { return [.good("ports", "\(portBase) to \(portBase + 4) are free")] }
      let list = taken.map(String.init).joined(separator: ", ")
      return [
        .warning(
          "ports", "in use: \(list), but \(folder) has no endpoints.json",
          do: "if another program uses them, give `campanile up` another --port-base")
      ]
    }
    return endpoints.services.sorted { $0.key < $1.key }.map { name, service in
      guard let fault = PortProbe.fault(connecting: "127.0.0.1", port: service.rpc, timeoutMs: timeoutMs) else {
        return .good("ports", "\(name) listens on \(service.rpc)")
      }
      return .bad(
        "ports", "\(name) does not respond: \(fault)",
        do: "check its log; `campanile up` restarts processes that die")
    }
  }

  private func pushes() -> [Finding] {
    pushHosts.map { text in
      guard let destination = try? Destination(address: text) else {
        return .bad("APNs", "\(text) is not HOST:PORT", do: "give --apns HOST:PORT")
      }
      guard let fault = PortProbe.fault(connecting: destination.host, port: destination.port, timeoutMs: timeoutMs)
      else {
        return .good("APNs", "\(text) is reachable")
      }
      return .warning(
        "APNs", fault,
        do: "allow this machine to connect there: until then, pushes wait, and those that expire are not sent")
    }
  }
}

import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileService
import CampanileStore

/// The table `signing_keys`: keys that were added by RPC, on a database that several processes may use.
///
/// The private keys are stored as PKCS#8, as they are in files on SQLite. Whoever can read the database can therefore
/// sign pushes.
enum SigningKeyTable {
  static let allSQL = "SELECT description, private_key FROM signing_keys ORDER BY team_id, key_id"
  static let countSQL = "SELECT count(*) FROM signing_keys WHERE team_id <> $1 OR key_id <> $2"
  static let putSQL = """
    INSERT INTO signing_keys (team_id, key_id, description, private_key) VALUES ($1, $2, $3, $4)
    ON CONFLICT (team_id, key_id) DO UPDATE SET description = excluded.description, private_key = excluded.private_key
    """
  static let removeSQL = "DELETE FROM signing_keys WHERE team_id = $1 AND key_id = $2"
  static let revokedSQL = "SELECT team_id, key_id FROM revoked_keys"
  static let revokeSQL = """
    INSERT INTO revoked_keys (team_id, key_id, revoked_at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (team_id, key_id) DO NOTHING
    """

  /// Returns the keys; one that cannot be used is left out.
  static func all(_ transaction: ReadTransaction) throws -> [SigningKeys.Entry] {
    try transaction.query(allSQL) { row in
      let description = try StoredJSON.message(SigningKey.self, row, 0, "signing_keys")
      let pem = Array(try row.text(1).utf8)
      return (try? ES256PrivateKey(pem: pem, source: "signing_keys")).map { .init(description: description, key: $0) }
    }.compactMap { $0 }
  }

  static func put(_ entry: SigningKeys.Entry, _ transaction: WriteTransaction) throws {
    let pem = String(decoding: try entry.key.privatePEM(), as: UTF8.self)
    try transaction.execute(
      putSQL,
      [.text(entry.id.teamID), .text(entry.id.keyID), .text(entry.description.jsonString()), .text(pem)])
  }

  static func remove(_ id: SigningKeyID, _ transaction: WriteTransaction) throws {
    try transaction.execute(removeSQL, [.text(id.teamID), .text(id.keyID)])
  }

  static func revoked(_ transaction: ReadTransaction) throws -> [SigningKeyID] {
    try transaction.query(revokedSQL) { SigningKeyID(teamID: try $0.text(0), keyID: try $0.text(1)) }
  }
}

/// The table `delivery_meta`: values that the processes on one database share.
enum DeliveryMeta {
  /// A random number that changes with the keys in `signing_keys` and `revoked_keys`.
  static let keys = "keys.revision"

  static let oneSQL = "SELECT value FROM delivery_meta WHERE name = $1"
  static let putSQL = """
    INSERT INTO delivery_meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """

  static func value(_ name: String, _ transaction: ReadTransaction) throws -> String {
    try transaction.queryOne(oneSQL, [.text(name)]) { try $0.text(0) } ?? ""
  }

  static func put(_ value: String, as name: String, _ transaction: WriteTransaction) throws {
    try transaction.execute(putSQL, [.text(name), .text(value)])
  }
}

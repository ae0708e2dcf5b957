import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Generates reference pages in Markdown: an index, a page for each service of the files, and a page for the other
/// types of each package.
struct MarkdownGenerator {
  /// Returns the pages in the order of their names.
  func generate(_ files: [FileDescriptor]) throws -> [(name: String, contents: String)] {
    let contract = try Contract(files: DescriptorSetGenerator.set(of: files, commentsFrom: [""]).file)
    let names = Set(files.flatMap(\.services).map(\.fullName))
    let services = contract.services.filter { names.contains($0.name) }.sorted { $0.name < $1.name }
    let links = MarkdownLinks(contract, services)
    var pages = [(name: "README.md", contents: index(services, links))]
    for service in services {
      pages.append((links.page(of: service), MarkdownService(contract: contract, links: links).page(service)))
    }
    for package in links.packages {
      pages.append((links.page(ofPackage: package), MarkdownTypes(contract: contract, links: links).page(package)))
    }
    return pages
  }

  private func index(_ services: [Contract.Service], _ links: MarkdownLinks) -> String {
    var text = MarkdownText()
    text.lines(
      MarkdownText.generated, "# Reference of the methods", "",
      "The pages contain the comments, constraints and options of [the protos](../../protos), with examples. `campanile",
      "describe NAME` prints the same facts about a running server, and `/openapi.json` has the REST paths for tools.",
      "")
    for package in Set(services.map(\.package)).sorted() {
      text.lines("## \(package)", "")
      text.table(["Service", "Methods", "Description"]) { table in
        for service in services where service.package == package {
          table.row([
            "[\(links.title(service.name))](\(links.page(of: service)))", "\(service.methods.count)",
            MarkdownText.cell(service.documentation.summary),
          ])
        }
      }
      if links.packages.contains(package) {
        text.lines("Messages and enums: [types of \(package)](\(links.page(ofPackage: package))).", "")
      }
    }
    text.lines(Self.conventions)
    return text.text
  }

  /// The facts that all pages share.
  private static let conventions = """
    ## Conventions

    - Fields have their names in JSON. Requests may also use the names of the protos (`bucket_id` for `bucketId`). An unknown
      field is an error. An absent field is equal to an empty one, unless its description says otherwise.
    - An enum is its name as a string. `int64` and `uint64` are strings of digits, `bytes` is base64. `Timestamp` is a string
      such as `2030-01-31T18:30:00Z`, `Duration` one such as `90s`, and `FieldMask` one such as `title,body`.
    - A constraint that a request violates is INVALID_ARGUMENT. The error names each field, with one of the listed reasons.
      Several violations have the common reason `FIELDS_INVALID`.
    - Every method may fail for reasons that its page does not list. The caller lacks what the method needs:
      `PRINCIPAL_MISSING`, `PRINCIPAL_NOT_USER`, `SCOPE_MISSING`. The database cannot serve it: `STORE_FULL`, `STORE_OVERLOADED`
      and others that begin with `STORE_`. The gateway's own reasons, for credentials, limits and backends, are in
      [gateway-access.md](../gateway-access.md), and those of connections in [wire-protocol.md](../wire-protocol.md).
    - `campanile` calls the running suite with the key of `$CAMPANILE_KEY`, and so do the lines for curl. Words in capitals, such
      as `BUCKET_ID`, stand for ids and secrets that an earlier response contains.
    - A method without a REST path is called by its name, as [the gateway's documentation](../gateway.md) explains.
    """
}

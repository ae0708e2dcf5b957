/// An error in a contract or in a parameter of the generator, as a text for its author.
package struct ContractError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

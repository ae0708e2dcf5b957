// Whoever makes or serves calls names the types of CampanileCall. Its own import would be a second line everywhere.
@_exported public import CampanileCall

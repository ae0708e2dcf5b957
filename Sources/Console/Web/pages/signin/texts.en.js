export const en = {
  title: "Sign in to Campanile",
  withKey: "API key",
  withLodge: "Lodge member",
  key: "API key",
  keyHint: "Begins with cmp_. It is exchanged for a session and not stored.",
  name: "Name",
  pin: "PIN",
  submit: "Sign in",
  linkUsed: "Signing in with the link…",
  link: "Or run this command on the machine of the gateway; it opens a link that works once:",
  errors: {
    link: "This link has been used or has expired. Links work once, for 60 seconds. Run campanile console again.",
    key: "This key is unknown, revoked or expired.",
    lodge: "The name or the PIN is wrong.",
    many: "Too many attempts. Wait a minute and try again.",
    unreachable: "The gateway does not respond.",
  },
};

// A plugin for OpenCode: gives every session the messaging tools.
//
// Copy it into ~/.config/opencode/plugins/ or a project's .opencode/plugins/. It needs `messaging-mcp` on PATH and a
// running daemon. `messaging setup opencode` does the same by editing opencode.json; use one of the two. An entry of
// the person's own named `messaging` is left alone.
export const Messaging = async () => ({
  config: async (config) => {
    config.mcp ??= {}
    config.mcp.messaging ??= { type: "local", command: ["messaging-mcp"], enabled: true }
  },
})

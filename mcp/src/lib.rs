//! The MCP server.
#![forbid(unsafe_code)]

//! The tools as an MCP server: what a host lists, calls and gets.
//! Spec: D7.1

use std::sync::Arc;

use messaging_core::ids::ChannelName;
use messaging_core::json;
use messaging_runtime::entropy::SystemRandom;
use messaging_tools::schema::{TOOLS, Tool as Described};
use messaging_tools::{Answer, Tools, instructions};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json as object};

use crate::link::DaemonLink;
use crate::parent::Met;
use crate::push::{CHANNEL, is_taken_by};

/// What a model is told of what comes by itself.
const PUSHED: &str = " New messages may also come by themselves, in a channel tag of this server; inside it the same holds.";

/// One process's server.
#[derive(Clone)]
pub(crate) struct Server {
    tools: Arc<Tools<DaemonLink, SystemRandom>>,
    /// Whether the person asked that the host be told of new items.
    push: bool,
    config: ServerConfig,
    list: Arc<Vec<Tool>>,
    met: Met,
}

impl Server {
    pub(crate) fn new(
        tools: Arc<Tools<DaemonLink, SystemRandom>>,
        channels: &[ChannelName],
        met: Met,
        push: bool,
    ) -> Self {
        let me =
            Implementation::new("messaging-mcp", env!("CARGO_PKG_VERSION")).with_title("Messaging");
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut words = instructions(channels);
        if push {
            let channel = (CHANNEL.to_owned(), Map::new());
            capabilities.experimental = Some(std::iter::once(channel).collect());
            words.push_str(PUSHED);
        }
        let config = ServerConfig::new(capabilities).with_server_info(me).with_instructions(words);
        Self { tools, push, config, list: Arc::new(TOOLS.iter().map(described).collect()), met }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.met.host();
        if self.push && is_taken_by(&request) {
            self.tools.link().may_push();
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.met.host();
        Ok(ListToolsResult::with_all_items(self.list.as_ref().clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.met.host();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = serde_json::to_value(&context.id).unwrap_or_default();
        match self.tools.call(&request.name, arguments, &call).await {
            Some(answer) => Ok(result(answer).into()),
            None => Err(ErrorData::invalid_params("there is no such tool", None)),
        }
    }
}

/// A tool as a host lists it.
fn described(tool: &Described) -> Tool {
    let annotations = ToolAnnotations::with_title(tool.title)
        .read_only(tool.read_only)
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(true);
    Tool::new(tool.name, tool.description(), Arc::new(members(tool.input_schema())))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(members(tool.output_schema())))
        .with_annotations(annotations)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// An answer as a host gets it: structured and as text. An error is text alone: one client holds even an error's
/// structure against the schema of a success, another shows it only as text.
fn result(answer: Answer) -> CallToolResult {
    let sentence = answer.news.map(|news| ContentBlock::text(news.sentence()));
    match answer.result {
        Ok(mut value) => {
            if let (Some(news), Some(members)) = (answer.news, value.as_object_mut()) {
                let news = object!({ "unread": news.unread, "tasks": news.tasks });
                members.insert("news".into(), news);
            }
            let text = ContentBlock::text(json::print(&value));
            let mut result =
                CallToolResult::success(std::iter::once(text).chain(sentence).collect());
            result.structured_content = Some(value);
            result
        }
        Err(error) => {
            let text = ContentBlock::text(json::print(&error.to_value()));
            CallToolResult::error(std::iter::once(text).chain(sentence).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use messaging_core::code::Code;
    use messaging_tools::{News, ToolError};

    #[test]
    fn a_result_is_structured_and_text_and_says_the_news() {
        let answer = Answer {
            result: Ok(object!({ "hits": [], "more": false })),
            news: Some(News { unread: 2, tasks: 1 }),
        };
        let result = object!(result(answer));
        assert_eq!(result["structuredContent"]["news"], object!({ "unread": 2, "tasks": 1 }));
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        assert!(result["content"][1]["text"].as_str().unwrap().starts_with("You have 2 unread"));
    }

    #[test]
    fn an_error_is_text_alone() {
        let error = ToolError { code: Code::Forbidden, message: "no".into() };
        let result = object!(result(Answer { result: Err(error), news: None }));
        assert_eq!(result["isError"], true);
        assert!(result.get("structuredContent").is_none());
        let text = result["content"][0]["text"].as_str().unwrap();
        let text: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text["error"]["code"], "forbidden");
        assert_eq!(text["error"]["message"], "forbidden: no");
    }
}

//! The arguments of the gateway.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum, value_parser};

#[derive(Debug, Args)]
#[command(after_help = "\
With nothing configured, a few rules stand in for a model, so that every line it prints can be tried.

Examples:
  callgate serve
  callgate serve --upstream http://localhost:11434 --for claude --model qwen3
  callgate serve --upstream http://localhost:8080/v1 --calls prompt
  callgate serve --config gateway.yaml")]
pub(crate) struct ServeArgs {
    /// The settings, in YAML; read again when the file changes
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The address of a model's server; may be given more than once, the preferred one first
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub(crate) upstream: Vec<String>,
    /// The environment variable that holds the key of these servers
    #[arg(long, value_name = "NAME", requires = "upstream")]
    pub(crate) key_env: Option<String>,
    /// Where clients connect [default: 127.0.0.1:8642]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    pub(crate) listen: Option<String>,
    /// How models come by their tools [default: as their server shows]
    #[arg(long, value_name = "WAY", conflicts_with = "config")]
    pub(crate) calls: Option<Way>,
    /// The dialect in which models write calls as text [default: by the name of the model]
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(crate) dialect: Option<String>,
    /// A knob of the policy to set, as in repair=off; may be given more than once
    #[arg(long, value_name = "KNOB=VALUE", conflicts_with = "config")]
    pub(crate) set: Vec<String>,
    /// Show calls to clients while they are written, before they are judged
    #[arg(long, conflicts_with = "config")]
    pub(crate) eager: bool,
    /// The form of the log on standard error [default: text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log: Option<LogForm>,
    /// What is worth a line of the log, besides what is worse [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log_level: Option<LogWorth>,
    /// Record every verdict in this folder; see `callgate audit --folder`
    #[arg(long, value_name = "FOLDER", conflicts_with = "config")]
    pub(crate) audit: Option<PathBuf>,
    /// Send traces to this collector, as OTLP over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    pub(crate) traces: Option<String>,
    /// Print what this client needs to be told
    #[arg(long = "for", value_name = "CLIENT")]
    pub(crate) client: Option<ClientKind>,
    /// The model to name in these lines [default: the first that is served]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Words and `key=value`
    Text,
    /// A JSON object in each line
    Json,
}

/// What is worth a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogWorth {
    /// What this server or a model's server did wrong
    Error,
    /// What a client or a model did wrong
    Warn,
    /// Every exchange
    Info,
}

/// How models come by their tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// The server is given the tools; what it misses of the calls is read from the text
    Native,
    /// The tools are written into the prompt here, for servers that know none
    Prompt,
    /// llama-server writes the tools into the prompt, and leaves the calls alone
    TextLlamaServer,
    /// vLLM without a parser does
    TextVllm,
    /// SGLang without a parser does
    TextSglang,
}

/// Clients whose settings are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientKind {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// OpenCode
    Opencode,
    /// Anything that speaks OpenAI's API
    Openai,
    /// Anything that speaks Ollama's API
    Ollama,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A file of tasks is a JSON list, an object with `tasks` and the `tools` that they share, or one task per line:
  {\"name\"?, \"question\": str | \"messages\": [chat form], \"tools\"?, \"tool_choice\"?, \"parallel_tool_calls\"?,
   \"max_tokens\"?, \"expect\"?: \"call\" | \"no call\" | \"cut off\" | [name | {\"name\", \"arguments\"?}]}

The exit code is 1 if anything did not hold; with --baseline, if a measure got worse (its time alone does not count).

Examples:
  callgate verify --endpoint http://localhost:11434 --api ollama --model qwen3
  callgate verify --endpoint http://localhost:11434 --model qwen3 --json > direct.json
  callgate verify --endpoint http://localhost:8642 --model qwen3 --baseline direct.json --report report.html
  callgate verify --endpoint http://localhost:8642 --model qwen3 -n 3 --requests tasks.jsonl --tools tools.json")]
pub(crate) struct VerifyArgs {
    /// The address of the server, with or without /v1
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: String,
    /// The model
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: String,
    /// The API to ask in
    #[arg(long, value_name = "API", default_value = "chat")]
    pub(crate) api: ApiKind,
    /// The environment variable that holds the key
    #[arg(long, value_name = "NAME")]
    pub(crate) key_env: Option<String>,
    /// How often each task is asked, plain and streamed
    #[arg(long, short = 'n', visible_alias = "n", value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) times: u32,
    /// How many seconds one answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) patience: u64,
    /// Tasks of your own instead of the ten built in; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,
    /// The tools of tasks that bring none
    #[arg(long, value_name = "FILE", requires = "requests")]
    pub(crate) tools: Option<PathBuf>,
    /// An earlier report, as --json printed it: says what is better, worse and the same
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the report also to a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// APIs that an endpoint can be asked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiKind {
    /// OpenAI's /v1/chat/completions
    Chat,
    /// OpenAI's /v1/responses
    Responses,
    /// Anthropic's /v1/messages
    Messages,
    /// Ollama's /api/chat
    Ollama,
}

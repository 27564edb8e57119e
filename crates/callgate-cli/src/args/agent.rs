//! The arguments of what the agent does: conversations, records, configuration and trust.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
With nothing configured, a few rules stand in for a model: `list`, `read FILE`, `write FILE TEXT` and
`call NAME ARGUMENTS` make it call.

Examples:
  callgate chat --provider ollama --model qwen3
  callgate chat --mcp 'files=npx -y @modelcontextprotocol/server-filesystem /data'
  callgate chat --once 'call fs.list {\"path\": \".\"}' --json
  callgate chat --read-only --profile strict-xml --root src

In the conversation, Ctrl-C stops what is going on and Ctrl-D ends it.")]
pub(crate) struct ChatArgs {
    /// Ask this one question, print the answer and end; at a terminal you are asked for approval
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Option<String>,
    /// The same for scripts: nobody is asked for approval
    #[arg(long, value_name = "PROMPT", conflicts_with = "question")]
    pub(crate) once: Option<String>,
    /// With a question: print one JSON object instead of the text
    #[arg(long)]
    pub(crate) json: bool,
    /// The profile to take instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Where the model runs: ollama, openai or rules
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The address of the model's server, with or without /v1. Without --provider, port 11434 means ollama, any other openai
    #[arg(long, value_name = "URL")]
    pub(crate) endpoint: Option<String>,
    /// A dialect to teach the model and to listen for, instead of the profile's; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Vec<String>,
    /// A file with a dialect of your own; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) dialect_file: Vec<PathBuf>,
    /// Further tools that the model may call; an entry with a `command` (a list of strings) runs that program
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// An MCP server whose tools the model may call, as a command or an address; may be given more than once
    #[arg(long, value_name = "NAME=COMMAND|URL")]
    pub(crate) mcp: Vec<String>,
    /// The folder that the file tools are confined to
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) root: PathBuf,
    /// Give the model no tools for files
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) no_files: bool,
    /// Do not permit writing files
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The configuration to read above your own [default: .agent/config.yml, if it is there and you agreed to it]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A setting to take instead of the configured one, or a knob of the policy; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  callgate audit list --latest --status error
  callgate audit show 6f1d0c2a9b3e4f58            every record of one response
  callgate audit replay --latest --profile strict
  callgate audit verify --latest --checkpoint 42:9c1f…
  callgate audit verify --key ~/audit.key")]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) action: AuditAction,
    /// The folder of the records [default: the configured one]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) folder: Option<PathBuf>,
    /// Only this session
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) session: Option<String>,
    /// Only the session that was written last
    #[arg(long, global = true, conflicts_with = "session")]
    pub(crate) latest: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditAction {
    /// One line per record
    List(AuditFilter),
    /// The records with this number or correlation id, whole
    Show {
        /// A number, or a correlation id
        record: String,
    },
    /// How many calls were accepted, repaired and rejected, and why; how often was asked again, and how long things took
    Stats,
    /// Every rejected call as a line of JSON for monitoring, with the codes of the profile's document
    Errors,
    /// Read a recorded response again under today's rules and show the difference; needs records with `audit.values: full`
    Replay {
        /// The number or correlation id of a response; alone, all of them
        record: Option<String>,
        /// The profile to read it with instead of the recorded one
        #[arg(long, value_name = "NAME")]
        profile: Option<String>,
        /// The tools to check it against instead of the recorded ones
        #[arg(long, value_name = "FILE")]
        tools: Option<PathBuf>,
        /// The configuration of today's rules [default: .agent/config.yml, if it is there]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// A setting to take instead of the configured one, as in policy.repair=off; may be given more than once
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
    /// Whether a record or a session was changed, removed, added or moved, and whether each log is at its end
    Verify {
        /// How far the log went when you last looked: it also shows whether its end was cut off
        #[arg(long, value_name = "NUMBER:HASH")]
        checkpoint: Option<String>,
        /// The key that sealed the records: it also shows whether they were rewritten
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AuditFilter {
    /// Only records of this type: permission, tool, safety, diagnostic, session, message or response
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only records of this status: ok, warn or error
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only records from this moment on, as in 2026-02-28 or 2026-02-28T09:05
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// Only the last so many
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Every setting with its value, who gave it, and what it decides
    Show(ConfigShowArgs),
    /// Write a file to begin with: every key with its default, as a comment. It replaces nothing
    Init(ConfigInitArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigInitArgs {
    /// The file to write [default: your own, ~/.config/callgate/config.yml]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    /// The file to read [default: .agent/config.yml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The profile to take instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// A setting to take instead of the configured one; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Show the settings of all providers, not only of the chosen one
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Whoever wrote a folder may have written its .agent/config.yml. Unasked it may only tighten what holds; what it loosens,
where it connects and what it starts needs your yes; approval, records and secrets are yours alone. A yes is for the file
as it is: it is kept outside of the folder, and any change to the file asks again.

Examples:
  callgate trust show           what .agent/config.yml asks for, by class; exit code 1 if any of it does not hold
  callgate trust allow          agree to it as it is now
  callgate trust deny           leave it out as it is now
  callgate trust list --json    every answer you gave")]
pub(crate) struct TrustArgs {
    #[command(subcommand)]
    pub(crate) action: TrustAction,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum TrustAction {
    /// What the file of this folder asks for, by class, and what you answered
    Show,
    /// Agree to the file of this folder as it is now
    Allow,
    /// Leave the file of this folder out as it is now
    Deny,
    /// Every answer you gave, and whether its file is still the same
    List,
}

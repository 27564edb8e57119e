//! The command line as data: every command, flag and example that `--help` shows.

mod agent;
mod gateway;

use std::path::PathBuf;

pub(crate) use agent::*;
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use gateway::*;

const EXIT_CODES: &str = "\
Exit codes:
  0  fine (also when the reader of the output goes away, as `head` does)
  1  the run went to its end, but something was rejected or a line was bad
  2  the command line or an input file cannot be used; a line on standard error says why, one for each fault
  3  the output could not be written, or an internal error
  4  `audit verify`: what is there holds, but a log does not say that it is at its end

Start here:
  callgate demo                                what it does, on built-in examples
  callgate parse out.txt --tools tools.json    what a model wrote, and what became of it
  callgate explain unknown-tool                what a code means and what to do";

/// See what a model wrote, what came through the gate, and why the rest did not.
#[derive(Debug, Parser)]
#[command(name = "callgate", version, after_help = EXIT_CODES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// When to colour the output; `auto` asks the terminal, NO_COLOR and CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the gate at work on built-in examples; needs no file
    Demo,
    /// Read one response of a model and show what each part became
    Parse(ParseArgs),
    /// Judge many responses: JSON lines in, one JSON line out for each, in order
    Scan(ScanArgs),
    /// Read many responses at once for a program in any language: JSON requests in, an answer out for each
    Session(SessionArgs),
    /// Say in which dialect a text is written, and which flag reads it
    Detect(DetectArgs),
    /// Repair any JSON: the repaired text on standard output, the repairs on standard error
    Repair(RepairArgs),
    /// List, show and try out dialects: the formats in which models write calls
    Dialects(DialectsArgs),
    /// Write calls in a dialect, as a model would
    Render(RenderArgs),
    /// Print the system-prompt section that teaches a model a profile's format
    Prompt(PromptArgs),
    /// Explain the code of a finding or a repair, with its example run live; alone, list all codes
    Explain(ExplainArgs),
    /// Talk with a model whose calls go through the gate before they run
    Chat(ChatArgs),
    /// Serve an address behind which the tool calls of any model are reliable, for any client
    Serve(ServeArgs),
    /// Ask an endpoint a small set of tasks, plain and streamed, and say which promises it keeps
    Verify(VerifyArgs),
    /// List, show, count, verify and replay the records of the agent's decisions
    Audit(AuditArgs),
    /// Show what is configured
    Config(ConfigArgs),
    /// Show what the configuration of this folder asks for, and allow or deny it
    Trust(TrustArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
}

/// Which gate: the flags that `parse` and `scan` share.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// The tools that may be called: an OpenAI, Anthropic or MCP list in a JSON file.
    /// Without it the gate is open: calls are read but not checked
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// A dialect to listen for, or `auto`; may be given more than once [default: the profile's]
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Vec<String>,
    /// Choose the dialect by the name of the model; one that is not known leaves the profile's dialects
    #[arg(long, value_name = "NAME", conflicts_with = "dialect")]
    pub(crate) model: Option<String>,
    /// A file with a dialect of your own; may be given more than once
    #[arg(long, value_name = "FILE")]
    pub(crate) dialect_file: Vec<PathBuf>,
    /// The bundle of dialects and policy to read with [default: standard]
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// A knob of the policy to set above the profile's, as in repair=off; may be given more than once
    #[arg(long, value_name = "KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// How tool lists are read: `strict` rejects what is not quite right, `tolerant` reads it as it is meant and says so
    /// [default: tolerant for scan, else strict]
    #[arg(long, value_name = "MODE")]
    pub(crate) tool_loading: Option<ToolLoading>,
}

/// How tool lists are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolLoading {
    Strict,
    Tolerant,
}

#[derive(Debug, Args)]
#[command(after_help = "\
FILE is what the model wrote, or the body that a server sent: an OpenAI chat completion or response, an Anthropic message,
an Ollama answer, whole or as a recorded stream (server-sent events, a value per line), or a conversation, whose last turn
is read. Text and structured calls of an answer are judged together. Packed files (gzip, zstd) are unpacked.

Examples:
  callgate parse out.txt --tools tools.json
  ollama run qwen3 'What is the weather?' | callgate parse --stream -
  curl -sN $URL -d @request.json | callgate parse --stream -
  callgate parse out.txt --model qwen3-coder-30b --json | jq 'select(.event == \"call\")'
  callgate parse body.json --output-format openai | jq .message.tool_calls
  callgate parse out.txt --tools tools.json --feedback    what to tell the model

With --json each line is one event: text, reasoning, markup, call_started, arguments_delta, call, rejected, model_error,
finding; the last line is {\"event\":\"finish\", …}. Only `call` authorises execution.")]
pub(crate) struct ParseArgs {
    /// The model's output, or the body of a server's answer; `-` or nothing is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Read the input as the model's own text, whatever it looks like
    #[arg(long, conflicts_with = "field")]
    pub(crate) text: bool,
    /// What the prompt ended with, where that decides the reading (an already opened `<think>`)
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt_tail: Option<String>,
    /// The provider's word for how the output ended: stop, length, end_turn, max_tokens, … Without it a body says so
    /// itself; of a text nobody said, and a call that is not closed is cut off
    #[arg(long, value_name = "WORD")]
    pub(crate) finish_reason: Option<String>,
    /// Print the events, one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Watch it happen: each chunk and the events it caused
    #[arg(long)]
    pub(crate) stream: bool,
    /// Feed chunks of N bytes, cut anywhere [default: all at once; with --stream 16, or as they were recorded or arrive]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) chunk: Option<u32>,
    /// Print only the message that tells the model what to fix
    #[arg(long, conflicts_with_all = ["json", "stream"])]
    pub(crate) feedback: bool,
    /// Print only the response in the words of its profile's document: kind, codes, suggestion, whether it is done
    #[arg(long, conflicts_with_all = ["json", "stream", "feedback", "output_format"])]
    pub(crate) view: bool,
    /// Print one JSON object instead: `callgate` as `scan` writes it, `openai` as a choice of a chat completion
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["json", "stream", "feedback"])]
    pub(crate) output_format: Option<OutputFormat>,
}

/// Where in the input the answer is: the flag that `parse` and `scan` share.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// Where in a JSON object the text, the message or the messages are, as in `output.text` or `turns.-1`
    #[arg(long, value_name = "PATH")]
    pub(crate) field: Option<String>,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Callgate,
    Openai,
}

/// How lines are worked on: the flags that `scan` and `repair --jsonl` share.
#[derive(Debug, Args)]
pub(crate) struct LineArgs {
    /// How many threads work [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Nothing but errors on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each input line is an object:
  {\"id\": any, \"text\": str | \"chunks\": [str] | \"tool_calls\": [provider form],
   \"tools\"?, \"dialect\"?, \"model\"?, \"profile\"?, \"finish_reason\"?, \"prompt_tail\"?, \"untrusted\"?,
   \"policy\"?: {knob: value}}
or the body of a server's answer (OpenAI, Anthropic, Ollama), or has `messages` (the last turn of the assistant is
judged), `choices`, `content`, `message` or `response`; --field says where else. Blank lines are skipped.
Each gives one line with the same id: text, reasoning, calls, rejected, model_error, findings, finish_reason; a body with
several choices gives one for each.
What a line says itself wins over the flags, except that --dialect wins over its model. A line that cannot be read gives
  {\"line\": n, \"id\": null, \"error\": {finding}}
and the run goes on; the exit code is then 1. A line may be 256 MiB long. Packed files (gzip, zstd) are unpacked.

Examples:
  callgate scan transcripts.jsonl --tools tools.json -o judged.jsonl
  callgate scan logs/*.jsonl.zst --field response.body --jobs 8 | jq -c 'select(.rejected != [])'
  callgate scan bodies.jsonl --output-format openai
  callgate scan transcripts.jsonl --tools tools.json --report report.html > judged.jsonl
  callgate scan transcripts.jsonl --report -")]
pub(crate) struct ScanArgs {
    /// JSON lines; `-` or nothing is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The form of the results: `callgate`, or `openai` for choices of chat completions
    #[arg(long, value_name = "FORMAT", default_value = "callgate")]
    pub(crate) output_format: OutputFormat,
    /// Add to each result the message that tells the model what to fix, or null
    #[arg(long)]
    pub(crate) feedback: bool,
    /// Add `view` to each result: the response in the words of its profile's document
    #[arg(long)]
    pub(crate) view: bool,
    /// Write a report on all responses to a page that needs no network; `-` prints it as tables, and results only to -o
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) lines: LineArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each line of standard input is a request with `op` (open, push, push_special, reasoning, native, finish, feedback,
strikes, close) and `id`, the name of a conversation; the answer carries both. The flags hold for conversations that do
not say otherwise when they are opened. A bad request is answered with an error and changes nothing. The end of the
input ends the run. docs/sidecar.md has the protocol, and clients in Go and C#.

Example:
  printf '%s\\n' '{\"op\":\"open\",\"id\":1}' '{\"op\":\"push\",\"id\":1,\"text\":\"Hello\"}' | callgate session")]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) gate: GateArgs,
    /// The most conversations that are open at once
    #[arg(long, value_name = "COUNT", default_value = "1024")]
    pub(crate) max_sessions: usize,
    /// The longest request, in bytes
    #[arg(long, value_name = "BYTES", default_value = "16777216")]
    pub(crate) max_line: usize,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The text is read in every dialect, also in those that listen only by name. They are ranked by what they read: valid
arguments, names of the tool list, calls, then what was rejected and what of other calls stays text. Nothing is run.
The exit code is 1 if no dialect reads a call.

Example:
  callgate detect out.txt --tools tools.json")]
pub(crate) struct DetectArgs {
    /// The model's output, or the body of a server's answer; `-` or nothing is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The tools that may be called: without them nobody can say whether names and arguments are right
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Valid JSON comes out byte for byte as it went in, unless a key stands twice in one object (the last value is kept) or \
a string holds half a surrogate pair (it becomes U+FFFD). Each repair is `lossless` (one possible reading) or a `guess`.

With --schema a value that does not follow it is rejected (exit code 1); with --many each value is held against it, not \
the list. The start of a value (--partial) cannot be judged, since what is missing may still come.

Examples:
  echo \"{'a': 1,}\" | callgate repair
  callgate repair broken.json --strict > fixed.json     only what has one possible reading
  head -c 400 answer.json | callgate repair --partial   what is certain of a start
  callgate repair --many lines.ndjson                   all values of a text, as a list
  callgate repair --schema order.json broken.json       a value that follows a schema
  callgate repair --diff *.json                         what would change in each file
  callgate repair --inline --backup .orig *.json        change the files themselves
  callgate repair --jsonl lines.jsonl                   {\"id\", \"input\"} in, a result each out")]
pub(crate) struct RepairArgs {
    /// The broken JSON, also packed with gzip or zstd; `-` or nothing is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Reject what needs a guess
    #[arg(long)]
    pub(crate) strict: bool,
    /// A JSON Schema that the value must follow: of several readings the valid one is taken, and types are fitted
    #[arg(long, value_name = "FILE", conflicts_with = "partial")]
    pub(crate) schema: Option<PathBuf>,
    /// Read the start of a value: a half member or number is left out, and a longer start takes nothing back
    #[arg(long, conflicts_with = "strict")]
    pub(crate) partial: bool,
    /// Read all values of the text, JSON lines or one behind the other, as a list
    #[arg(long, conflicts_with = "partial")]
    pub(crate) many: bool,
    /// Print one object with `output` and `repairs` (with a schema also `coercions` and `decided`), or `error`; of several files one line each, with `file`
    #[arg(long, conflicts_with = "jsonl")]
    pub(crate) json: bool,
    /// Show the text with marks beneath what was changed, then the result; what a terminal shows anyway
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    pub(crate) view: bool,
    /// Print what would change, as a unified diff
    #[arg(long, conflicts_with_all = ["json", "jsonl", "view"])]
    pub(crate) diff: bool,
    /// Write the result back into each file that needs a repair, in one step; print nothing
    #[arg(long, conflicts_with_all = ["json", "jsonl", "view", "diff", "partial", "output"])]
    pub(crate) inline: bool,
    /// Keep each file that is written back under its name with this behind it
    #[arg(long, value_name = "SUFFIX", requires = "inline", value_parser = backup_suffix)]
    pub(crate) backup: Option<String>,
    /// Each line is an object {"id", "input"}
    #[arg(long)]
    pub(crate) jsonl: bool,
    #[command(flatten)]
    pub(crate) lines: LineArgs,
}

/// What may stand behind the name of a file to name another one beside it.
fn backup_suffix(suffix: &str) -> Result<String, &'static str> {
    if suffix.is_empty() {
        // The copy would be written over the file itself.
        return Err("nothing behind the name is the file itself; give an end such as .orig");
    }
    if suffix.contains(std::path::is_separator) {
        return Err("it stands behind the name of a file; give an end such as .orig");
    }
    Ok(suffix.to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct DialectsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<DialectsAction>,
    /// Print JSON instead of a table
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DialectsAction {
    /// All built-in dialects (what `callgate dialects` alone does)
    List,
    /// One dialect: its record, what each key means, and a call written in it
    Show {
        /// The name of the dialect
        name: String,
    },
    /// Load a dialect file and show what it finds in a sample
    #[command(after_help = "\
Example:
  callgate dialects test mine.toml --sample out.txt --tools tools.json")]
    Test {
        /// The dialect file (TOML)
        file: PathBuf,
        /// An output of the model; `-` is standard input. Without it the file is only checked
        #[arg(long, value_name = "FILE")]
        sample: Option<PathBuf>,
        /// The tools that may be called
        #[arg(long, value_name = "FILE")]
        tools: Option<PathBuf>,
    },
    /// Turn the `response_template` of a Hugging Face tokenizer into a dialect file
    #[command(after_help = "\
What that form cannot say (types, missing closers, ids) gets the safe default and a remark in the file.

Example:
  callgate dialects import tokenizer_config.json --name my-model -o my-model.toml
  callgate dialects test my-model.toml --sample out.txt --tools tools.json")]
    Import {
        /// A tokenizer_config.json, or the template itself; `-` is standard input
        file: PathBuf,
        /// The name of the dialect
        #[arg(long, value_name = "NAME", default_value = "imported")]
        name: String,
        /// Write to a file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  echo '{\"calls\": [{\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}]}' | callgate render --dialect qwen3-coder")]
pub(crate) struct RenderArgs {
    /// {"text"?, "reasoning"?, "calls": [{"name", "arguments", "id"?}]}; `-` or nothing is standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// The dialect to write in
    #[arg(long, value_name = "NAME", required_unless_present = "dialect_file")]
    pub(crate) dialect: Option<String>,
    /// A file with a dialect of your own, to write in its first dialect or in the one named
    #[arg(long, value_name = "FILE")]
    pub(crate) dialect_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Whose format to teach
    #[arg(long, value_name = "NAME", default_value = "standard")]
    pub(crate) profile: String,
    /// The dialect to teach, instead of the profile's
    #[arg(long, value_name = "NAME", conflicts_with = "profile")]
    pub(crate) dialect: Option<String>,
    /// A file with a dialect of your own, to teach its first dialect or the one named
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    pub(crate) dialect_file: Option<PathBuf>,
    /// The tools to describe
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The code, as it stands in findings and repairs
    pub(crate) code: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Whose completions
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

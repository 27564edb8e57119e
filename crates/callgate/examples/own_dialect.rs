//! Reads and writes calls in a format of one's own: the string that reads a call is the string that writes it.
//!
//! ```console
//! $ cargo run -q -p callgate --example own_dialect
//! read act: search {"query": "tides"}
//! written: <act>{"tool": "search", "input": {"query": "moon"}}</act>
//! not loaded: line 3, column 10: `call` is an integer (Make it a string or a list of strings.)
//! ```

use std::error::Error;

use callgate::{Gate, Record, Registry, RenderCall};

const ACT: &str = r#"
[act]
call   = "<act>{object}</act>"
object = '{"tool": "{name}", "input": {arguments}}'
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let tools = Registry::from_json(r#"[{"name": "search", "parameters": {"type": "object"}}]"#)?;
    let records = Record::parse(ACT)?;
    let act = records.first().ok_or("the file holds no dialect")?;

    // It listens beside the built-in ones.
    let gate = Gate::builder().tools(tools).record(act.clone()).build()?;
    let response = gate.parse(r#"Let me see. <act>{"tool": "search", "input": {"query": "tides"}}</act>"#);
    for call in &response.calls {
        println!("read {}: {} {}", call.dialect, call.name, call.arguments);
    }

    let call = RenderCall { id: None, name: "search", arguments: r#"{"query": "moon"}"# };
    println!("written: {}", act.render(&[call], None, None)?);

    // A file that cannot be used is rejected with its place and a way out.
    if let Err(error) = Record::parse("\n[act]\ncall   = 3\n") {
        println!("not loaded: {error}");
    }
    Ok(())
}

//! Reads a model's output from standard input as it comes: text is shown at once, calls when they are judged.
//!
//! ```console
//! $ printf 'On it.\n<tool_call>{"name": "add", "arguments": {"a": 1, "b": "2",}}</tool_call>' | cargo run -q -p callgate --example stdin_stream
//! On it.
//! call add {"a": 1, "b": 2}
//!   repaired trailing-comma
//!   coerced /b
//! ```

use std::error::Error;
use std::io::{Read, Write};

use callgate::{Event, FinishReason, Gate, Registry};

fn main() -> Result<(), Box<dyn Error>> {
    let tools = Registry::from_json(
        r#"[{"name": "add", "parameters": {"type": "object", "required": ["a", "b"],
             "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}]"#,
    )?;
    let gate = Gate::builder().tools(tools).build()?;

    let mut session = gate.session();
    let mut buffer = [0; 4096];
    let mut input = std::io::stdin().lock();
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        // A read may end anywhere, even inside of a character.
        session.push_bytes(&buffer[..length], &mut show);
    }
    session.finish(FinishReason::Stop, &mut show);
    Ok(())
}

fn show(event: Event<'_>) {
    match event {
        Event::Text { text, .. } => {
            print!("{text}");
            // A reader who went away misses the text; the calls are still judged.
            drop(std::io::stdout().flush());
        }
        Event::Call(call) => {
            println!("\ncall {} {}", call.name, call.arguments);
            for repair in &call.repairs {
                println!("  repaired {}", repair.code.word());
            }
            for coercion in &call.coercions {
                println!("  coerced {}", coercion.path);
            }
        }
        Event::Rejected(attempt) => {
            println!("\nrejected {}", attempt.name.as_deref().unwrap_or("a call without a name"));
            for finding in &attempt.findings {
                println!("  {finding}");
            }
        }
        _ => {}
    }
}

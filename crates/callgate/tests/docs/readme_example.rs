//! The library example of the README, whole: what stands below this line is what stands there.

use callgate::{Event, FinishReason, Gate, Registry};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = Registry::from_json(
        r#"[{"name": "get_weather", "parameters": {"type": "object", "required": ["city"],
             "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}]"#,
    )?;
    let gate = Gate::builder().tools(tools).build()?;

    let mut calls = Vec::new();
    let mut sink = |event: Event<'_>| match event {
        Event::Text { text, .. } => print!("{text}"),
        Event::Call(call) => calls.push(call), // only this authorises execution
        Event::Rejected(attempt) => println!("{}: {:?}", attempt.raw, attempt.findings),
        _ => {}
    };
    // One session per response, fed as it arrives. Where the chunks are cut changes nothing.
    let mut session = gate.session();
    for chunk in [
        "I'll check.\n<tool_",
        "call>{\"name\": \"get_weather\", \"arguments\": {\"ci",
        "ty\": \"Oslo\",}}</tool_call>",
    ] {
        session.push(chunk, &mut sink);
    }
    session.finish(FinishReason::Stop, &mut sink);
    assert_eq!(calls[0].arguments, r#"{"city": "Oslo"}"#);
    assert_eq!(calls[0].repairs[0].code.word(), "trailing-comma");

    // A whole text is a stream of one chunk. What is rejected comes with a message that the model can act on.
    let response = gate.parse(r#"<tool_call>{"name": "get_wether", "arguments": {}}</tool_call>"#);
    let feedback = gate.profile().feedback(&response, gate.registry());
    assert!(feedback.is_some_and(|message| message.contains("get_weather")));
    Ok(())
}

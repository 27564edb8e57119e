//! The library example of the README, whole: what stands below this line is what stands there.

use callgate::{Event, FinishReason, Gate, Registry};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tools = Registry::from_json(
        r#"[{"name": "get_weather", "parameters": {"type": "object", "required": ["city"],
             "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}}]"#,
    )?;
    let gate = Gate::builder().tools(tools).build()?;

    // One session per response, fed as it arrives. Where the chunks are cut does not matter.
    let chunks = [
        "I'll check.\n<tool_",
        "call>{\"name\": \"get_weather\", \"arguments\": {\"ci",
        "ty\": \"Oslo\", \"days\": \"3\",}}</tool_call>",
    ];
    let (mut text, mut calls, mut refused) = (String::new(), Vec::new(), Vec::new());
    let mut sink = |event: Event<'_>| match event {
        Event::Text { text: piece, .. } => text.push_str(&piece),
        Event::Call(call) => calls.push(call), // only this authorises execution
        Event::Rejected(attempt) => refused.push(attempt),
        _ => {}
    };
    let mut session = gate.session();
    for chunk in chunks {
        session.push(chunk, &mut sink);
    }
    session.finish(FinishReason::Stop, &mut sink);

    assert_eq!(text, "I'll check.");
    assert_eq!(calls[0].arguments, r#"{"city": "Oslo", "days": 3}"#);
    assert_eq!(calls[0].repairs[0].code.word(), "trailing-comma");
    assert_eq!(calls[0].coercions[0].path, "/days");
    assert!(refused.is_empty());

    // A whole text is a stream of one chunk. Refusals come with a message that the model can act on.
    let response = gate.parse("<tool_call>{\"name\": \"get_wether\", \"arguments\": {}}</tool_call>");
    assert_eq!(response.rejected[0].findings[0].code.word(), "unknown-tool");
    let feedback = gate.profile().feedback(&response, gate.registry());
    assert!(feedback.is_some_and(|message| message.contains("get_weather")));
    Ok(())
}

//! The library example of the page on dialects, whole: what stands below this line is what stands there.

use callgate::{Gate, Record, Registry};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = r#"
        [act]
        call   = "<act>{object}</act>"
        object = '{"tool": "{name}", "input": {arguments}}'
    "#;
    // A file that cannot be used is rejected with line, column and a way out.
    let mut gate = Gate::builder().tools(Registry::from_json(r#"[{"name": "search", "parameters": {}}]"#)?);
    for record in Record::parse(file)? {
        gate = gate.record(record);
    }
    let response = gate.build()?.parse(r#"<act>{"tool": "search", "input": {"query": "tides"}}</act>"#);
    assert_eq!(response.calls[0].name, "search");
    assert_eq!(&*response.calls[0].dialect, "act");
    Ok(())
}

//! Text after all: values of a format that writes text, which read as something else and are valid as text alone.

use crate::attempt::Attempt;
use crate::effort::Effort;
use crate::event::{Coercion, CoercionCode};
use crate::json::{Kind, Tape};
use crate::policy::{Coerce, ExtraArgs};
use crate::schema::{CompiledTool, Fit};

/// Arguments that were written as text, with what is wrong in them left as the text it was, if they are valid so.
pub(super) fn read_as_text(
    tool: &CompiledTool,
    attempt: &Attempt,
    (text, tape): (&str, &Tape),
    fit: &Fit,
    (coerce, extra, untyped): (Coerce, ExtraArgs, bool),
    effort: &mut Effort,
) -> Option<Fit> {
    if fit.findings.is_empty() || !untyped || coerce == Coerce::Off {
        return None;
    }
    let mut places: Vec<(usize, usize, Coercion)> = Vec::new();
    for finding in &fit.findings {
        let (node, _) = tape.resolve(text, &finding.path)?;
        let found = &tape.nodes()[node];
        let is_word = !matches!(found.kind, Kind::Object | Kind::Array | Kind::String);
        // Words of Python were other text.
        attempt.place(text, tape, &finding.path).filter(|_| is_word)?;
        let from = tape.raw(text, node).to_owned();
        let to = format!("\"{from}\"");
        let coercion = Coercion { code: CoercionCode::ReadAsText, path: finding.path.clone(), from, to };
        if places.iter().all(|(start, ..)| *start != found.start()) {
            places.push((found.start(), found.end(), coercion));
        }
    }
    places.sort_by_key(|(start, ..)| *start);
    let mut spliced = text.to_owned();
    for (start, end, coercion) in places.iter().rev() {
        spliced.replace_range(*start..*end, &coercion.to);
    }
    let fitted = tool.fit_within(&spliced, &Tape::parse(&spliced)?, (coerce, extra, untyped), effort);
    let coercions = places.into_iter().map(|(_, _, coercion)| coercion).chain(fitted.coercions).collect();
    let arguments = Some(fitted.arguments.unwrap_or(spliced));
    fitted.findings.is_empty().then_some(Fit { arguments, coercions, findings: Vec::new() })
}

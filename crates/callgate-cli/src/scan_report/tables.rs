//! The report as tables for a terminal.

use std::io::{self, Write};

use super::{Heading, Names, ScanReport, Verdict, Verdicts, percent, ranked};
use crate::paint::{Paint, Tone, columns_of_text, one_line, padded};
use crate::progress::grouped;

/// How many rows of a table are shown.
const ROWS: usize = 20;
/// How wide a name may be.
const NAME: usize = 40;
/// How wide a bar is.
const BAR: usize = 24;

/// Writes the tables.
pub(crate) fn tables(
    out: &mut dyn Write,
    paint: Paint,
    report: &ScanReport,
    heading: &Heading,
) -> io::Result<()> {
    let said = one_line(&heading.files.join(", "), paint.columns().saturating_sub(30).max(20));
    writeln!(out, "{} responses, {} calls in {said}", count(&report.responses), count(&report.calls))?;
    if report.unreadable > 0 {
        let lines = if report.unreadable == 1 { "line" } else { "lines" };
        let said = format!("{} {lines} cannot be read", grouped(report.unreadable));
        writeln!(out, "{}", paint.tone(Tone::Bad, said))?;
    }
    writeln!(out)?;
    for verdict in Verdict::ALL {
        let number = report.responses.get(verdict);
        let share = percent(number, report.responses.total());
        let row = format!("{}  {:>10}  {share:>8}", padded(verdict.word(), 10), grouped(number));
        writeln!(out, "{}", paint.tone(tone(verdict), row))?;
    }
    names(out, paint, "model", "responses", &report.models)?;
    names(out, paint, "dialect", "calls", &report.dialects)?;
    names(out, paint, "tool", "calls", &report.tools)?;
    let codes = ranked(&report.findings);
    let codes: Vec<_> = codes.into_iter().map(|(code, count)| (code.word(), count, code.message())).collect();
    listed(out, paint, "finding", &codes)?;
    let repairs = report.repairs.iter().map(|(code, count)| (code.word(), *count, code.message()));
    let fitted = "a value was fitted to its schema";
    let coercions = report.coercions.iter().map(|(word, count)| (word.as_str(), *count, fitted));
    let mut changes: Vec<_> = repairs.chain(coercions).collect();
    changes.sort_by_key(|&(word, count, _)| (std::cmp::Reverse(count), word));
    listed(out, paint, "repair", &changes)
}

fn count(counts: &Verdicts) -> String {
    grouped(counts.total())
}

fn names(out: &mut dyn Write, paint: Paint, head: &str, what: &str, names: &Names) -> io::Result<()> {
    let mut rows: Vec<(String, Verdicts)> =
        names.ranked().into_iter().map(|(name, counts)| (one_line(name, NAME), counts)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut others = names.others();
    let more = rows.split_off(rows.len().min(ROWS));
    more.iter().for_each(|(_, counts)| others.add(counts));
    if others.total() > 0 {
        rows.push(("(all others)".to_owned(), others));
    }
    let width = rows.iter().map(|(name, _)| columns_of_text(name)).max().unwrap_or(0).max(head.len());
    let most = rows.iter().map(|(_, counts)| counts.total()).max().unwrap_or(0);
    let shown: Vec<Verdict> = Verdict::ALL
        .into_iter()
        .filter(|verdict| rows.iter().any(|(_, counts)| counts.get(*verdict) > 0))
        .collect();
    let heads: String = shown.iter().map(|verdict| format!("  {:>10}", verdict.word())).collect();
    let heads = format!("{}  {what:>10}{heads}", padded(head, width));
    writeln!(out, "\n{}", paint.tone(Tone::Strong, heads))?;
    for (name, counts) in &rows {
        write!(out, "{}  {:>10}", padded(name, width), grouped(counts.total()))?;
        for verdict in &shown {
            let number = format!("  {:>10}", grouped(counts.get(*verdict)));
            let tone = if counts.get(*verdict) == 0 { Tone::Dim } else { tone(*verdict) };
            write!(out, "{}", paint.tone(tone, number))?;
        }
        write!(out, "  ")?;
        bar(out, paint, counts, most)?;
        writeln!(out)?;
    }
    Ok(())
}

/// A bar in the colours of the verdicts; without colours, in signs that can be told apart.
fn bar(out: &mut dyn Write, paint: Paint, counts: &Verdicts, most: u64) -> io::Result<()> {
    let mut reached = 0;
    let mut sum = 0;
    for verdict in Verdict::ALL {
        sum += counts.get(verdict);
        // Rounded sums, so that the parts together are as long as the whole.
        let end = (sum as f64 / most.max(1) as f64 * BAR as f64).round() as usize;
        let sign = match verdict {
            Verdict::Accepted => "█",
            Verdict::Repaired => "▓",
            Verdict::Rejected => "▒",
            Verdict::NoCall => "░",
        };
        write!(out, "{}", paint.tone(tone(verdict), sign.repeat(end - reached)))?;
        reached = end;
    }
    if reached == 0 && sum > 0 { write!(out, "▏") } else { Ok(()) }
}

fn listed(out: &mut dyn Write, paint: Paint, head: &str, rows: &[(&str, u64, &str)]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let width = rows.iter().map(|(word, ..)| word.len()).max().unwrap_or(0).max(head.len());
    let heads = format!("{}  {:>10}", padded(head, width), "times");
    writeln!(out, "\n{}", paint.tone(Tone::Strong, heads))?;
    let room = paint.columns().saturating_sub(width + 14).max(20);
    for (word, count, about) in rows {
        let code = paint.tone(Tone::Accent, padded(word, width));
        let about = paint.tone(Tone::Dim, one_line(about, room));
        writeln!(out, "{code}  {:>10}  {about}", grouped(*count))?;
    }
    Ok(())
}

fn tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Accepted => Tone::Good,
        Verdict::Repaired => Tone::Changed,
        Verdict::Rejected => Tone::Bad,
        Verdict::NoCall => Tone::Grey,
    }
}

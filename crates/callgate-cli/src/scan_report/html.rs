//! The report as a page: no other file, no script, and nothing of a transcript is anything but text.

use callgate::{RepairCode, Severity};
use callgate_agent::report::{Html, Shade, coloured, document, legend};

use super::examples::{ShownCall, Shows};
use super::{Example, Heading, Names, ScanReport, Verdict, Verdicts, percent, ranked};
use crate::progress::grouped;

/// How many rows of a table are shown at once; the rest opens on demand.
const ROWS: usize = 12;
/// How many examples are open from the start.
const OPEN: usize = 3;

/// The whole page.
pub(crate) fn page(report: &ScanReport, heading: &Heading) -> String {
    document("Callgate scan", |html| {
        head(html, report, heading);
        html.within("main", &[], |html| {
            cards(html, report);
            verdicts(html, report);
            html.within("div", &[("class", "pair")], |html| {
                names(html, "models", "By model", "responses", &report.models);
                names(html, "dialects", "By dialect", "calls", &report.dialects);
            });
            names(html, "tools", "By tool", "calls", &report.tools);
            html.within("div", &[("class", "pair")], |html| {
                findings(html, report);
                repairs(html, report);
            });
            examples(html, report);
        });
        html.within("footer", &[("class", "faint")], |html| {
            html.text("What a code means: ");
            html.element("code", &[], "callgate explain CODE");
            html.text(". Examples are the first of their kind, cut to what can be looked at.");
        });
    })
}

fn head(html: &mut Html, report: &ScanReport, heading: &Heading) {
    html.within("header", &[], |html| {
        html.element("h1", &[], &format!("What became of {} responses", grouped(report.responses.total())));
        let tools = match heading.tools {
            Some(1) => "1 tool".to_owned(),
            Some(tools) => format!("{tools} tools"),
            None => "tools as the lines say".to_owned(),
        };
        let said = format!("{} · profile {} · {tools}", heading.files.join(", "), heading.profile);
        html.element("p", &[("class", "faint")], &said);
        html.within("nav", &[("aria-label", "Parts of this page")], |html| {
            for (link, name) in [
                ("#verdicts", "Verdicts"),
                ("#models", "Models"),
                ("#dialects", "Dialects"),
                ("#tools", "Tools"),
                ("#findings", "Findings"),
                ("#repairs", "Repairs"),
                ("#examples", "Examples"),
            ] {
                html.element("a", &[("href", link)], name);
            }
        });
    });
}

fn cards(html: &mut Html, report: &ScanReport) {
    let calls = &report.calls;
    let of_calls = |verdict: Verdict| percent(calls.get(verdict), calls.total());
    html.within("ul", &[("class", "cards")], |html| {
        let mut card = |class: &str, number: String, what: &str| {
            html.within("li", &[("class", "panel")], |html| {
                html.element("b", &[("class", class)], &number);
                html.element("span", &[("class", "faint")], what);
            });
        };
        card("", grouped(report.responses.total()), "responses");
        card("", grouped(calls.total()), "calls in them");
        card("accepted", of_calls(Verdict::Accepted), "accepted as they were written");
        card("repaired", of_calls(Verdict::Repaired), "accepted after a repair");
        card("rejected", of_calls(Verdict::Rejected), "rejected");
        if report.unreadable > 0 {
            card(
                "rejected",
                grouped(report.unreadable),
                if report.unreadable == 1 { "line that cannot be read" } else { "lines that cannot be read" },
            );
        }
    });
}

fn verdicts(html: &mut Html, report: &ScanReport) {
    html.within("section", &[("class", "panel tall"), ("id", "verdicts")], |html| {
        html.element("h2", &[], "Verdicts");
        let total = report.responses.total();
        html.bar(&shades(&report.responses), total);
        html.within("ul", &[("class", "key")], |html| {
            for verdict in Verdict::ALL {
                html.open("li", &[]);
                html.element("i", &[("class", verdict.class())], "");
                let count = report.responses.get(verdict);
                let share = percent(count, total);
                html.text(&format!("{} {} ({share})", verdict.word(), grouped(count)));
                html.close("li");
            }
        });
    });
}

/// A table of names, each with a bar of what was counted for it.
fn names(html: &mut Html, id: &str, title: &str, what: &str, names: &Names) {
    html.within("section", &[("class", "panel"), ("id", id)], |html| {
        html.element("h2", &[], title);
        let mut rows = names.ranked();
        if names.others().total() > 0 {
            rows.push(("(all others)", names.others()));
        }
        if rows.is_empty() {
            html.element("p", &[("class", "faint")], &format!("No {what}."));
            return;
        }
        let most = rows.iter().map(|(_, counts)| counts.total()).max().unwrap_or(0);
        let heads = [("name", ""), ("", "wide"), (what, "number"), ("rejected", "number")];
        folded(html, &heads, &rows, |html, (name, counts)| {
            html.element("th", &[("scope", "row")], name);
            html.open("td", &[("class", "graph")]);
            html.bar(&shades(counts), most);
            html.close("td");
            html.element("td", &[("class", "number")], &grouped(counts.total()));
            let rejected = percent(counts.get(Verdict::Rejected), counts.total());
            html.element("td", &[("class", "number")], &rejected);
        });
    });
}

fn findings(html: &mut Html, report: &ScanReport) {
    html.within("section", &[("class", "panel"), ("id", "findings")], |html| {
        html.element("h2", &[], "Findings");
        let rows = ranked(&report.findings);
        if rows.is_empty() {
            html.element("p", &[("class", "faint")], "Nothing was found.");
            return;
        }
        let most = rows.first().map_or(0, |(_, count)| *count);
        folded(html, &[("finding", ""), ("", "wide"), ("times", "number")], &rows, |html, (code, count)| {
            let severity = severity(code.severity());
            html.open("th", &[("scope", "row")]);
            code_link(html, report, &Shows::Finding(code.word()), code.word());
            html.text(" ");
            html.element("span", &[("class", &format!("word {severity}"))], severity);
            html.element("div", &[("class", "faint")], code.message());
            html.close("th");
            html.open("td", &[("class", "graph")]);
            let class = match code.severity() {
                Severity::Error => "rejected",
                Severity::Warning => "repaired",
                Severity::Info => "thought",
            };
            html.bar(&[Shade { class, name: "times", count: *count }], most);
            html.close("td");
            html.element("td", &[("class", "number")], &grouped(*count));
        });
    });
}

fn repairs(html: &mut Html, report: &ScanReport) {
    html.within("section", &[("class", "panel"), ("id", "repairs")], |html| {
        html.element("h2", &[], "Repairs");
        let repairs = report.repairs.iter().map(|(code, count)| (Change::Repair(*code), *count));
        let coercions =
            report.coercions.iter().map(|(word, count)| (Change::Coercion(word.as_str()), *count));
        let rows = ranked(&repairs.chain(coercions).collect());
        if rows.is_empty() {
            html.element("p", &[("class", "faint")], "Nothing was repaired.");
            return;
        }
        let most = rows.first().map_or(0, |(_, count)| *count);
        folded(html, &[("repair", ""), ("", "wide"), ("times", "number")], &rows, |html, (change, count)| {
            html.open("th", &[("scope", "row")]);
            let (kind, about, shows, word) = match change {
                Change::Repair(code) => {
                    let kind = code.safety().to_string();
                    (kind, code.message(), Shows::Repair(code.word()), code.word())
                }
                Change::Coercion(word) => {
                    let about = "a value was fitted to its schema";
                    ("info".to_owned(), about, Shows::Coercion((*word).to_owned()), *word)
                }
            };
            code_link(html, report, &shows, word);
            html.text(" ");
            let shown = if kind == "info" { "coercion" } else { &kind };
            html.element("span", &[("class", &format!("word {kind}"))], shown);
            html.element("div", &[("class", "faint")], about);
            html.close("th");
            html.open("td", &[("class", "graph")]);
            html.bar(&[Shade { class: "repaired", name: "times", count: *count }], most);
            html.close("td");
            html.element("td", &[("class", "number")], &grouped(*count));
        });
    });
}

/// What was changed to accept a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change<'a> {
    Repair(RepairCode),
    Coercion(&'a str),
}

/// A code, as a link to the first example that shows it.
fn code_link(html: &mut Html, report: &ScanReport, shows: &Shows, word: &str) {
    let first = report.examples.list().iter().position(|example| example.shows.contains(shows));
    html.open("code", &[]);
    match first {
        Some(number) => html.element("a", &[("href", &format!("#example-{}", number + 1))], word),
        None => html.text(word),
    }
    html.close("code");
}

/// A table whose first rows are shown, and whose others open on demand.
fn folded<R>(html: &mut Html, heads: &[(&str, &str)], rows: &[R], row: impl Fn(&mut Html, &R)) {
    let table = |html: &mut Html, rows: &[R]| {
        html.within("table", &[("class", "rows")], |html| {
            html.open("thead", &[]);
            html.within("tr", &[], |html| {
                for (name, class) in heads {
                    html.element("th", &[("scope", "col"), ("class", class)], name);
                }
            });
            html.close("thead");
            html.within("tbody", &[], |html| {
                rows.iter().for_each(|one| html.within("tr", &[], |html| row(html, one)))
            });
        });
    };
    // A fold that hides a row or two is no help.
    let first = if rows.len() > ROWS + 2 { ROWS } else { rows.len() };
    table(html, &rows[..first]);
    if first < rows.len() {
        html.within("details", &[], |html| {
            html.element("summary", &[], &format!("{} more", rows.len() - first));
            table(html, &rows[first..]);
        });
    }
}

fn examples(html: &mut Html, report: &ScanReport) {
    html.within("section", &[("class", "panel"), ("id", "examples")], |html| {
        html.element("h2", &[], "Examples");
        let list = report.examples.list();
        if list.is_empty() {
            html.element("p", &[("class", "faint")], "There is nothing to show.");
            return;
        }
        let has_notes = list.iter().any(|example| !example.notes.is_empty());
        legend(
            html,
            |kind| list.iter().any(|example| example.parts.iter().any(|part| part.kind == kind)),
            has_notes,
        );
        let mut order: Vec<usize> = (0..list.len()).collect();
        let rank = |verdict| match verdict {
            Verdict::Rejected => 0,
            Verdict::Repaired => 1,
            Verdict::NoCall => 2,
            Verdict::Accepted => 3,
        };
        order.sort_by_key(|&number| (rank(list[number].verdict), number));
        for (place, &number) in order.iter().enumerate() {
            example(html, number + 1, &list[number], place < OPEN);
        }
    });
}

fn example(html: &mut Html, number: usize, example: &Example, is_open: bool) {
    let id = format!("example-{number}");
    let attributes: &[(&str, &str)] = if is_open { &[("open", "")] } else { &[] };
    html.within("details", attributes, |html| {
        html.open("summary", &[]);
        let verdict = example.verdict;
        html.element("span", &[("class", &format!("word {}", verdict.class()))], verdict.word());
        let words: Vec<&str> = example.shows.iter().filter_map(Shows::word).collect();
        html.text(&words.join(", "));
        let model = example.model.as_ref().map_or_else(String::new, |model| format!(" · {model}"));
        html.element("span", &[("class", "faint")], &format!(" {}{model}", example.place));
        html.close("summary");
        // A link that leads inside opens what is folded.
        html.within("div", &[("id", &id)], |html| {
            let (before, behind) = example.left_out;
            let left_out = |html: &mut Html, bytes: usize, place: &str| {
                if bytes > 0 {
                    let said = format!("{} bytes {place} are left out", grouped(bytes as u64));
                    html.element("p", &[("class", "faint")], &said);
                }
            };
            left_out(html, before, "before this");
            if !example.text.is_empty() {
                coloured(html, &example.text, &example.parts, &example.notes);
            }
            left_out(html, behind, "behind this");
            if !example.calls.is_empty() {
                html.within("ul", &[("class", "said")], |html| {
                    example.calls.iter().for_each(|one| call(html, one));
                });
            }
            if !example.findings.is_empty() {
                html.within("ul", &[("class", "said")], |html| {
                    for finding in &example.findings {
                        html.open("li", &[]);
                        let class = format!("word {}", severity(finding.severity));
                        html.element("span", &[("class", &class)], finding.code);
                        html.text(&format!(" {} ", finding.message));
                        html.element("span", &[("class", "faint")], &finding.help);
                        html.close("li");
                    }
                });
            }
        });
    });
}

fn call(html: &mut Html, call: &ShownCall) {
    html.open("li", &[]);
    let class = format!("word {}", call.verdict.class());
    html.element("span", &[("class", &class)], call.verdict.word());
    html.text(" ");
    html.element("code", &[], &format!("{} {}", call.name, call.arguments));
    let changes =
        if call.changes.is_empty() { String::new() } else { format!("; {}", call.changes.join(", ")) };
    html.element("span", &[("class", "faint")], &format!(" as {}{changes}", call.dialect));
    html.close("li");
}

fn shades(counts: &Verdicts) -> [Shade<'static>; 4] {
    Verdict::ALL.map(|verdict| Shade {
        class: verdict.class(),
        name: verdict.word(),
        count: counts.get(verdict),
    })
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

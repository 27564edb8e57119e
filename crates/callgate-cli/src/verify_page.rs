//! The report of `callgate verify` as a page, in the looks of all reports.

use callgate_agent::report::{Html, Shade, coloured, document, legend};
use callgate_gateway::verify::{
    Change, Compared, FIRST_ARGUMENT, Report, Score, SeenAnswer, SeenCall, TaskReport, meaning,
};

use crate::verify::Then;

/// The whole page.
pub(crate) fn page(report: &Report, then: Option<&Then<'_>>) -> String {
    document("Callgate verify", |html| {
        head(html, report, then);
        html.within("main", &[], |html| {
            cards(html, report, then);
            measures(html, report, then);
            matrix(html, report);
            answers(html, report);
        });
        html.within("footer", &[("class", "faint")], |html| {
            html.text("Answers are judged by the same gate that reads calls everywhere. Of each task some answers are kept, cut to what can be looked at.");
        });
    })
}

fn head(html: &mut Html, report: &Report, then: Option<&Then<'_>>) {
    html.within("header", &[], |html| {
        html.element("h1", &[], &format!("What {} keeps of its promises", report.model));
        let said = format!(
            "{} · {} API · {} tasks, each asked {} plain and streamed",
            report.endpoint,
            report.api,
            report.tasks.len(),
            if report.times == 1 { "once".to_owned() } else { format!("{} times", report.times) },
        );
        html.element("p", &[("class", "faint")], &said);
        if let Some(then) = then {
            let other = if then.is_about_other_tasks { " · it is about other tasks" } else { "" };
            let said = format!("beside {} at {}{other}", then.baseline.model, then.baseline.endpoint);
            html.element("p", &[("class", "faint")], &said);
        }
        html.within("nav", &[("aria-label", "Parts of this page")], |html| {
            for (link, name) in [("#measures", "Measures"), ("#tasks", "Tasks"), ("#answers", "Answers")] {
                html.element("a", &[("href", link)], name);
            }
        });
    });
}

fn cards(html: &mut Html, report: &Report, then: Option<&Then<'_>>) {
    let looked_at: Vec<&Score> = report.scores.iter().filter(|score| score.of > 0).collect();
    let held = looked_at.iter().filter(|score| score.held == score.of).count();
    let score = |measure: &str| looked_at.iter().find(|score| score.measure == measure);
    html.within("ul", &[("class", "cards")], |html| {
        let mut card = |class: &str, number: String, what: &str| {
            html.within("li", &[("class", "panel")], |html| {
                html.element("b", &[("class", class)], &number);
                html.element("span", &[("class", "faint")], what);
            });
        };
        let class = if held == looked_at.len() { "accepted" } else { "rejected" };
        card(class, format!("{held} of {}", looked_at.len()), "measures hold without exception");
        for (measure, what) in
            [("called", "tasks that need a call got one"), ("schema", "calls fit their schema")]
        {
            if let Some(score) = score(measure) {
                let class = if score.held == score.of { "accepted" } else { "rejected" };
                let share = f64::from(score.held) * 100.0 / f64::from(score.of);
                card(class, format!("{share:.0} %"), &format!("{what} ({} of {})", score.held, score.of));
            }
        }
        if let Some(waits) = report.first_argument {
            let what =
                format!("to the first argument (median of {}, at most {} ms)", waits.of, waits.longest_ms);
            card("", format!("{} ms", waits.median_ms), &what);
        }
        if let Some(then) = then {
            card("accepted", then.count(Change::Better).to_string(), "measures are better than before");
            let worse = then.count(Change::Worse);
            card(if worse > 0 { "rejected" } else { "" }, worse.to_string(), "measures are worse");
        }
    });
}

fn measures(html: &mut Html, report: &Report, then: Option<&Then<'_>>) {
    html.within("section", &[("class", "panel"), ("id", "measures")], |html| {
        html.element("h2", &[], "Measures");
        html.within("table", &[("class", "rows")], |html| {
            html.open("thead", &[]);
            html.within("tr", &[], |html| {
                html.element("th", &[("scope", "col")], "measure");
                html.element("th", &[("scope", "col"), ("class", "wide")], "");
                html.element("th", &[("scope", "col"), ("class", "number")], "held");
                if then.is_some() {
                    html.element("th", &[("scope", "col"), ("class", "number")], "was");
                    html.element("th", &[("scope", "col")], "");
                }
            });
            html.close("thead");
            html.within("tbody", &[], |html| {
                for score in &report.scores {
                    html.within("tr", &[], |html| measure(html, score, then));
                }
                if let Some(compared) = then.and_then(|then| then.of(FIRST_ARGUMENT)) {
                    html.within("tr", &[], |html| {
                        html.element("th", &[("scope", "row")], FIRST_ARGUMENT);
                        html.element(
                            "td",
                            &[("class", "faint")],
                            "less is better; up to a fifth, or 20 ms, is the same",
                        );
                        let shown = |time: Option<(u64, u64)>| {
                            time.map_or_else(|| "–".to_owned(), |(time, _)| format!("{time} ms"))
                        };
                        html.element("td", &[("class", "number")], &shown(compared.is));
                        html.element("td", &[("class", "number")], &shown(compared.was));
                        change(html, compared);
                    });
                }
            });
        });
    });
}

fn measure(html: &mut Html, score: &Score, then: Option<&Then<'_>>) {
    html.open("th", &[("scope", "row")]);
    html.text(score.measure);
    html.element("div", &[("class", "faint")], meaning(score.measure));
    if !score.failures.is_empty() {
        html.within("details", &[], |html| {
            html.element("summary", &[("class", "faint")], "where it did not hold");
            html.within("ul", &[("class", "said")], |html| {
                score.failures.iter().for_each(|failure| html.element("li", &[], failure));
            });
        });
    }
    html.close("th");
    html.open("td", &[("class", "graph")]);
    if score.of > 0 {
        let shades = [
            Shade { class: "accepted", name: "held", count: score.held.into() },
            Shade { class: "rejected", name: "did not", count: (score.of - score.held).into() },
        ];
        html.bar(&shades, score.of.into());
    }
    html.close("td");
    let held = if score.of == 0 { "–".to_owned() } else { format!("{} of {}", score.held, score.of) };
    html.element("td", &[("class", "number")], &held);
    if let Some(then) = then {
        let compared = then.of(score.measure);
        let was = compared.and_then(|compared| compared.was);
        let was = was.map_or_else(|| "–".to_owned(), |(held, of)| format!("{held} of {of}"));
        html.element("td", &[("class", "number")], &was);
        match compared {
            Some(compared) => change(html, compared),
            None => html.element("td", &[], ""),
        }
    }
}

fn change(html: &mut Html, compared: &Compared) {
    let class = match compared.change {
        Change::Better => "word better",
        Change::Worse => "word worse",
        Change::Same | Change::Unknown => "word same",
    };
    html.open("td", &[]);
    html.element("span", &[("class", class)], compared.change.word());
    html.close("td");
}

/// Which task failed at what.
fn matrix(html: &mut Html, report: &Report) {
    let measures: Vec<&Score> = report.scores.iter().filter(|score| score.of > 0).collect();
    html.within("section", &[("class", "panel"), ("id", "tasks")], |html| {
        html.element("h2", &[], "Tasks");
        html.open(
            "div",
            &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", "Tasks by measure")],
        );
        html.within("table", &[("class", "matrix")], |html| {
            html.open("thead", &[]);
            html.within("tr", &[], |html| {
                html.element("th", &[("scope", "col")], "task");
                for score in &measures {
                    html.open("th", &[("scope", "col")]);
                    html.element("span", &[], score.measure);
                    html.close("th");
                }
            });
            html.close("thead");
            html.within("tbody", &[], |html| {
                for (number, task) in report.tasks.iter().enumerate() {
                    html.within("tr", &[], |html| {
                        html.open("th", &[("scope", "row")]);
                        html.element("a", &[("href", &format!("#task-{}", number + 1))], &task.name);
                        html.close("th");
                        for score in &measures {
                            cell(html, task, score.measure);
                        }
                    });
                }
            });
        });
        html.close("div");
    });
}

fn cell(html: &mut Html, task: &TaskReport, measure: &str) {
    match task.scores.iter().find(|score| score.measure == measure) {
        None => html.element("td", &[("class", "off"), ("aria-label", "not looked at")], "·"),
        Some(score) if score.held == score.of => {
            html.element(
                "td",
                &[("class", "good"), ("title", &format!("{} of {}", score.held, score.of))],
                "✓",
            );
        }
        Some(score) => html.element("td", &[("class", "bad")], &format!("{}/{}", score.held, score.of)),
    }
}

fn answers(html: &mut Html, report: &Report) {
    html.within("section", &[("class", "panel"), ("id", "answers")], |html| {
        html.element("h2", &[], "Answers");
        let all = || report.tasks.iter().flat_map(|task| &task.answers);
        legend(html, |kind| all().any(|answer| answer.parts.iter().any(|part| part.kind == kind)), false);
        for (number, task) in report.tasks.iter().enumerate() {
            let failed = task.scores.iter().filter(|score| score.held < score.of);
            let failed: Vec<&str> = failed.map(|score| score.measure).collect();
            let id = format!("task-{}", number + 1);
            html.within("details", &[], |html| {
                html.open("summary", &[]);
                let (class, word) =
                    if failed.is_empty() { ("word accepted", "holds") } else { ("word rejected", "fails") };
                html.element("span", &[("class", class)], word);
                html.text(&task.name);
                html.element("span", &[("class", "faint")], &format!(" {}", failed.join(", ")));
                html.close("summary");
                html.within("div", &[("id", &id)], |html| {
                    task.answers.iter().for_each(|one| answer(html, one))
                });
            });
        }
    });
}

fn answer(html: &mut Html, answer: &SeenAnswer) {
    let way = if answer.streamed { "streamed" } else { "plain" };
    let ended =
        if answer.ended.is_empty() { String::new() } else { format!(", ended with {}", answer.ended) };
    let failed =
        if answer.failed.is_empty() { String::new() } else { format!(": {}", answer.failed.join(", ")) };
    html.open("h3", &[]);
    html.text(way);
    let said = match answer.fault {
        Some(_) => String::new(),
        None => format!(" {} ms{ended}{failed}", answer.millis),
    };
    html.element("span", &[("class", "faint")], &said);
    html.close("h3");
    if let Some(fault) = &answer.fault {
        html.within("p", &[], |html| html.element("span", &[("class", "word error")], fault));
    }
    if !answer.text.is_empty() {
        coloured(html, &answer.text, &answer.parts, &[]);
    }
    if !answer.calls.is_empty() {
        html.within("ul", &[("class", "said")], |html| answer.calls.iter().for_each(|one| call(html, one)));
    }
}

fn call(html: &mut Html, call: &SeenCall) {
    let (class, word) = match (call.stands, call.remarks.is_empty()) {
        (true, true) => ("word accepted", "fits"),
        (true, false) => ("word repaired", "nearly fits"),
        (false, _) => ("word rejected", "does not fit"),
    };
    html.open("li", &[]);
    html.element("span", &[("class", class)], word);
    html.text(" ");
    html.element("code", &[], &format!("{} {}", call.name, call.arguments));
    html.element("span", &[("class", "faint")], &format!(" {}", call.remarks));
    html.close("li");
}

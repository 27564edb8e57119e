//! `callgate scan`: many responses, one JSON line each, judged in parallel and written in order.

use std::io::Write;
use std::path::{Path, PathBuf};

use callgate::Response;
use callgate::internal::batch::{self, Gates};

use crate::args::ScanArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::lines;
use crate::paint::Paint;
use crate::pipeline::{Line, LineWork};
use crate::progress::{Counting, Tally};

pub(crate) fn run(args: &ScanArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    // Build the gate of the flags first: a mistake in them is reported once, not on every line.
    let gate = input::gate(&args.gate)?;
    input::note_unknown_model(&args.gate);
    let mut gates = Gates::new(*gate.profile()).with_dialects(input::dialect_names(&args.gate));
    if let Some(tools) = gate.registry() {
        gates = gates.with_tools(tools.clone());
    }
    for path in &args.gate.dialect_file {
        for record in input::records(path)? {
            gates = gates.with_record(record);
        }
    }
    // The flags were checked before, so an error here belongs to the line that asks for this gate.
    let _ = gates.prepare();
    let others: Vec<&Path> =
        args.gate.tools.iter().chain(&args.gate.dialect_file).map(PathBuf::as_path).collect();
    lines::run(&args.file, &others, &args.lines, Counting::Calls, ScanLines { gates }, paint, out)
}

/// Each line a response, by the batch contract.
struct ScanLines {
    gates: Gates,
}

impl LineWork for ScanLines {
    /// Each thread compiles the other gates it meets; they are few.
    type State = Gates;
    type Tally = Tally;

    fn state(&self) -> Gates {
        self.gates.clone()
    }

    fn line(&self, gates: &mut Gates, number: u64, line: Line<'_>, out: &mut Vec<u8>, tally: &mut Tally) {
        let outcome = lines::judge(&line, |text| batch::scan_line(text, gates));
        if let Some(response) = &outcome.response {
            count(response, tally);
        }
        lines::write(number, &outcome, out, tally);
    }
}

fn count(response: &Response, tally: &mut Tally) {
    tally.calls += response.calls.len() as u64;
    tally.repaired += response.calls.iter().filter(|call| !call.repairs.is_empty()).count() as u64;
    for finding in response.rejected.iter().filter_map(|rejected| rejected.findings.first()) {
        *tally.rejected.entry(finding.code.word()).or_default() += 1;
    }
}

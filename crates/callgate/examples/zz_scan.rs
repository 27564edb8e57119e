//! scratch
use callgate::Profile;
use callgate::internal::batch::{Gates, scan_line};
use std::io::{BufRead, Write};
fn main() {
    let profile = Profile::named("standard").expect("profile");
    let mut gates = Gates::new(profile);
    let out = std::io::stdout();
    let mut out = std::io::BufWriter::new(out.lock());
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("line");
        let outcome = scan_line(&line, &mut gates);
        writeln!(out, "{}", outcome.line).expect("write");
    }
}

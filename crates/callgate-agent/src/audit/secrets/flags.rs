//! Flags: the programs whose short flags take a secret, and where it stands behind them.

use super::Scan;
use crate::audit::quotes::{closer, is_quote};

/// Programs, and the letters of those flags of theirs whose value is a secret. A flag that is followed by nothing takes
/// the next word.
const PROGRAMS: &[(&str, &str)] = &[
    ("curl", "uUb"),
    ("http", "a"),
    ("https", "a"),
    ("xh", "a"),
    ("mysql", "p"),
    ("mysqldump", "p"),
    ("mysqladmin", "p"),
    ("mariadb", "p"),
    ("mongo", "p"),
    ("mongosh", "p"),
    ("mongodump", "p"),
    ("sshpass", "p"),
    ("login", "p"),
    ("redis-cli", "a"),
    ("ldapsearch", "w"),
    ("ldapadd", "w"),
    ("ldapmodify", "w"),
    ("sqlcmd", "P"),
    ("bcp", "P"),
    ("zip", "P"),
    ("unzip", "P"),
    ("7z", "p"),
    ("7za", "p"),
    ("rar", "p"),
    ("unrar", "p"),
    ("smbclient", "U"),
    ("lftp", "u"),
    ("mosquitto_pub", "P"),
    ("mosquitto_sub", "P"),
    ("ipmitool", "P"),
    ("twine", "p"),
    ("openssl", "kK"),
];

/// The letters of a program's flags whose value is a secret.
pub(in crate::audit) fn secret_flags(program: &str) -> Option<&'static str> {
    let name = program.rsplit('/').next().unwrap_or(program);
    PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, letters)| *letters)
}

impl Scan<'_> {
    /// Passes over a short flag of a program and hides its value; false if this is none.
    pub(super) fn short_flag(&mut self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let letters = self.flags;
        if letters.is_empty() || before.is_some_and(|c| !c.is_whitespace() && !is_quote(c)) {
            return false;
        }
        let rest = &self.rest()[1..];
        let run = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let Some(first) = rest.chars().next().filter(|_| run > 0) else { return false };
        let behind = &rest[run..];
        let is_alone = behind.starts_with(|c: char| c.is_whitespace() || is_quote(c) || c == '\\');
        let last = rest[..run].chars().next_back().unwrap_or(first);
        let from = if is_alone && run <= 4 && letters.contains(last) {
            let value =
                behind.trim_start_matches(|c: char| is_quote(c) || matches!(c, ' ' | '\t' | ',' | '\\'));
            self.text.len() - value.len()
        } else if letters.contains(first) {
            self.at + 2
        } else {
            return false;
        };
        let value = &self.text[from..];
        let before = &self.text[..from];
        let end = match before.chars().next_back().filter(|c| is_quote(*c)) {
            Some(quote) => {
                let outer = &before[..from - quote.len_utf8()];
                let slashes = outer.len() - outer.trim_end_matches('\\').len();
                closer(self.text, from, quote, slashes).unwrap_or(self.text.len())
            }
            None => match value.chars().next().filter(|c| is_quote(*c)) {
                Some(quote) => closer(self.text, from + 1, quote, 0).unwrap_or(self.text.len()),
                None => {
                    let word = value.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(value.len());
                    from + value[..word].trim_end_matches('\\').len()
                }
            },
        };
        if end <= from {
            return false;
        }
        self.keep_to(from);
        self.hide_to(end);
        true
    }
}

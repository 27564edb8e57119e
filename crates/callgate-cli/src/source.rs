//! The model's text drawn line by line: each part in the colour of what it became, with marks beneath what was changed
//! or rejected.

use std::io::{self, Write};

use callgate::Span;

use crate::paint::{Paint, Tone, columns_of, is_hidden};

/// A text with its lines, to turn byte offsets into places.
pub(crate) struct Source<'a> {
    bytes: &'a [u8],
    /// The first byte of each line.
    starts: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let after_breaks = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n').map(|(at, _)| at + 1);
        Source { bytes, starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// `line:column`, both from 1, the column in characters.
    pub(crate) fn place(&self, offset: usize) -> String {
        let offset = offset.min(self.bytes.len());
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts[line - 1];
        // Continuation bytes do not start a character, also in text that is not quite UTF-8.
        let column = self.bytes[start..offset].iter().filter(|&&byte| byte & 0xc0 != 0x80).count() + 1;
        format!("{line}:{column}")
    }
}

/// What a part of the text became.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) span: Span,
    pub(crate) tone: Tone,
}

/// A remark beneath a part of the text.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub(crate) span: Span,
    /// What underlines it.
    pub(crate) sign: char,
    pub(crate) tone: Tone,
    pub(crate) label: String,
}

/// How many marks one row of text gets; the list below the text has them all.
const MARKS_PER_ROW: usize = 6;

/// Draws the text. `parts` and `marks` may come in any order.
pub(crate) fn draw(
    out: &mut dyn Write,
    paint: Paint,
    source: &Source<'_>,
    parts: &mut [Part],
    marks: &mut [Mark],
) -> io::Result<()> {
    parts.sort_by_key(|part| part.span.start);
    marks.sort_by_key(|mark| (mark.span.start, mark.span.end));
    let digits = source.starts.len().to_string().len().max(2);
    let width = paint.columns().saturating_sub(digits + 4).max(20);
    let mut drawing = Drawing { out, paint, digits, width, number: None, parts, marks, row: Row::default() };
    for (index, &start) in source.starts.iter().enumerate() {
        let end = source.starts.get(index + 1).map_or(source.bytes.len(), |&next| next - 1);
        let after_last_break = start == source.bytes.len() && index > 0;
        if after_last_break && drawing.marks.is_empty() {
            break;
        }
        drawing.number = Some(index + 1);
        drawing.line(start, &source.bytes[start..end])?;
    }
    Ok(())
}

struct Drawing<'a> {
    out: &'a mut dyn Write,
    paint: Paint,
    /// The columns of the line numbers, and those of the text.
    digits: usize,
    width: usize,
    /// The number of the line, until its first row is printed.
    number: Option<usize>,
    /// The parts that are not drawn yet; the first may be begun.
    parts: &'a [Part],
    marks: &'a [Mark],
    row: Row,
}

/// One row of the screen: the cells of some bytes.
#[derive(Default)]
struct Row {
    /// For each character: its first byte, and its first column.
    cells: Vec<(usize, usize)>,
    columns: usize,
    end: usize,
    /// Runs of the same tone.
    runs: Vec<(Tone, String)>,
}

impl Row {
    fn push(&mut self, at: usize, length: usize, tone: Tone, shown: &str, columns: usize) {
        self.cells.push((at, self.columns));
        self.columns += columns;
        self.end = at + length;
        match self.runs.last_mut() {
            Some((last, text)) if *last == tone => text.push_str(shown),
            _ => self.runs.push((tone, shown.to_owned())),
        }
    }

    /// The first column of the character at or after a byte.
    fn column(&self, byte: usize) -> usize {
        let index = self.cells.partition_point(|&(at, _)| at < byte);
        self.cells.get(index).map_or(self.columns, |&(_, column)| column)
    }
}

impl Drawing<'_> {
    fn line(&mut self, start: usize, bytes: &[u8]) -> io::Result<()> {
        self.row = Row { end: start, ..Row::default() };
        let mut at = start;
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\t' => self.cell(at, c.len_utf8(), "    ", 4)?,
                    c if is_hidden(c) => {
                        let shown = c.escape_default().to_string();
                        self.cell(at, c.len_utf8(), &shown, shown.len())?;
                    }
                    c => self.cell(at, c.len_utf8(), c.encode_utf8(&mut [0; 4]), columns_of(c))?,
                }
                at += c.len_utf8();
            }
            for &byte in chunk.invalid() {
                self.cell(at, 1, &format!("\\x{byte:02x}"), 4)?;
                at += 1;
            }
        }
        // The line break itself belongs to the last row, so that a mark that starts there is not lost.
        self.row.end = at + 1;
        self.finish_row()
    }

    /// Adds one character, on the next row if this one is full.
    fn cell(&mut self, at: usize, length: usize, shown: &str, columns: usize) -> io::Result<()> {
        if self.row.columns + columns > self.width && !self.row.cells.is_empty() {
            self.finish_row()?;
            self.row = Row { end: at, ..Row::default() };
        }
        let tone = self.tone_at(at);
        self.row.push(at, length, tone, shown, columns);
        Ok(())
    }

    fn tone_at(&mut self, at: usize) -> Tone {
        while let Some((first, rest)) = self.parts.split_first()
            && first.span.end <= at
        {
            self.parts = rest;
        }
        self.parts.first().filter(|part| part.span.start <= at).map_or(Tone::Plain, |part| part.tone)
    }

    /// Prints the row, then the marks that start in it.
    fn finish_row(&mut self) -> io::Result<()> {
        let digits = self.digits;
        let label = self.number.take().map_or(String::new(), |number| number.to_string());
        write!(self.out, "{} ", self.paint.tone(Tone::Grey, format_args!(" {label:>digits$} │")))?;
        for (tone, text) in &self.row.runs {
            write!(self.out, "{}", self.paint.tone(*tone, text))?;
        }
        writeln!(self.out)?;
        let here = self.marks.partition_point(|mark| mark.span.start < self.row.end);
        let (marks, later) = self.marks.split_at(here);
        self.marks = later;
        let gutter = self.paint.tone(Tone::Grey, format!(" {:digits$} │", ""));
        for mark in marks.iter().take(MARKS_PER_ROW) {
            let from = self.row.column(mark.span.start);
            let to = self.row.column(mark.span.end.min(self.row.end)).max(from + 1);
            let signs: String = std::iter::repeat_n(mark.sign, to - from).collect();
            let underline = format!("{signs} {}", mark.label);
            writeln!(self.out, "{gutter} {:from$}{}", "", self.paint.tone(mark.tone, underline))?;
        }
        if marks.len() > MARKS_PER_ROW {
            let more = format!("… {} more on this line", marks.len() - MARKS_PER_ROW);
            writeln!(self.out, "{gutter} {}", self.paint.tone(Tone::Grey, more))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(bytes: &[u8], marks: &mut [Mark]) -> String {
        drawn_within(200, bytes, marks)
    }

    fn drawn_within(columns: usize, bytes: &[u8], marks: &mut [Mark]) -> String {
        let mut out = Vec::new();
        draw(&mut out, Paint::plain(columns), &Source::new(bytes), &mut [], marks).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn mark(start: usize, end: usize) -> Mark {
        Mark { span: Span::new(start, end), sign: '~', tone: Tone::Bad, label: "here".to_owned() }
    }

    #[test]
    fn places_count_lines_and_characters() {
        let source = Source::new("aä\nb｜c".as_bytes());
        assert_eq!(source.place(0), "1:1");
        assert_eq!(source.place(3), "1:3");
        assert_eq!(source.place(4), "2:1");
        assert_eq!(source.place(8), "2:3");
        assert_eq!(source.place(999), "2:4");
        assert_eq!(Source::new(b"").place(0), "1:1");
    }

    #[test]
    fn marks_stand_beneath_their_text() {
        let text = "ab｜cd\nef\n";
        assert_eq!(
            drawn(text.as_bytes(), &mut [mark(5, 7), mark(8, 10)]),
            "  1 │ ab｜cd\n    │     ~~ here\n  2 │ ef\n    │ ~~ here\n"
        );
    }

    #[test]
    fn a_mark_over_several_lines_is_cut_at_the_first() {
        assert_eq!(drawn(b"ab\ncd", &mut [mark(1, 5)]), "  1 │ ab\n    │  ~ here\n  2 │ cd\n");
    }

    #[test]
    fn a_mark_at_the_end_is_not_lost() {
        assert_eq!(drawn(b"ab", &mut [mark(2, 2)]), "  1 │ ab\n    │   ~ here\n");
        assert_eq!(drawn(b"", &mut [mark(0, 0)]), "  1 │ \n    │ ~ here\n");
        assert_eq!(drawn(b"ab\n", &mut [mark(3, 3)]), "  1 │ ab\n  2 │ \n    │ ~ here\n");
    }

    #[test]
    fn hidden_and_invalid_bytes_are_written_out() {
        assert_eq!(drawn(b"a\x1b[31mb\xffc\td\r\n", &mut []), "  1 │ a\\u{1b}[31mb\\xffc    d\\r\n");
    }

    #[test]
    fn long_lines_go_on_in_the_next_row() {
        let text = "abcdefghijklmnopqrstuvwxyz";
        assert_eq!(
            drawn_within(26, text.as_bytes(), &mut [mark(0, 1), mark(22, 24)]),
            "  1 │ abcdefghijklmnopqrst\n    │ ~ here\n    │ uvwxyz\n    │   ~~ here\n"
        );
    }
}

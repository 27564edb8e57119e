//! The end of the input: what it means for the value, and what closing the value adds.

use super::quotes::Style;
use super::structure::Expects;
use super::{Reader, ReaderState};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};

/// What the end of the input means for the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is complete.
    Whole,
    /// Everything in it is complete; only closers are missing.
    Closable,
    /// Something in it runs into the end, or a key has no value.
    CutOff,
    /// There is no value, only white space.
    Blank,
    /// It cannot be read.
    Failed,
}

impl Reader {
    /// Says that there is no more input, and what that means.
    pub fn finish(&mut self) -> End {
        if let Some(end) = self.end {
            return end;
        }
        self.run_window();
        let end = self.judge_end();
        if end == End::Whole {
            self.settle_document();
            self.state = ReaderState::Done;
        }
        self.end = Some(end);
        end
    }

    /// Whether the input ends in an object or a list of which nothing was written, or nothing but half a member.
    pub fn ends_in_nothing(&self) -> bool {
        self.levels.last().is_some_and(|level| level.items == 0) && self.string.is_none_or(|open| open.key)
    }

    /// Ends the value where the input ends or the reader stopped, adding what is missing; `false` if that would
    /// need a value that was not written.
    pub fn close(&mut self) -> bool {
        if self.failure.is_some() || self.state == ReaderState::Done {
            return self.failure.is_none();
        }
        self.closing = !self.grammar.partial;
        self.run_window();
        if let Some(back) = self.go_back_at_end() {
            self.close_before(self.base - back.len());
            self.back = back;
            self.run_again(true);
        }
        self.close_comment();
        if self.failure.is_some() || !self.close_open_value() {
            return false;
        }
        self.settle_document();
        self.state = ReaderState::Done;
        self.end = Some(End::Whole);
        self.failure.is_none()
    }

    /// What the end of the input means, once everything before it is decided.
    fn judge_end(&self) -> End {
        let empty = self.levels.last().is_some_and(|level| level.items == 0);
        match self.expects {
            _ if self.failure.is_some() => End::Failed,
            _ if self.state == ReaderState::Done => End::Whole,
            _ if self.string.is_some() || !self.window.is_empty() => End::CutOff,
            Expects::Start => End::Blank,
            Expects::Around if self.around.has_value() => End::Whole,
            Expects::Around => End::Blank,
            Expects::After => End::Closable,
            Expects::Value if self.in_sequence() && !empty => End::Closable,
            Expects::Key if !empty => End::Closable,
            Expects::Value if self.levels.is_empty() && self.repairs.list().is_empty() => End::Blank,
            Expects::Value | Expects::Key | Expects::Colon => End::CutOff,
        }
    }

    /// Ends what is open at the end of the input; `false` if a value is missing.
    fn close_open_value(&mut self) -> bool {
        let end = self.base + self.window.len();
        let here = Span::new(end, end);
        if let Some(open) = self.string {
            if open.key {
                return self.drop_half(end) && self.close_open_value();
            }
            if !self.grammar.restores && open.doubts.has_quotes() && open.style != Style::Unquoted {
                let message = "one of the quotes in this text may have ended it, since none stands behind it: escape those in it";
                self.fail(Code::RepairRefused, open.begins, message);
                return false;
            }
            // Half an escape is not part of the string.
            self.window.clear();
            if open.style != Style::Unquoted {
                self.repair(RepairCode::UnclosedString, here);
            }
            self.cut = true;
            self.close_string();
        }
        if !self.window.is_empty() {
            return self.drop_half(end) && self.close_open_value();
        }
        self.settle_value(end);
        let empty = self.levels.last().is_some_and(|level| level.items == 0);
        match self.expects {
            Expects::Around => return self.around.has_value(),
            Expects::Start => return false,
            Expects::Colon => return self.drop_half(end) && self.close_open_value(),
            Expects::Value if !self.in_sequence() => return self.drop_half(end) && self.close_open_value(),
            Expects::Value | Expects::Key => self.cut |= empty,
            Expects::After => {}
        }
        let has_rival = self.may_have_closed_before();
        while !self.levels.is_empty() {
            let is_doubtful = self.grammar.restores && (has_rival || self.may_need_no_opener());
            let safety = if self.cut || is_doubtful { Safety::Guess } else { Safety::Lossless };
            self.close_level(end);
            self.repairs.add(RepairCode::MissingCloser, safety, here);
        }
        self.settle_value(end);
        true
    }

    /// Whether the last bracket that was closed may have been meant for another one that is still open, so that the
    /// missing closer belongs somewhere else.
    fn may_have_closed_before(&self) -> bool {
        let written = self.output.text.trim_end();
        looked(self.output.text.len() - written.len());
        let last = written.bytes().last().unwrap_or(0);
        self.comma.is_none() && is_closer(last) && self.open_brackets.count(last) > 0
    }

    /// Runs the machine over the window, after which nothing follows.
    fn run_window(&mut self) {
        if self.state == ReaderState::Done {
            return;
        }
        let stopped = self.state == ReaderState::Stopped;
        self.state = ReaderState::Reading;
        let mut window = std::mem::take(&mut self.window);
        let (at, _) = self.run(&window, true);
        window.drain(..at);
        self.window = window;
        self.run_again(true);
        if stopped && self.state == ReaderState::Reading {
            self.state = ReaderState::Stopped;
        }
    }
}

fn is_closer(byte: u8) -> bool {
    matches!(byte, b'}' | b']')
}

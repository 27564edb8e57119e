//! Behind calls: the closers that must not follow them, because they show that a value was cut or that a call goes on.

use super::super::Compiled;
use super::super::instructions::Frame;
use super::super::threads::Thread;
use super::Machine;
use super::around::StrayClosers;
use super::literals::Resync;
use crate::ledger::Emitter;

/// How many closers of earlier calls are looked for behind a call.
const NAMED_CLOSERS: usize = 16;

impl Machine {
    /// After a frame of calls: what follows may show that it was none, or that a value was cut.
    pub(super) fn pass_calls(&mut self, gate: &Compiled, thread: &Thread, out: &mut Emitter<'_, '_>) {
        let frame = gate.program.frame_of(thread);
        let around = &mut self.around;
        let change = around.regions.pass_frame(self.held.text.ends_with('\n'));
        around.apply(change, out);
        around.stands_alone = frame.unmarked && !frame.fence;
        around.behind_call = true;
        let earlier = around.first_valued.filter(|first| *first != frame.record);
        if frame.closers.is_empty() && earlier.is_none() {
            self.around.stray_closers = self.absent_closers(gate, frame);
            return;
        }
        if !frame.closers.is_empty() {
            around.first_valued.get_or_insert(frame.record);
        }
        let repeats = self.scratch.repeats(thread);
        let name = thread.name.map_or("", |name| self.scratch.get(name));
        let closer = |closer: &String| {
            let ends_frame = frame.call_ends.contains(closer);
            (repeats.fill(closer, name), if ends_frame { Resync::FrameEnd } else { Resync::CallEnd })
        };
        let mut closers: Vec<(String, Resync)> = frame.closers.iter().map(closer).collect();
        if earlier.is_some() {
            // Those of a call in another format: this one may stand in a value of that.
            let frames = || gate.program.frames.iter().filter(|other| Some(other.record) == earlier);
            let fixed = frames().flat_map(|other| &other.closers).filter(|closer| !closer.contains('{'));
            let fixed = fixed.map(|closer| (closer.clone(), Resync::CallEnd));
            for closer in fixed.chain(around.named_closers.iter().cloned()) {
                if closers.iter().all(|(known, _)| *known != closer.0) {
                    closers.push(closer);
                }
            }
        }
        let held = self.held.text.trim_end();
        let last = closers.iter().find(|(closer, _)| held.ends_with(closer.as_str()));
        let last = last.map(|(closer, _)| closer.clone()).unwrap_or_default();
        if frame.closers.iter().any(|closer| closer.contains('{')) {
            // Closers that differ from call to call: those of a call before this may show that this one stands in its value.
            around.named_closers.retain(|known| !closers.contains(known));
            let kept = around.named_closers.len().saturating_sub(NAMED_CLOSERS);
            around.named_closers.drain(..kept);
            let own = closers.clone();
            closers.append(&mut around.named_closers.clone());
            around.named_closers.extend(own);
        }
        around.stray_closers = Some(StrayClosers::new(closers, last, gate.program.special.clone()));
    }

    /// The closers that a call behind a complete object has not had, where its format may leave them out: if they come
    /// after all, what stands before them belongs to the call.
    fn absent_closers(&self, gate: &Compiled, frame: &Frame) -> Option<StrayClosers> {
        let held = self.held.text.trim_end();
        let is_closed = frame.end_marks.iter().any(|mark| held.ends_with(mark.as_str()));
        // What ends with a fence, or with words that repeat something, is told by other means.
        let is_marker = |closer: &String| closer.starts_with(['<', '[']) && !closer.contains('{');
        if is_closed || frame.call_ends.is_empty() || !frame.call_ends.iter().all(is_marker) {
            return None;
        }
        let closers = frame.call_ends.iter().map(|closer| (closer.clone(), Resync::FrameEnd)).collect();
        Some(StrayClosers::new(closers, String::new(), gate.program.special.clone()))
    }
}

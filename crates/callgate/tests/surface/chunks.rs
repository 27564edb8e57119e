//! A session as an iterator, and as a stream where that is switched on: the events of the callback, in any cutting.

use callgate::{Chunk, Event, FinishReason, Gate, NativeDelta};
use proptest::prelude::*;
use serde_json::json;

use crate::support::corpus::{LISTENERS, samples};
use crate::support::soup::{byte_soup, cuts, places};
use crate::support::{gate, hold, over_samples};

/// The events as they come, not joined: what each chunk causes must be the same.
fn by_callback(gate: &Gate, chunks: &[Chunk<'_>]) -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let mut sink = |event: Event<'_>| events.push(event.into_owned());
    let mut session = gate.session();
    let mut reason = FinishReason::Unknown;
    for chunk in chunks {
        match chunk {
            Chunk::Text(text) => session.push(text, &mut sink),
            Chunk::Bytes(bytes) => session.push_bytes(bytes, &mut sink),
            Chunk::Reasoning(text) => session.reasoning(text, &mut sink),
            Chunk::Native { index, id, name, arguments, done } => {
                let delta = NativeDelta {
                    index: *index,
                    id: id.as_deref(),
                    name: name.as_deref(),
                    arguments: arguments.as_deref(),
                    done: *done,
                };
                session.native(delta, &mut sink);
            }
            Chunk::End(said) => reason = *said,
            _ => panic!("a chunk that this test does not know"),
        }
    }
    session.finish(reason, &mut sink);
    events
}

fn fault(gate: &Gate, chunks: &[Chunk<'_>]) -> Option<String> {
    let wanted = by_callback(gate, chunks);
    let iterated: Vec<Event<'static>> = gate.session().events(chunks.iter().cloned()).collect();
    if iterated != wanted {
        return Some(format!("the iterator gives {iterated:?}, the callback {wanted:?}"));
    }
    #[cfg(feature = "stream")]
    {
        let streamed = crate::stream::events(gate, chunks.to_vec());
        if streamed != wanted {
            return Some(format!("the stream gives {streamed:?}, the callback {wanted:?}"));
        }
    }
    None
}

#[test]
fn all_fixtures_in_one_chunk_and_in_many() {
    over_samples(samples(), |sample| {
        let whole = [Chunk::from(sample.text.as_str()), FinishReason::Stop.into()];
        let bytes = sample.text.as_bytes().chunks(3).map(Chunk::from);
        let many: Vec<Chunk<'_>> = bytes.chain([FinishReason::Length.into()]).collect();
        fault(&sample.gate, &whole).or_else(|| fault(&sample.gate, &many))
    });
}

#[test]
fn any_bytes_in_any_cutting_with_any_structured_calls() {
    let native = prop::option::of((prop::option::of(0usize..3), "[a-z]{0,5}", "[{}\":a-z0-9, ]{0,9}"));
    let strategy = (0..LISTENERS.len(), byte_soup(10), cuts(6), native);
    hold(300, strategy, |(listener, input, cuts, native)| {
        let mut chunks = Vec::new();
        let mut start = 0;
        for end in places(&cuts, input.0.len()).into_iter().chain([input.0.len()]) {
            chunks.push(Chunk::from(&input.0[start..end]));
            start = end;
            if let Some((index, name, arguments)) = &native {
                let (name, arguments) = (Some(name.as_str()), Some(arguments.as_str()));
                chunks.push(NativeDelta { index: *index, id: None, name, arguments, done: false }.into());
                chunks.push(Chunk::Reasoning("Hm.".into()));
            }
        }
        crate::support::obeyed(fault(&LISTENERS[listener].gate, &chunks))
    });
}

#[test]
fn a_chunk_is_read_when_it_is_asked_for() {
    let gate = gate("standard", &json!([{"name": "look", "parameters": {"type": "object"}}]));
    let read = std::cell::Cell::new(0);
    let chunks = ["One. ", "Two. ", "Three."].into_iter().inspect(|_| read.set(read.get() + 1));
    let mut events = gate.session().events(chunks);
    assert_eq!(read.get(), 0);
    assert!(matches!(events.next(), Some(Event::Text { text, .. }) if text.starts_with("One.")));
    assert_eq!(read.get(), 1);
    let rest: String =
        events.map(|event| if let Event::Text { text, .. } = event { text } else { panic!() }).collect();
    assert_eq!((rest.trim_start(), read.get()), ("Two. Three.", 3));
}

#[test]
fn the_end_says_what_the_chunks_do_not() {
    let gate = gate("standard", &json!([{"name": "look", "parameters": {"type": "object"}}]));
    // Only a good ending lets the missing tag be added.
    let text = "<tool_call>{\"name\": \"look\", \"arguments\": {}}";
    let calls = |reason| {
        let events = gate.session().events([Chunk::from(text), Chunk::End(reason)]);
        events.filter(|event| matches!(event, Event::Call(_))).count()
    };
    assert_eq!((calls(FinishReason::Stop), calls(FinishReason::Failed)), (1, 0));
    let owned: Vec<Chunk<'static>> = vec![format!("{text}</tool_call>").into(), vec![b'.'].into()];
    assert_eq!(gate.session().events(owned).filter(|event| matches!(event, Event::Call(_))).count(), 1);
}

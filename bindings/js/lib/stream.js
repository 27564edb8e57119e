// Streams: the events of a response whose chunks come one by one, awaited or not.

import { wrongType } from './errors.js';

/**
 * Events, for `for await`, and for `for` if the chunks themselves do not have to be awaited.
 *
 * A chunk is text, bytes, or what OpenAI's client gives: a chunk with `choices`, or its delta with `content`,
 * `reasoning_content`, `tool_calls` and `finish_reason`. The end of the chunks is the end of the response.
 */
export class EventStream {
  #open;
  #chunks;
  #reason;

  constructor(open, chunks, reason) {
    const can = (name) => typeof chunks?.[name] === 'function';
    const isIterable = can('getReader') || can(Symbol.asyncIterator) || can(Symbol.iterator);
    if (!isIterable || typeof chunks === 'string' || ArrayBuffer.isView(chunks)) {
      throw wrongType(chunks, 'chunks', 'a ReadableStream, an async iterable or an iterable of chunks');
    }
    this.#open = open;
    this.#chunks = chunks;
    this.#reason = reason;
  }

  *[Symbol.iterator]() {
    if (typeof this.#chunks[Symbol.iterator] !== 'function') {
      throw wrongType(this.#chunks, 'chunks', 'an iterable: these have to be awaited, with `for await`');
    }
    const session = this.#open();
    try {
      for (const chunk of this.#chunks) yield* this.#read(session, chunk);
      yield* session.finish(this.#reason);
    } finally {
      session.free();
    }
  }

  async *[Symbol.asyncIterator]() {
    const session = this.#open();
    try {
      for await (const chunk of awaited(this.#chunks)) yield* this.#read(session, chunk);
      yield* session.finish(this.#reason);
    } finally {
      session.free();
    }
  }

  #read(session, chunk) {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) return session.push(chunk);
    if (typeof chunk !== 'object' || chunk === null) throw wrongType(chunk, 'a chunk', 'a string, Uint8Array or a chunk of a chat completion');
    if (!Array.isArray(chunk.choices)) {
      if (!['content', 'tool_calls', 'reasoning_content', 'reasoning', 'finish_reason', 'role'].some((name) => name in chunk)) {
        throw wrongType(chunk, 'a chunk', 'a string, Uint8Array or a chunk of a chat completion');
      }
      this.#reason = chunk.finish_reason ?? this.#reason;
      return readDelta(session, chunk);
    }
    // A session reads one response, so the others of a request with several are left alone.
    const own = chunk.choices.filter((choice) => !choice?.index);
    return own.flatMap((choice) => {
      this.#reason = choice?.finish_reason ?? this.#reason;
      return readDelta(session, choice?.delta ?? {});
    });
  }
}

function readDelta(session, delta) {
  const list = [];
  const thought = delta.reasoning_content || delta.reasoning;
  if (typeof thought === 'string' && thought) list.push(...session.reasoning(thought));
  if (delta.content) list.push(...session.push(delta.content));
  const calls = delta.tool_calls ?? [];
  if (!Array.isArray(calls)) throw wrongType(calls, 'tool_calls', 'a list of deltas');
  for (const call of calls) list.push(...session.native(call));
  return list;
}

/** Chunks to be awaited. Not every browser can iterate over its streams. */
function awaited(chunks) {
  if (chunks[Symbol.asyncIterator] || chunks[Symbol.iterator]) return chunks;
  return (async function* read() {
    const reader = chunks.getReader();
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
    } finally {
      await reader.cancel().catch(() => {});
      reader.releaseLock();
    }
  })();
}

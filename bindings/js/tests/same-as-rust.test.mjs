// Every fixture gives through JavaScript the events that it gives in Rust: whole, and cut into characters and bytes.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';

import { CallgateError, Event, Gate, Response, dialects } from 'callgate';
import { cut, reference } from './shared.mjs';

const [CHARS, BYTES] = [7, 5];
const rows = [];

before(() => {
  const gates = new Map();
  for (const line of reference()) {
    const { dialect, row } = line;
    const gate = gates.get(dialect)?.withTools(row.tools) ?? new Gate(row.tools, { dialect });
    gates.set(dialect, gate);
    rows.push({ ...line, gate });
  }
  assert(rows.length > 800);
});

/** Pieces of characters, as the crate cuts them. */
function characters(text) {
  return cut([...text], CHARS).map((piece) => piece.join(''));
}

function read(gate, row, pieces) {
  const session = gate.session({ promptTail: row.prompt_tail });
  return [...pieces.flatMap((piece) => session.push(piece)), ...session.finish('stop')];
}

test('events are the same, whole and in pieces', () => {
  for (const { gate, dialect, row, ...wanted } of rows) {
    const forms = { whole: [row.text], pieces: characters(row.text), bytes: cut(new TextEncoder().encode(row.text), BYTES) };
    for (const [form, pieces] of Object.entries(forms)) {
      const got = read(gate, row, pieces).map((event) => event.toJsonText());
      assert.deepEqual(got, wanted[form], `${dialect} ${row.case} ${form}`);
    }
  }
});

test('a text that is cut inside its characters is read like one that is not', () => {
  let halves = 0;
  for (const { gate, row } of rows) {
    const units = row.text.split('');
    if (units.length === [...row.text].length) continue;
    halves += 1;
    const collected = Response.collect(read(gate, row, units), 'stop');
    assert.equal(collected.toJsonText(), gate.parse(row.text, { promptTail: row.prompt_tail, finishReason: 'stop' }).toJsonText());
  }
  assert(halves > 3);
});

test('responses and feedback are the same', () => {
  for (const { gate, dialect, row, response, feedback } of rows) {
    const whole = gate.parse(row.text, { promptTail: row.prompt_tail, finishReason: 'stop' });
    assert.equal(whole.toJsonText(), response, `${dialect} ${row.case}`);
    assert.equal(gate.feedback(whole) ?? null, feedback);
    assert.equal(gate.parse(new TextEncoder().encode(row.text), { promptTail: row.prompt_tail, finishReason: 'stop' }).toJsonText(), response);
    const streamed = Response.collect(read(gate, row, characters(row.text)), 'stop');
    assert.equal(streamed.toJsonText(), response);
    assert.equal(Response.fromJsonText(response).toJsonText(), response);
  }
});

test('batches are the same', () => {
  const groups = new Map();
  for (const line of rows) {
    const key = line.dialect + JSON.stringify(line.row.tools);
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  assert(groups.size < rows.length);
  for (const group of groups.values()) {
    const [{ gate }] = group;
    const texts = group.map(({ row }) => row.text);
    const wanted = group.map(({ response }) => response);
    const given = { promptTail: group.map(({ row }) => row.prompt_tail), finishReason: 'stop' };
    assert.deepEqual(gate.parseMany(texts, given).map((one) => one.toJsonText()), wanted);
    if (given.promptTail.some(Boolean)) continue;
    assert.deepEqual(Array.from(gate.parseMany(texts.values(), { finishReason: 'stop' }), (one) => one.toJsonText()), wanted);
  }
});

test('JSON that is written is read back', () => {
  for (const { whole } of rows) {
    for (const line of whole) assert.equal(Event.fromJsonText(line).toJsonText(), line);
  }
});

test('places in characters cut the text where places in bytes cut the bytes', () => {
  for (const { gate, dialect, row } of rows) {
    const raw = Buffer.from(row.text);
    const same = (part) => {
      if (part.span === null || part.charSpan === null) return assert.equal(part.charSpan, null);
      assert.equal(raw.subarray(...part.span).toString(), row.text.slice(...part.charSpan), `${dialect} ${row.case}`);
    };
    for (const pieces of [[row.text], characters(row.text), cut(raw, BYTES)]) read(gate, row, pieces).forEach(same);
    const response = gate.parse(row.text, { promptTail: row.prompt_tail });
    [...response.allFindings, ...response.calls.flatMap((call) => call.repairs)].forEach(same);
  }
});

test('what a dialect writes it reads', () => {
  assert(dialects.size > 70);
  for (const dialect of dialects) {
    const tools = [{ name: 'look', parameters: { type: 'object', properties: { q: { type: 'string' } } } }];
    const gate = new Gate(tools, { dialect: dialect.name });
    const call = { name: dialect.keys.code_tool || 'look', arguments: { q: 'a' }, id: 'call_1' };
    let written;
    try {
      written = gate.render([call]);
    } catch (error) {
      assert(error instanceof CallgateError && error.code === 'unrepresentable' && error.pointer, error);
      continue;
    }
    assert.equal(written, dialect.render([call]));
    if (call.name !== 'look') continue;
    const { calls } = gate.parse(written, { finishReason: 'stop' });
    assert.deepEqual(calls.map((one) => [one.name, one.arguments]), [['look', { q: 'a' }]], dialect.name);
  }
});

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
    const key = JSON.stringify(line.options);
    const gate = gates.get(key)?.withTools(line.tools) ?? new Gate(line.tools, { ...line.options, strictTools: false });
    gates.set(key, gate);
    const name = `${key} ${line.case}`;
    rows.push({ ...line, name, gate, promptTail: line.promptTail ?? undefined, toolCalls: line.toolCalls ?? undefined });
  }
  assert(rows.filter(({ options }) => options.profile).length > 200);
  assert(rows.length > 1100, `${rows.length}`);
});

/** Pieces of characters, as the crate cuts them. */
function characters(text) {
  return cut([...text], CHARS).map((piece) => piece.join(''));
}

function read({ gate, promptTail, toolCalls }, pieces) {
  const session = gate.session({ promptTail });
  const events = pieces.flatMap((piece) => session.push(piece));
  if (toolCalls) events.push(...session.nativeCalls(toolCalls));
  return [...events, ...session.finish('stop')];
}

function parse({ gate, text, promptTail, toolCalls }) {
  return gate.parse(text, { promptTail, toolCalls, finishReason: 'stop' });
}

test('events are the same, whole and in pieces', () => {
  for (const row of rows) {
    const forms = { whole: [row.text], pieces: characters(row.text), bytes: cut(new TextEncoder().encode(row.text), BYTES) };
    for (const [form, pieces] of Object.entries(forms)) {
      assert.deepEqual(read(row, pieces).map((event) => event.toJsonText()), row[form], `${row.name} ${form}`);
    }
  }
});

test('a text that is cut inside its characters is read like one that is not', () => {
  let halves = 0;
  for (const row of rows) {
    const units = row.text.split('');
    if (units.length === [...row.text].length) continue;
    halves += 1;
    assert.equal(Response.collect(read(row, units), 'stop').toJsonText(), parse(row).toJsonText());
  }
  assert(halves > 3);
});

test('responses and feedback are the same', () => {
  for (const row of rows) {
    const whole = parse(row);
    assert.equal(whole.toJsonText(), row.response, row.name);
    assert.equal(row.gate.feedback(whole) ?? null, row.feedback);
    assert.equal(parse({ ...row, text: new TextEncoder().encode(row.text) }).toJsonText(), row.response);
    assert.equal(Response.collect(read(row, characters(row.text)), 'stop').toJsonText(), row.response);
    assert.equal(Response.fromJsonText(row.response).toJsonText(), row.response);
  }
});

test('batches are the same', () => {
  const groups = new Map();
  for (const row of rows.filter(({ toolCalls }) => !toolCalls)) {
    const key = JSON.stringify([row.options, row.tools]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  assert(groups.size < rows.length);
  for (const group of groups.values()) {
    const [{ gate }] = group;
    const texts = group.map(({ text }) => text);
    const wanted = group.map(({ response }) => response);
    const given = { promptTail: group.map(({ promptTail }) => promptTail), finishReason: 'stop' };
    assert.deepEqual(gate.parseMany(texts, given).map((one) => one.toJsonText()), wanted);
    if (given.promptTail.some(Boolean)) continue;
    assert.deepEqual(Array.from(gate.parseMany(texts.values(), { finishReason: 'stop' }), (one) => one.toJsonText()), wanted);
  }
});

test('JSON that is written is read back', () => {
  for (const { whole } of rows) {
    for (const json of whole) assert.equal(Event.fromJsonText(json).toJsonText(), json);
  }
});

test('places in characters cut the text where places in bytes cut the bytes', () => {
  for (const row of rows) {
    const raw = Buffer.from(row.text);
    const same = (part) => {
      if (part.span === null || part.charSpan === null) return assert.equal(part.charSpan, null);
      assert.equal(raw.subarray(...part.span).toString(), row.text.slice(...part.charSpan), row.name);
    };
    for (const pieces of [[row.text], characters(row.text), cut(raw, BYTES)]) read(row, pieces).forEach(same);
    const response = parse(row);
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

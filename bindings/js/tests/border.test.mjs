// The border holds: whatever is passed, the answer is an error with a code and a clear message, and the core never stops.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Call, CallgateError, Event, Gate, Response, Session, dialects, repair } from 'callgate';
import { WEATHER, hermes } from './shared.mjs';

const gate = new Gate([WEATHER]);
const HALF = '\ud800';

const mistakes = [
  [() => gate.parse(3), 'text must be a string or Uint8Array, not number'],
  [() => gate.parse(null), 'text must be a string or Uint8Array, not null'],
  [() => gate.parse('x', { finish_reason: 'stop' }), 'there is no option `finish_reason`'],
  [() => gate.parse('x', 'stop'), 'options must be an object, not string'],
  [() => gate.parse('x', { toolCalls: 3n, finishReason: 'stop' }) && gate.parse('x', { toolCalls: [NaN] }), 'NaN is no number of JSON'],
  [() => gate.session().push(['a']), 'chunk must be a string or Uint8Array, not Array'],
  [() => gate.session().push(new Uint16Array(2)), 'not Uint16Array'],
  [() => gate.session().pushSpecial(new Uint8Array(1)), 'text must be a string, not Uint8Array'],
  [() => gate.session().native(3), 'delta must be an object'],
  [() => gate.session().native({ index: -1 }), 'index must be a whole number'],
  [() => gate.session().native({ index: 2 ** 40 }), 'index must be a whole number'],
  [() => gate.session().native({ name: 3 }), 'name must be a string, not number'],
  [() => gate.session().nativeCalls(() => 1), 'calls cannot be written as JSON'],
  [() => gate.session().finish(3), 'finishReason must be a string, not number'],
  [() => gate.session().finish('stopp'), 'did you mean stop'],
  [() => gate.session({ untrusted: 3 }), 'untrusted must be a string or a list of strings, not number'],
  [() => gate.session({ promptTail: new Uint8Array(1) }), 'promptTail must be a string, not Uint8Array'],
  [() => new Session(), 'a session is made by a gate'],
  [() => gate.parseMany('abc'), 'texts must be a list or iterator of strings'],
  [() => gate.parseMany(3), 'texts must be a list or iterator of strings'],
  [() => gate.parseMany({ a: 1 }), 'texts must be a list or iterator of strings'],
  [() => gate.parseMany(['a', null]), 'texts\\[1\\] must be a string'],
  [() => [...gate.parseMany([3].values())], 'texts\\[0\\] must be a string'],
  [() => gate.parseMany(['a'], { finishReason: ['stop', 'stop'] }), 'finishReason has 2 values for 1 texts'],
  [() => gate.parseMany(['a'].values(), { promptTail: ['x'] }), 'promptTail has 1 values for an iterator'],
  [() => gate.feedback('x'), 'response must be a Response, not string'],
  [() => gate.feedback({ toJsonText: () => '{}' }), 'response must be a Response'],
  [() => gate.render(3), 'calls must be a list of calls, not number'],
  [() => gate.render([3]), 'a call must be a Call or an object'],
  [() => gate.render([{ arguments: {} }], 'hermes'), 'has no name'],
  [() => gate.render([{ name: 'x', arguments: '[1]' }], 'hermes'), 'are no JSON object'],
  [() => gate.render([{ name: 'x', arguments: '{}, "id": 1' }], 'hermes'), 'are no JSON object'],
  [() => gate.render([], 'hermez'), 'did you mean hermes'],
  [() => gate.stream('abc'), 'chunks must be a ReadableStream'],
  [() => [...gate.stream([3])], 'a chunk must be a string'],
  [() => [...gate.stream((async function* () {})())], 'have to be awaited'],
  [() => new Gate().prompt(), 'nothing to teach without tools'],
  [() => new Gate([], { dialect: 3 }), 'dialect must be a string, a Dialect or a list'],
  [() => new Gate(null, { dialect: 'nobody' }), 'there is no dialect `nobody`'],
  [() => new Gate(null, { model: 3 }), 'model must be a string'],
  [() => new Gate(null, { profile: 'x' }), 'there is no profile `x`'],
  [() => new Gate(null, { maxCalls: 'many' }), 'maxCalls'],
  [() => new Gate(null, { maxCallz: 1 }), 'maxCallz.*maxCalls'],
  [() => new Gate(null, { maxCalls: NaN }), 'NaN is no number of JSON'],
  [() => new Gate(null, { strictTools: 1 }), 'strictTools must be a boolean'],
  [() => new Gate('{'), 'tools-bad-json'],
  [() => new Gate(3), 'nothing can be made of a tool that is number'],
  [() => new Gate([() => 1]), 'nothing can be made of a tool that is function'],
  [() => new Gate([WEATHER, WEATHER]), 'tool-name-taken'],
  [() => new Gate(null, { partial: 'all-or-nothing', release: 'early' }), 'early-release'],
  [() => new Response(), 'what a gate made of one'],
  [() => Response.collect([1]), 'an event must be an Event, not number'],
  [() => Response.fromJsonText('{}'), 'this is no response'],
  [() => Event.fromJsonText('{}'), 'this is no event'],
  [() => dialects.parse('[x'), 'bad-dialect'],
  [() => dialects.get(3), 'name must be a string'],
  [() => repair(3), 'text must be a string or Uint8Array, not number'],
  [() => repair('{', { depth: -1 }), 'depth must be a number'],
];

test('mistakes are told', () => {
  for (const [act, message] of mistakes) {
    assert.throws(act, (error) => {
      assert(error instanceof CallgateError, `${act}: ${error?.stack}`);
      assert.match(error.message, new RegExp(message), String(act));
      return error.code.length > 2 && error.help.length > 5;
    }, String(act));
  }
});

test('lone surrogates are told with their place', () => {
  const acts = [
    (text) => gate.parse(text),
    (text) => gate.session().push(text),
    (text) => gate.session().pushSpecial(text),
    (text) => gate.session().reasoning(text),
    (text) => repair(text),
    (text) => gate.parseMany([text]),
    (text) => gate.session().native({ arguments: text }),
  ];
  for (const act of acts) {
    assert.throws(() => act(`ab${HALF}c`), { code: 'lone-surrogate', message: /character 2/ });
    assert.throws(() => act('ab\udc80'), { code: 'lone-surrogate' });
  }
  assert.throws(() => new Gate([{ name: HALF, parameters: {} }]), { code: 'lone-surrogate' });
  assert.throws(() => new Gate([{ name: 'a', parameters: { [HALF]: 1 } }]), { code: 'lone-surrogate' });
});

test('half a character waits for the other half, and is no text without it', () => {
  const session = gate.session();
  assert.deepEqual(session.push('a\ud83d').map(({ text }) => text), ['a']);
  assert.throws(() => session.push('x'), { code: 'lone-surrogate' });
  assert.deepEqual(session.push('\ude00').map(({ text, charSpan, span }) => [text, charSpan, span]), [['😀', [1, 3], [1, 5]]]);
  session.push('\ud83d');
  assert.throws(() => session.finish('stopp'), { code: 'unknown-finish-reason' });
  assert.deepEqual(session.finish('stop').map(({ text }) => text), ['\ufffd']);
  const mixed = gate.session();
  mixed.push('\ud83d');
  assert.equal(mixed.push(new Uint8Array([97])).map(({ text }) => text).join(''), '\ufffda');
  mixed.push('\ud83d');
  assert.equal(mixed.pushSpecial('b').map(({ text }) => text).join(''), '\ufffdb');
});

test('a finished session says so', () => {
  const session = gate.session();
  assert.deepEqual(session.finish(), []);
  assert(session.closed && !session.isHolding && session.openCall === null && session.completed.length === 0);
  for (const act of [() => session.push('x'), () => session.pushSpecial('x'), () => session.finish(), () => session.native({ name: 'x' }), () => session.reasoning('x'), () => session.untrusted('x')]) {
    assert.throws(act, (error) => error.code === 'session-closed' && error.help.includes('gate.session()'));
  }
});

test('what is looked at may look back', () => {
  // Getters, proxies and toJSON that use the same session while it is fed.
  const session = gate.session();
  const delta = {
    get function() {
      session.push('inside ');
      return { name: 'weather', arguments: '{"city": "Oslo"}' };
    },
  };
  session.native(delta);
  const closing = { toJSON: () => session.finish('stop') && [] };
  assert.throws(() => session.nativeCalls(closing), { code: 'session-closed' });
  const hostile = new Proxy({}, { get: (_, name) => { throw new RangeError(`no ${String(name)}`); }, ownKeys: () => { throw new RangeError('no keys'); } });
  for (const act of [(v) => new Gate(v), (v) => gate.render(v), (v) => gate.parseMany(v), (v) => gate.session().native(v), (v) => gate.parse('x', v), (v) => gate.parse(v)]) {
    assert.throws(() => act(hostile));
  }
  assert.equal(gate.parse('fine').text, 'fine');
});

test('huge strings', () => {
  const text = 'x'.repeat(64 << 20);
  assert.equal(gate.parse(text).text.length, text.length);
  assert.throws(() => gate.parse(`${text}y`), { code: 'too-large', message: /67108865/ });
  assert.throws(() => gate.session().push('é'.repeat(33 << 20)), { code: 'too-large' });
  assert.throws(() => gate.parse(new Uint8Array((64 << 20) + 1)), { code: 'too-large' });
  assert.equal(gate.parse('\0'.repeat(32 << 20)).text.length, 32 << 20);
  const { arguments: most } = gate.policy.limits;
  const [rejected] = gate.parse(hermes('weather', `{"city": "${'y'.repeat(most)}"}`)).rejected;
  assert(rejected.raw.length < rejected.rawLength);
  assert.equal(gate.parse('['.repeat(1_000_000)).calls.length, 0);
  assert.throws(() => repair('['.repeat(1_000_000)), CallgateError);
  assert.throws(() => repair('['.repeat(1_000_000), { depth: 1e9 }), CallgateError);
  let deep = {};
  for (let at = 0; at < 3000; at++) deep = { a: deep };
  assert.throws(() => new Gate([{ name: 'a', parameters: deep }]), CallgateError);
  assert.equal(gate.parse('still here').text, 'still here');
});

test('an instance that is lost is replaced', async () => {
  // Nothing is known that makes the core stop, so it is told that it did.
  const { cross } = await import(new URL('core.js', import.meta.resolve('callgate')));
  const session = gate.session();
  session.push('a');
  const stop = () => {
    throw new WebAssembly.RuntimeError('unreachable');
  };
  assert.throws(() => cross(stop), (error) => error.code === 'core-lost' && error.cause instanceof WebAssembly.RuntimeError);
  assert.throws(() => session.push('b'), { code: 'session-lost' });
  assert.equal(session.isHolding, false);
  session.free();
  assert.equal(gate.parse(hermes('weather', '{"city": "Oslo"}')).calls.length, 1);
  assert.equal(new Gate().parse('c').text, 'c');
});

/** Numbers that are the same in every run. */
function dice(seed) {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end) => Math.floor(next() * end);
  return { below, pick: (list) => list[below(list.length)] };
}

/** Anything that somebody may pass. */
function anything(d, depth = 0) {
  const letters = '<tool_call>{"name": }é\udc80\0[]，😀';
  const text = Array.from({ length: d.below(20) }, () => letters[d.below(letters.length)]).join('');
  const simple = [undefined, null, true, -1, 0, 2 ** 70, 2n ** 70n, 1.5, NaN, text, text, new TextEncoder().encode(text), Symbol('s'), () => 1, Gate, new Date(0), gate, new Map([[text, 1]])];
  const pick = d.below(depth < 3 ? 24 : simple.length);
  if (pick < simple.length) return simple[pick];
  const several = () => Array.from({ length: d.below(4) }, () => anything(d, depth + 1));
  if (pick < 21) return several();
  const keys = ['name', 'function', 'arguments', 'parameters', 'type', 'tools', 'index', 'id', 'choices', 'content', 'tool_calls', 'toJSON', '~standard', text];
  return Object.fromEntries(several().map((value) => [d.pick(keys), value]));
}

test('whatever is passed, only errors come back', async () => {
  const d = dice(17);
  const names = ['model', 'dialect', 'profile', 'strictTools', 'repair', 'maxCalls', 'limits', 'nameRule'];
  const given = ['promptTail', 'finishReason', 'untrusted', 'toolCalls', 'reasoning'];
  let thrown = 0;
  const rounds = 20_000;
  const lines = gate.parse(`é ${hermes('weather', '{"city": 1}')}`).toJsonText();
  for (let round = 0; round < rounds; round++) {
    const value = anything(d);
    const session = gate.session();
    const spoiled = () => {
      const at = d.below(lines.length);
      return lines.slice(0, at) + d.pick(['', '"', '9', '{', '\n', ',']) + lines.slice(at + d.below(3));
    };
    const acts = [
      () => gate.parse(value, { [d.pick(given)]: anything(d) }),
      () => gate.parse('x', value),
      () => session.push(value),
      () => session.native(value),
      () => session.native({ index: value, name: anything(d), arguments: anything(d) }),
      () => session.nativeCalls(value),
      () => session.reasoning(value),
      () => session.finish(value),
      () => [...gate.parseMany(value)],
      () => [...gate.stream(value)],
      () => gate.render(value, d.pick(['hermes', 'glm45', value])),
      () => gate.render([{ name: 'f', arguments: value }], d.pick(dialects.names)),
      () => gate.withTools(value).free(),
      () => new Gate([{ name: 'f', parameters: value }]).free(),
      () => new Gate(value, anything(d)).free(),
      () => new Gate(null, { [d.pick(names)]: value }).free(),
      () => repair(value, { depth: d.pick([0, 1, 128, 2 ** 40]), partial: d.pick([true, false]) }),
      () => dialects.parse(value),
      () => dialects.detect(value),
      () => dialects.forModel(value),
      () => Response.collect(value),
      () => Response.fromJsonText(d.pick([value, spoiled()])),
      () => Event.fromJsonText(value),
      () => gate.feedback(Response.fromJsonText(spoiled())),
    ];
    const act = d.pick(acts);
    try {
      act();
    } catch (error) {
      thrown += 1;
      assert(error instanceof CallgateError, `${act} with ${typeof value}: ${error?.stack}`);
      assert(error.message && error.code && error.code !== 'core-lost', `${act}: ${error.stack}`);
    }
    session.free();
  }
  assert(thrown > rounds / 5 && thrown < rounds, `${thrown}`);
  assert(gate.parse(hermes('weather', '{"city": "Oslo"}')).calls[0] instanceof Call);
});

test('texts like those of models, cut anywhere, never stop the core', () => {
  const d = dice(23);
  const parts = ['<tool_call>', '</tool_call>', '{"name": "weather", "arguments": ', '{"city": "Oslo"}', '}', '<think>', '</think>', '```json\n', '```', '[TOOL_CALLS]', '<|python_tag|>', '<function=weather>', '<parameter=city>', '\\', '"', "'", 'é', '😀', '\0', '[[[[', '}}}}', '1e999', '-', '\n', 'weather', '<|', '|>', '<｜tool▁calls▁begin｜>'];
  const lenient = new Gate([WEATHER], { profile: 'lenient', repair: 'full' });
  for (let round = 0; round < 4000; round++) {
    const bytes = Buffer.from(Array.from({ length: d.below(40) }, () => d.pick(parts)).join(''));
    if (bytes.length && d.below(3) === 0) bytes[d.below(bytes.length)] = d.below(256);
    const session = d.pick([gate, lenient]).session({ promptTail: d.pick(['', '<think>\n', '<tool_call>']) });
    const events = [];
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + d.below(9);
      events.push(...session.push(new Uint8Array(bytes.subarray(at, at + size))));
      at += size;
    }
    events.push(...session.finish(d.pick(['stop', 'length', ''])));
    // Every byte is accounted for once, in order.
    const spans = events.filter(({ type, span }) => span !== null && type !== 'finding').map(({ span }) => span).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let end = 0;
    for (const span of spans) {
      assert.equal(span[0], end);
      end = span[1];
    }
    assert.equal(end, bytes.length);
    for (const call of events.filter((event) => event instanceof Call)) assert.equal(call.name, 'weather');
  }
});

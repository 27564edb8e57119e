// Reploid's three functions do what its document says of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isDone, parseToolCalls, validateToolCall } from 'callgate/reploid';

const args = (text) => parseToolCalls(text).map((call) => call.args);

test('calls are read in order', () => {
  const calls = parseToolCalls('I look.\n\nTOOL_CALL: ReadFile\nARGS: {"path": "/a"}\n\nand\n\nTOOL_CALL:  WriteFile\n\nARGS: {\n  "path": "/b",\n  "content": "const x = { a: { b: true } };"\n}\nbye');
  assert.deepEqual(calls.map(({ name, args, error }) => [name, args, error]), [
    ['ReadFile', { path: '/a' }, undefined],
    ['WriteFile', { path: '/b', content: 'const x = { a: { b: true } };' }, undefined],
  ]);
  for (const nothing of [null, undefined, '', 'TOOL_CALL is a word']) assert.deepEqual(parseToolCalls(nothing), []);
});

test('values keep their types, and strings their braces', () => {
  assert.deepEqual(args('TOOL_CALL: F\nARGS: {"a": {"b": {"c": true}}, "n": null, "i": -3, "f": 1.5, "q": "a \\"quoted\\" }"}'), [
    { a: { b: { c: true } }, n: null, i: -3, f: 1.5, q: 'a "quoted" }' },
  ]);
  assert.deepEqual(args('TOOL_CALL: F\nARGS: {"code": `line "one"\n}two`}'), [{ code: 'line "one"\n}two' }]);
});

test('a broken block has an error, and the good ones stand', () => {
  const calls = parseToolCalls('TOOL_CALL: A\nARGS: {"x": 1}\n\nTOOL_CALL: B\nARGS: {"x": oops}\n\nTOOL_CALL: C\nARGS: {"x": 3}');
  assert.deepEqual(calls.map(({ name, args, error }) => [name, args, Boolean(error)]), [
    ['A', { x: 1 }, false],
    ['B', {}, true],
    ['C', { x: 3 }, false],
  ]);
});

test('tools are checked where there are some', () => {
  const tools = [{ name: 'F', parameters: { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] } }];
  assert.equal(parseToolCalls('TOOL_CALL: F\nARGS: {"x": 1}', { tools })[0].error, undefined);
  assert.match(parseToolCalls('TOOL_CALL: G\nARGS: {"x": 1}', { tools })[0].error, /G/);
  assert.match(parseToolCalls('TOOL_CALL: F\nARGS: {}', { tools })[0].error, /x/);
});

test('the end is said with words, not while calling and never in RSI', () => {
  for (const text of ['DONE', 'All good.\nDONE: it works', 'GOAL_ACHIEVED', 'GOAL_COMPLETE', 'IDLE: nothing to do']) {
    assert.equal(isDone(text), true, text);
    assert.equal(isDone(text, { rsi: true }), false);
  }
  for (const text of [null, undefined, '', 'done', 'not yet', 'DONE\nTOOL_CALL: F\nARGS: {}']) assert.equal(isDone(text), false, text);
});

test('a call is validated', () => {
  const schema = { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'], additionalProperties: false };
  assert.equal(validateToolCall({ name: 'F', args: { x: 1 } }, schema), true);
  assert.equal(validateToolCall({ name: 'F', args: { x: 1 } }, { name: 'F', parameters: schema }), true);
  assert.equal(validateToolCall({ name: 'F', args: { x: 1 } }, [{ name: 'F', parameters: schema }]), true);
  for (const call of [{ name: 'F', args: { x: '1' } }, { name: 'F', args: {} }, { name: 'F', args: { x: 1, y: 2 } }, { name: 'F', args: [] }, { name: 'F', args: { x: 1 }, error: 'no' }, { args: { x: 1 } }]) {
    assert.equal(validateToolCall(call, schema), false, JSON.stringify(call));
  }
  assert.equal(validateToolCall({ name: 'G', args: { x: 1 } }, [{ name: 'F', parameters: schema }]), false);
  assert.throws(() => validateToolCall(3, schema), { code: 'wrong-type' });
});

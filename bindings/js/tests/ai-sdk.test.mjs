// The middleware in the Vercel AI SDK, with the SDK's own mock model: streamed and whole, tools native and in the prompt.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai';
import * as mocks from 'ai/test';
import { z } from 'zod';

import { callgateMiddleware } from 'callgate/ai-sdk';

const Model = mocks.MockLanguageModelV4 ?? mocks.MockLanguageModelV3;
const USAGE = { inputTokens: { total: 3, noCache: 3 }, outputTokens: { total: 5, text: 5 } };
const weather = { weather: tool({ description: 'The weather of a city.', inputSchema: z.object({ city: z.string(), days: z.number().optional() }) }) };
const CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Oslo", "days": "3",}}</tool_call>';

function finish(unified) {
  return { type: 'finish', usage: USAGE, finishReason: { unified, raw: unified } };
}

/** A text as a provider streams it. */
function texts(text, size = 4) {
  const deltas = [];
  for (let at = 0; at < text.length; at += size) deltas.push({ type: 'text-delta', id: '1', delta: text.slice(at, at + size) });
  return [{ type: 'text-start', id: '1' }, ...deltas, { type: 'text-end', id: '1' }];
}

/** A model that says each of these answers in turn, streamed or whole, and keeps what it was asked. */
function saying(...answers) {
  const asked = [];
  const next = (options) => answers[Math.min(asked.push(options), answers.length) - 1];
  const model = new Model({
    doStream: async (options) => ({ stream: mocks.convertArrayToReadableStream([{ type: 'stream-start', warnings: [] }, ...next(options)]) }),
    doGenerate: async (options) => {
      const parts = next(options);
      const { finishReason, usage } = parts.at(-1);
      const text = parts.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta).join('');
      const calls = parts.filter(({ type }) => type === 'tool-call');
      return { content: [...(text ? [{ type: 'text', text }] : []), ...calls], finishReason, usage, warnings: [] };
    },
  });
  return { model, asked };
}

function wrapped(model, options) {
  return wrapLanguageModel({ model, middleware: callgateMiddleware(options) });
}

/** The parts that come out of a wrapped model, as the SDK gets them. */
async function parts(model, options, tools = weather) {
  const list = Object.entries(tools).map(([name, { inputSchema }]) => ({ type: 'function', name, inputSchema: z.toJSONSchema(inputSchema) }));
  const { stream } = await wrapped(model, options).doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'Weather?' }] }], tools: list });
  return mocks.convertReadableStreamToArray(stream);
}

test('a call in the text comes out in the order of the SDK', async () => {
  const { model } = saying([...texts(`On it. ${CALL} Bye.`), finish('stop')]);
  const out = await parts(model);
  const kinds = out.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
  assert.deepEqual(kinds, ['stream-start', 'text-start', 'text-delta', 'text-end', 'tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'finish']);
  assert.equal(out.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta).join(''), 'On it. Bye.');
  const call = out.find(({ type }) => type === 'tool-call');
  assert.deepEqual([call.toolName, JSON.parse(call.input)], ['weather', { city: 'Oslo', days: 3 }]);
  const ids = out.filter(({ type }) => type.startsWith('tool-input')).map(({ id }) => id);
  assert.deepEqual(new Set(ids), new Set([call.toolCallId]));
  assert.deepEqual(out.at(-1).finishReason, { unified: 'tool-calls', raw: 'stop' });
});

test('the SDK runs what was judged, streamed and whole', async () => {
  for (const run of [streamText, generateText]) {
    for (const way of ['native', 'prompt']) {
      const ran = [];
      const tools = { weather: tool({ ...weather.weather, execute: async (input) => (ran.push(input), 'rain') }) };
      const { model, asked } = saying([...texts(`On it. ${CALL}`), finish('stop')], [...texts('It rains in Oslo.'), finish('stop')]);
      const result = await run({ model: wrapped(model, { tools: way, dialect: 'hermes' }), tools, prompt: 'Weather?', stopWhen: stepCountIs(3) });
      assert.equal(await result.text, 'It rains in Oslo.');
      assert.deepEqual(ran, [{ city: 'Oslo', days: 3 }]);
      const steps = await result.steps;
      assert.deepEqual(steps.map(({ finishReason }) => finishReason), ['tool-calls', 'stop']);
      assert.equal(steps[0].text.trim(), 'On it.');
      assert.equal(asked.length, 2);
      assert.equal(Boolean(asked[0].tools), way === 'native');
      if (way === 'prompt') {
        const [system, , said, result] = asked[1].prompt;
        assert.match(system.content, /weather[\s\S]*city/);
        assert.match(said.content[0].text, /On it\.[\s\S]*<tool_call>[\s\S]*"Oslo"/);
        assert.deepEqual(result, { role: 'user', content: [{ type: 'text', text: 'Result of weather:\nrain' }] });
      }
    }
  }
});

test('structured calls are repaired and checked', async () => {
  const call = { type: 'tool-call', toolCallId: 'abc', toolName: 'weather', input: '{"town": "Oslo"}' };
  const answer = [
    { type: 'tool-input-start', id: 'abc', toolName: 'weather' },
    { type: 'tool-input-delta', id: 'abc', delta: call.input },
    { type: 'tool-input-end', id: 'abc' },
    call,
    finish('tool-calls'),
  ];
  const rejected = [];
  const strict = await parts(saying(answer).model, { onRejected: (one) => rejected.push(one.code) });
  assert.deepEqual(strict.map(({ type }) => type), ['stream-start', 'finish']);
  assert.equal(rejected.length, 1);
  const good = [{ ...call, input: '{"city": "Oslo", "days": "3",}' }, finish('tool-calls')];
  const out = await parts(saying(good).model);
  assert.deepEqual(out.slice(1).map(({ type }) => type), ['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'finish']);
  assert.deepEqual([out[4].toolCallId, out[4].input], ['abc', '{"city": "Oslo", "days": 3}']);
});

test('what is rejected never runs, and is told', async () => {
  const ran = [];
  const tools = { weather: tool({ ...weather.weather, execute: async (input) => ran.push(input) }) };
  const bad = [...texts('<tool_call>{"name": "weather", "arguments": {"town": "Oslo"}}</tool_call>'), finish('stop')];
  for (const run of [streamText, generateText]) {
    const result = await run({ model: wrapped(saying(bad).model), tools, prompt: 'Weather?', stopWhen: stepCountIs(3) });
    assert.equal(await result.finishReason, 'error');
    const { callgate } = await result.providerMetadata;
    assert.equal(callgate.rejected[0].name, 'weather');
    assert.match(callgate.feedback, /city/);
    // Asked again, with what was wrong, within the same step.
    const { model, asked } = saying(bad, [...texts(CALL), finish('stop')], [...texts('Rain.'), finish('stop')]);
    const seen = [];
    const retried = await run({ model: wrapped(model, { retries: 1, onRejected: (one) => seen.push(one.code) }), tools, prompt: 'Weather?', stopWhen: stepCountIs(3) });
    assert.equal(await retried.text, 'Rain.');
    const steps = await retried.steps;
    assert.equal(steps.length, 2);
    assert.equal(steps[0].usage.outputTokens, 10);
    assert.equal(seen.length, 1);
    assert.match(asked[1].prompt.at(-1).content[0].text, /city/);
  }
  assert.equal(ran.length, 2);
});

test('a call that was cut off does not run', async () => {
  const out = await parts(saying([...texts(CALL.slice(0, 60)), finish('length')]).model);
  assert(!out.some(({ type }) => type === 'tool-call'));
  assert.equal(out.at(-1).finishReason.unified, 'length');
});

test('reasoning in the text is reasoning, and other parts pass', async () => {
  const source = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' };
  const provided = { type: 'tool-call', toolCallId: 'p', toolName: 'web', input: '{}', providerExecuted: true };
  const thought = [{ type: 'reasoning-start', id: 'r' }, { type: 'reasoning-delta', id: 'r', delta: 'hm' }, { type: 'reasoning-end', id: 'r' }];
  const out = await parts(saying([...thought, ...texts(`<think>I think.</think>Hello ${CALL}`), source, provided, finish('stop')]).model, { dialect: 'hermes' });
  const kinds = out.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
  assert.deepEqual(kinds, [
    'stream-start', 'reasoning-start', 'reasoning-delta', 'reasoning-end', 'reasoning-start', 'reasoning-delta', 'reasoning-end',
    'text-start', 'text-delta', 'text-end', 'source', 'tool-call', 'tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'finish',
  ]);
  assert(out.includes(source) || out.some(({ id }) => id === 's'));
  assert.equal(out.find(({ toolName }) => toolName === 'web').input, '{}');
});

test('without tools nothing is touched', async () => {
  const answer = [...texts(CALL), finish('stop')];
  const out = await parts(saying(answer).model, {}, {});
  assert.equal(out.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta).join(''), CALL);
});

test('a reader that stops early stops the model', async () => {
  let cancelled = false;
  const stream = new ReadableStream({
    pull: (controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: 'word ' }),
    cancel: () => void (cancelled = true),
  });
  const model = wrapped(new Model({ doStream: async () => ({ stream }) }));
  const result = await model.doStream({ prompt: [], tools: [{ type: 'function', name: 'f', inputSchema: { type: 'object' } }] });
  const reader = result.stream.getReader();
  await reader.read();
  await reader.cancel();
  assert(cancelled);
});

test('mistakes are told at once', () => {
  assert.throws(() => callgateMiddleware({ tools: 'both' }), { code: 'unknown-option' });
  assert.throws(() => callgateMiddleware({ retries: -1 }), { code: 'wrong-type' });
  assert.throws(() => callgateMiddleware({ dialect: 'nobody' }), { code: 'unknown-dialect' });
  assert.throws(() => callgateMiddleware(3), { code: 'wrong-type' });
});

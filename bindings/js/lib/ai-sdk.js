// The Vercel AI SDK: middleware for `wrapLanguageModel`, so that only judged calls reach the tools of a program.

import { CallgateError, wrongType } from './errors.js';
import { Gate } from './gate.js';
import { Response } from './events.js';

/** The words of the SDK for how a response ended, as providers say them. */
const REASONS = { stop: 'stop', length: 'length', 'tool-calls': 'tool_calls', 'content-filter': 'content_filter', error: 'error' };

/**
 * Middleware that reads calls out of what a model says and judges them.
 *
 * With `tools: 'native'` the provider is given the tools, and what it says are calls is repaired and checked; with
 * `tools: 'prompt'` they are written into the prompt in a dialect, for models and servers that know no tools. Calls that
 * stand in the text are read in both. All other options are those of a gate.
 */
export function callgateMiddleware(given = {}) {
  if (typeof given !== 'object' || given === null) throw wrongType(given, 'options', 'an object');
  const { tools: way = 'native', retries = 0, onRejected, ...rest } = given;
  if (way !== 'native' && way !== 'prompt') {
    throw new CallgateError('unknown-option', `tools cannot be \`${String(way)}\``, 'there are `native` and `prompt`');
  }
  if (!Number.isInteger(retries) || retries < 0) throw wrongType(retries, 'retries', 'a whole number');
  if (onRejected !== undefined && typeof onRejected !== 'function') throw wrongType(onRejected, 'onRejected', 'a function');
  // Says at once what is wrong with the others. Schemas come from the SDK, which is not the program's mistake.
  const base = new Gate(null, { strictTools: false, ...rest });
  /** The gate of each request, by the parameters that were made for it. */
  const gates = new WeakMap();

  return {
    specificationVersion: 'v3',

    async transformParams({ params }) {
      const own = (params.tools ?? []).filter((tool) => tool.type === 'function');
      if (own.length === 0 || params.toolChoice?.type === 'none') return params;
      const gate = base.withTools(own.map(({ name, description, inputSchema }) => ({ name, description: description ?? '', parameters: inputSchema })));
      const made = way === 'native' ? { ...params } : inPrompt(params, gate, rest.dialect);
      gates.set(made, { gate, names: new Set(own.map(({ name }) => name)) });
      return made;
    },

    async wrapGenerate({ doGenerate, params, model }) {
      const kept = gates.get(params);
      if (!kept) return doGenerate();
      let result = await doGenerate();
      let asked = params;
      let usage = result.usage;
      for (let left = retries; ; left--) {
        const reader = new Reader(kept);
        const parts = [...result.content.flatMap(asParts).flatMap((part) => reader.read(part)), ...reader.end(result.finishReason)];
        reader.report(onRejected);
        if (left === 0 || !reader.feedback) {
          const metadata = reader.metadata(result.providerMetadata);
          return { ...result, usage, content: asContent(parts), finishReason: reader.reason, ...(metadata && { providerMetadata: metadata }) };
        }
        asked = again(asked, reader);
        result = await model.doGenerate(asked);
        usage = sum(usage, result.usage);
      }
    },

    async wrapStream({ doStream, params, model }) {
      const kept = gates.get(params);
      if (!kept) return doStream();
      const first = await doStream();
      const source = read(first.stream, { kept, params, model, retries, onRejected });
      const stream = new ReadableStream({
        async pull(controller) {
          const { done, value } = await source.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await source.return();
        },
      });
      return { ...first, stream };
    },
  };
}

/** The parts of a stream, judged; a response of which nothing stood is asked for again. */
async function* read(stream, { kept, params, model, retries, onRejected }) {
  let asked = params;
  let usage;
  for (let left = retries, current = stream; ; left--) {
    const reader = new Reader(kept);
    let finish;
    try {
      for await (const part of pulled(current)) {
        if (part.type === 'finish') finish = part;
        // The second answer belongs to the same step.
        else if (left === retries || (part.type !== 'stream-start' && part.type !== 'response-metadata')) yield* reader.read(part);
      }
      yield* reader.end(finish?.finishReason);
    } finally {
      reader.free();
    }
    usage = sum(usage, finish?.usage);
    reader.report(onRejected);
    if (left === 0 || !reader.feedback) {
      if (!finish) return;
      const metadata = reader.metadata(finish.providerMetadata);
      yield { ...finish, usage, finishReason: reader.reason, ...(metadata && { providerMetadata: metadata }) };
      return;
    }
    asked = again(asked, reader);
    current = (await model.doStream(asked)).stream;
  }
}

async function* pulled(stream) {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const next = await reader.read();
      if (next.done) break;
      yield next.value;
    }
    isDone = true;
  } finally {
    if (!isDone) await reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}

/** The number of the next block: those of a second answer belong to the same step. */
let blocks = 0;

/** Reads the parts of one response and writes those of the judged one, in the order of the SDK. */
class Reader {
  #session;
  #gate;
  #names;
  #events = [];
  /** The block that is open: `text` or `reasoning`, and its id. */
  #open;
  #calls = 0;
  /** The ids of inputs that come again, judged. */
  #own = new Set();
  /** What the provider said about the text that is coming. */
  #about;

  constructor({ gate, names }) {
    this.#gate = gate;
    this.#names = names;
    this.#session = gate.session({ idPrefix: `call_${Math.random().toString(36).slice(2, 10)}_` });
  }

  free() {
    this.#session.free();
  }

  /** The parts that come of a part. */
  read(part) {
    switch (part.type) {
      case 'text-start':
        this.#about = part.providerMetadata;
        return [];
      case 'text-delta':
        return this.#written(this.#session.push(part.delta));
      case 'text-end':
        return this.#session.isHolding ? [] : this.#close();
      case 'tool-input-start':
        if (this.#isOwn(part.toolName, part)) {
          this.#own.add(part.id);
          return [];
        }
        return [...this.#close(), part];
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#own.has(part.id) ? [] : [part];
      case 'tool-call':
        if (!this.#isOwn(part.toolName, part)) return [...this.#close(), part];
        return this.#written(
          this.#session.native({ index: this.#calls++, id: part.toolCallId, name: part.toolName, arguments: part.input, done: true }),
        );
      case 'reasoning-start':
      case 'file':
      case 'source':
      case 'tool-result':
        return [...this.#close(), part];
      default:
        return [part];
    }
  }

  /** Whether a call is to be judged here: not one that the provider runs, nor one of a tool that only it knows. */
  #isOwn(name, part) {
    return !part.providerExecuted && (this.#names.has(name) || !part.dynamic);
  }

  /** What comes at the end. */
  end(reason) {
    const unified = typeof reason === 'string' ? reason : reason?.unified;
    const word = REASONS[unified] ?? '';
    const parts = [...this.#written(this.#session.finish(word)), ...this.#close()];
    this.response = Response.collect(this.#events, word);
    this.reason = this.#reason(reason, unified);
    this.feedback = this.response.calls.length === 0 && this.response.rejected.length > 0 ? this.#gate.feedback(this.response) : undefined;
    return parts;
  }

  /** A call that stands is why a response ended; one of which nothing stood has failed. */
  #reason(reason, unified) {
    let word = unified;
    if (this.response.calls.length > 0) word = this.response.finishReason === 'length' ? 'length' : 'tool-calls';
    else if (this.response.rejected.length > 0 && (unified === 'tool-calls' || unified === 'stop')) word = 'error';
    else if (unified === 'tool-calls' && this.#calls > 0) word = 'stop';
    return typeof reason === 'string' ? word : { raw: undefined, ...reason, unified: word ?? 'other' };
  }

  report(onRejected) {
    if (onRejected) for (const rejected of this.response.rejected) onRejected(rejected, this.feedback);
  }

  /** What was rejected, for the program; nothing if there is nothing to tell. */
  metadata(given) {
    const { rejected } = this.response;
    if (rejected.length === 0) return given;
    const told = rejected.map(({ name, code, raw, findings }) => ({ name, code, raw, message: findings[0]?.message ?? '' }));
    return { ...given, callgate: { rejected: told, ...(this.feedback && { feedback: this.feedback }) } };
  }

  #written(events) {
    this.#events.push(...events);
    return events.flatMap((event) => {
      switch (event.type) {
        case 'text':
          return this.#said('text', event.text);
        case 'reasoning':
          return this.#said('reasoning', event.text);
        case 'call':
          return [...this.#close(), ...called(event)];
        default:
          return [];
      }
    });
  }

  #said(kind, delta) {
    const parts = [];
    if (this.#open?.kind !== kind) {
      parts.push(...this.#close());
      this.#open = { kind, id: `callgate-${blocks++}` };
      parts.push({ type: `${kind}-start`, id: this.#open.id, ...(this.#about && { providerMetadata: this.#about }) });
    }
    parts.push({ type: `${kind}-delta`, id: this.#open.id, delta });
    return parts;
  }

  #close() {
    if (!this.#open) return [];
    const { kind, id } = this.#open;
    this.#open = undefined;
    return [{ type: `${kind}-end`, id }];
  }
}

function called(call) {
  const { id, name, argumentsJson } = call;
  return [
    { type: 'tool-input-start', id, toolName: name },
    { type: 'tool-input-delta', id, delta: argumentsJson },
    { type: 'tool-input-end', id },
    { type: 'tool-call', toolCallId: id, toolName: name, input: argumentsJson },
  ];
}

/** A part of a whole answer, as a stream would have it. */
function asParts(content, at) {
  if (content.type !== 'text') return [content];
  const id = `given-${at}`;
  return [
    { type: 'text-start', id, ...(content.providerMetadata && { providerMetadata: content.providerMetadata }) },
    { type: 'text-delta', id, delta: content.text },
    { type: 'text-end', id },
  ];
}

/** The parts of a stream as those of a whole answer. */
function asContent(parts) {
  const content = [];
  for (const part of parts) {
    const [, kind, place] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    if (kind === undefined) content.push(part);
    else if (kind === 'tool-input' || place === 'end') continue;
    else if (place === 'start') content.push({ type: kind, text: '', ...(part.providerMetadata && { providerMetadata: part.providerMetadata }) });
    else content.at(-1).text += part.delta;
  }
  return content;
}

/** The request that asks again: what the model said, and what was wrong with it. */
function again(params, { response, feedback }) {
  const said = [response.text, ...response.rejected.map(({ raw }) => raw)].filter(Boolean).join('\n');
  const prompt = [
    ...params.prompt,
    { role: 'assistant', content: [{ type: 'text', text: said }] },
    { role: 'user', content: [{ type: 'text', text: feedback }] },
  ];
  return { ...params, prompt };
}

/** The tokens of two answers together. */
function sum(one, other) {
  if (one === undefined || one === null) return other;
  if (typeof one === 'number') return one + (typeof other === 'number' ? other : 0);
  if (typeof one !== 'object' || typeof other !== 'object' || other === null) return one;
  return Object.fromEntries([...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => [key, sum(one[key], other[key])]));
}

/** The request of a program whose provider knows no tools: they, calls and results stand in the prompt. */
function inPrompt(params, gate, dialect) {
  const { tools, toolChoice, ...rest } = params;
  const written = Array.isArray(dialect) ? dialect[0] : dialect;
  const own = written === 'auto' || written === 'native' ? undefined : written;
  const must =
    toolChoice?.type === 'required' ? '\n\nYou must call one of the tools now.' : toolChoice?.type === 'tool' ? `\n\nYou must call ${toolChoice.toolName} now.` : '';
  const lesson = gate.prompt(own) + must;
  const provided = (tools ?? []).filter((tool) => tool.type !== 'function');
  const at = params.prompt.findIndex((message) => message.role === 'system');
  const prompt = params.prompt.map((message, index) => {
    if (index === at) return { ...message, content: `${message.content}\n\n${lesson}` };
    if (message.role === 'assistant') return { ...message, content: saidBefore(message.content, gate, own) };
    if (message.role === 'tool') return { role: 'user', content: [{ type: 'text', text: message.content.map(resultText).filter(Boolean).join('\n\n') }] };
    return message;
  });
  if (at < 0) prompt.unshift({ role: 'system', content: lesson });
  return { ...rest, ...(provided.length > 0 && { tools: provided }), prompt: inTurns(prompt) };
}

/** Messages of the user that follow each other as one: many templates want user and model to take turns. */
function inTurns(prompt) {
  const turns = [];
  for (const message of prompt) {
    const last = turns.at(-1);
    if (message.role === 'user' && last?.role === 'user') turns[turns.length - 1] = { ...last, content: [...last.content, ...message.content] };
    else turns.push(message);
  }
  return turns;
}

/** What the model said before, with calls as it would write them. */
function saidBefore(content, gate, dialect) {
  const isCall = (part) => part.type === 'tool-call' && !part.providerExecuted;
  const calls = content.filter(isCall).map(({ toolCallId, toolName, input }) => ({ id: toolCallId, name: toolName, arguments: input ?? {} }));
  if (calls.length === 0) return content;
  const others = content.filter((part) => !isCall(part));
  const text = others.filter((part) => part.type === 'text').map((part) => part.text).join('');
  return [...others.filter((part) => part.type !== 'text'), { type: 'text', text: gate.render(calls, dialect, { text: text || undefined }) }];
}

/** The result of a tool as text, as the gateway writes it. */
function resultText({ type, toolName, output }) {
  if (type !== 'tool-result') return '';
  const { value, reason } = output;
  const shown = {
    text: () => value,
    'error-text': () => value,
    'execution-denied': () => `not run: ${reason ?? 'it was denied'}`,
    content: () => value.map((part) => (part.type === 'text' ? part.text : `[${part.mediaType ?? part.type}]`)).join('\n'),
  }[output.type];
  return `Result of ${toolName}:\n${shown ? shown() : JSON.stringify(value)}`;
}

// The gate and its sessions: what is given is checked here, read by the core, and comes back as objects.

import { CallgateError, bytes, options, optionalText, text, wrongType } from './errors.js';
import { Response, events } from './events.js';
import { cross, generation } from './core.js';
import { camel, encode, snake } from './json.js';
import { Dialect, callsJson } from './dialects.js';
import { EventStream } from './stream.js';
import { toolsJson } from './tools.js';

const NAMED = ['model', 'dialect', 'profile', 'strictTools'];
const GIVEN = ['promptTail', 'finishReason', 'untrusted'];

/** A compiled gate: tools, dialects and policy. Share it; make one session for each response. */
export class Gate {
  #core;
  #generation;
  #spec;
  #tools;

  /** Compiles a gate. Every knob of the policy is an option. */
  constructor(tools, given) {
    this.#spec = given instanceof Gate ? given.#spec : spec(given);
    this.#tools = toolsJson(tools);
    this.#make();
  }

  #make() {
    this.#core = cross((core) => named(() => new core.Gate(this.#spec, this.#tools)));
    this.#generation = generation;
  }

  /** The gate in the core. Should the core have stopped, it is made anew. */
  #held() {
    if (this.#core === undefined) throw new CallgateError('gate-freed', 'this gate was freed', 'make a new one: new Gate(tools)');
    if (this.#generation !== generation) this.#make();
    return this.#core;
  }

  /** The same gate for another tool list. The compiled dialects are shared. */
  withTools(tools) {
    this.#held();
    return new Gate(tools, this);
  }

  /** Reads a whole response: text, or bytes. */
  parse(value, given) {
    const json = given === undefined ? undefined : setting(options(given, [...GIVEN, 'toolCalls', 'reasoning']));
    // Only now: what was looked at may have freed it.
    const held = this.#held();
    if (typeof value === 'string') return new Response(cross(() => held.parse(text(value, 'text'), json)));
    if (value instanceof Uint8Array) return new Response(cross(() => held.parse_bytes(bytes(value, 'text'), json)));
    throw wrongType(value, 'text', 'a string or Uint8Array');
  }

  /** Reads many whole responses: a list gives a list, an iterator an iterator. */
  parseMany(texts, given) {
    if (typeof texts?.[Symbol.iterator] !== 'function' || typeof texts === 'string' || ArrayBuffer.isView(texts)) {
      throw wrongType(texts, 'texts', 'a list or iterator of strings');
    }
    const { promptTail, finishReason, ...rest } = options(given, GIVEN);
    const at = (value, name) => {
      if (!Array.isArray(value)) return () => value;
      const count = Array.isArray(texts) ? texts.length : undefined;
      if (value.length === count) return (index) => value[index];
      const help = 'give one for all, or one for each text of a list';
      throw new CallgateError('wrong-count', `${name} has ${value.length} values for ${count ?? 'an iterator of'} texts`, help);
    };
    const tail = at(promptTail, 'promptTail');
    const reason = at(finishReason, 'finishReason');
    const read = (one, index) => {
      if (typeof one !== 'string' && !(one instanceof Uint8Array)) throw wrongType(one, `texts[${index}]`, 'a string or Uint8Array');
      return this.parse(one, { ...rest, promptTail: tail(index), finishReason: reason(index) });
    };
    if (Array.isArray(texts)) return texts.map(read);
    return (function* responses() {
      let index = 0;
      for (const one of texts) yield read(one, index++);
    })();
  }

  /** A session for one response. */
  session(given) {
    const json = given === undefined ? undefined : setting(options(given, ['promptTail', 'untrusted', 'idPrefix']));
    const held = this.#held();
    return new Session(SECRET, cross(() => held.session(json)));
  }

  /** The events of a response whose chunks come one by one: a ReadableStream, or anything that can be iterated. */
  stream(chunks, given) {
    const { finishReason, ...rest } = options(given, GIVEN);
    optionalText(finishReason, 'finishReason');
    return new EventStream(() => this.session(rest), chunks, finishReason);
  }

  /** The message that tells the model what to correct; `undefined` if there is nothing. */
  feedback(response) {
    const [json, isKnown] = Response.given(response);
    const held = this.#held();
    return cross(() => held.feedback(json, isKnown));
  }

  /** Whether the model says that it is done, in a profile that has words for it. */
  isDone(response) {
    const [json, isKnown] = Response.given(response);
    const held = this.#held();
    return cross(() => held.is_done(json, isKnown));
  }

  /** Writes calls as a model would: in this dialect, else in the one that the gate was given, else in the profile's. */
  render(calls, dialect, given) {
    const { text: said, reasoning } = options(given, ['text', 'reasoning']);
    const [json, named] = [callsJson(calls), which(dialect)];
    const [words, thought] = [optionalText(said, 'text'), optionalText(reasoning, 'reasoning')];
    const held = this.#held();
    return cross(() => held.render(json, named, words, thought));
  }

  /** The section of a system prompt that teaches a model these tools. */
  prompt(dialect) {
    const named = which(dialect);
    const held = this.#held();
    return cross(() => held.prompt(named));
  }

  /** Whether nothing may be guessed about calls of this tool, and a host should ask before it runs one. */
  isDangerous(name) {
    const held = this.#held();
    return cross(() => held.is_dangerous(text(name, 'name')));
  }

  #info() {
    const held = this.#held();
    return JSON.parse(cross(() => held.info()));
  }

  /** The tool list in OpenAI's form; `null` without one. */
  get tools() {
    return this.#info().tools;
  }

  /** What was forgiven in the tool list, where `strictTools` is off. */
  get notes() {
    return this.#info().notes;
  }

  /** The names of the dialects whose calls are live. */
  get dialects() {
    return this.#info().dialects;
  }

  get profile() {
    return this.#info().profile;
  }

  /** Every knob with its position. */
  get policy() {
    const named = (value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [camel(name), named(inner)]));
    };
    return named(this.#info().policy);
  }

  /** Gives its memory back now; without that it happens when nobody holds it any more. */
  free() {
    if (this.#generation === generation) this.#core?.free();
    this.#core = undefined;
  }
}

/** Options as the core takes them: those with a meaning of their own, and knobs. */
function spec(given) {
  if (given !== undefined && given !== null && (typeof given !== 'object' || Array.isArray(given))) throw wrongType(given, 'options', 'an object');
  const { model, dialect, profile, strictTools = true } = given ?? {};
  if (typeof strictTools !== 'boolean') throw wrongType(strictTools, 'strictTools', 'a boolean');
  const knobs = {};
  for (const [name, value] of Object.entries(given ?? {})) {
    if (!NAMED.includes(name) && value !== undefined) knobs[snake(name)] = inner(value);
  }
  const several = Array.isArray(dialect) ? dialect : dialect === undefined || dialect === null ? [] : [dialect];
  return encode(
    {
      strict_tools: strictTools,
      model: optionalText(model, 'model') ?? null,
      dialects: several.map(Dialect.named),
      profile: optionalText(profile, 'profile') ?? null,
      knobs,
    },
    'options',
  );
}

/** The members of a knob that has several. */
function inner(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snake(name), member]));
}

/** Errors name knobs as the core does; here they have the names of options. */
function named(make) {
  try {
    return make();
  } catch (thrown) {
    if (typeof thrown !== 'string' || !thrown.includes('_')) throw thrown;
    const told = JSON.parse(thrown);
    if (told.code !== 'unknown-knob') throw thrown;
    const words = (said) => said.replace(/\b[a-z]+(_[a-z]+)+\b/g, camel);
    throw JSON.stringify({ ...told, message: words(told.message), help: words(told.help) });
  }
}

function which(dialect) {
  return dialect === undefined || dialect === null ? undefined : Dialect.spec(dialect);
}

/** What comes with a response, as the core takes it. */
function setting(given) {
  const { promptTail, finishReason, untrusted, toolCalls, reasoning, idPrefix } = given;
  const isList = Array.isArray(untrusted);
  if (untrusted !== undefined && untrusted !== null && !isList && typeof untrusted !== 'string') {
    throw wrongType(untrusted, 'untrusted', 'a string or a list of strings');
  }
  return JSON.stringify({
    prompt_tail: optionalText(promptTail, 'promptTail'),
    finish_reason: optionalText(finishReason, 'finishReason'),
    untrusted: (isList ? untrusted : [untrusted]).filter((one) => isList || one).map((one) => text(one, 'untrusted')),
    tool_calls: toolCalls === undefined || toolCalls === null ? undefined : encode(toolCalls, 'toolCalls'),
    reasoning: optionalText(reasoning, 'reasoning'),
    id_prefix: optionalText(idPrefix, 'idPrefix'),
  });
}

const SECRET = Symbol('made by a gate');

/** The reading of one response. Calls come out of `finish`. */
export class Session {
  #core;
  #generation = generation;
  /** The first half of a character whose second one is still to come. */
  #half = '';

  constructor(secret, core) {
    if (secret !== SECRET) throw new CallgateError('wrong-type', 'a session is made by a gate', 'call gate.session()');
    this.#core = core;
  }

  #held() {
    if (this.#core === undefined) {
      throw new CallgateError('session-closed', 'this session is finished', 'make a session for each response: gate.session()');
    }
    if (this.#generation !== generation) {
      throw new CallgateError('session-lost', 'the core stopped, and what this session had read is gone', 'read the response anew: gate.session()');
    }
    return this.#core;
  }

  /** Reads a chunk of text or bytes, cut anywhere, even inside a character. */
  push(chunk) {
    const held = this.#held();
    if (typeof chunk === 'string') {
      const [whole, half] = this.#joined(chunk);
      const said = cross(() => held.push(whole));
      this.#half = half;
      return events(said);
    }
    if (chunk instanceof Uint8Array) {
      const checked = bytes(chunk, 'chunk');
      return [...this.#flush(), ...events(cross(() => held.push_bytes(checked)))];
    }
    throw wrongType(chunk, 'chunk', 'a string or Uint8Array');
  }

  /** A chunk with the half that came before it and without the half that it ends with. */
  #joined(chunk) {
    const last = chunk.charCodeAt(chunk.length - 1);
    if (this.#half === '' && !(last >= 0xd800 && last <= 0xdbff)) return [text(chunk, 'chunk'), ''];
    const all = this.#half + chunk;
    const cut = last >= 0xd800 && last <= 0xdbff ? all.length - 1 : all.length;
    return [text(all.slice(0, cut), 'chunk'), all.slice(cut)];
  }

  /** What never became a character is no text; bytes that end so are read the same way. */
  #flush() {
    if (this.#half === '') return [];
    this.#half = '';
    const held = this.#held();
    return events(cross(() => held.push('\ufffd')));
  }

  /**
   * Reads text that came as special tokens of the model's vocabulary. With `special: 'required'` markers that are such tokens
   * count only here.
   */
  pushSpecial(value) {
    this.#held();
    const token = text(value, 'text');
    // No token ends what another began.
    const last = this.#flush();
    const held = this.#held();
    return [...last, ...events(cross(() => held.push_special(token)))];
  }

  /** Reads one delta of a structured provider call: as OpenAI writes it, or flat. */
  native(delta) {
    const json = deltaJson(delta);
    // Only now: what was looked at may have finished it.
    const held = this.#held();
    return events(cross(() => held.native(json)));
  }

  /** Reads a whole list of structured provider calls, as OpenAI and Ollama write it: a list, or its JSON text. */
  nativeCalls(calls) {
    const json = encode(calls, 'calls');
    const held = this.#held();
    return events(cross(() => held.native_calls(json)));
  }

  /** Passes on reasoning that the provider sent apart from the text. */
  reasoning(value) {
    const held = this.#held();
    return events(cross(() => held.reasoning(text(value, 'text'))));
  }

  /** Gives text of the conversation that is not to be trusted: a call that it holds is an echo. */
  untrusted(value) {
    const held = this.#held();
    cross(() => held.untrusted(text(value, 'text')));
  }

  /** Ends the response: what was held comes out, then every call and rejection. `reason` is the provider's word. */
  finish(reason) {
    const held = this.#held();
    const word = optionalText(reason, 'finishReason') ?? '';
    if (this.#half !== '') cross((core) => core.check_reason(word));
    const last = this.#flush();
    const said = cross(() => held.finish(word));
    this.free();
    return [...last, ...events(said)];
  }

  /** Whether the response is finished, so that nothing more can be fed. */
  get closed() {
    return this.#core === undefined;
  }

  #open() {
    return this.#core === undefined || this.#generation !== generation ? undefined : this.#core;
  }

  /** Whether text is held back because it may become a call. */
  get isHolding() {
    return this.#open()?.is_holding() ?? false;
  }

  /** Whether a call is being read. */
  get isCalling() {
    return this.#open()?.is_calling() ?? false;
  }

  /** The name of the call that is being read, as far as it is known. */
  get openCall() {
    return this.#open()?.open_call() ?? null;
  }

  /** The names of the calls whose end has been seen, in order, until the response is finished. */
  get completed() {
    return JSON.parse(this.#open()?.completed() ?? '[]');
  }

  /** Gives its memory back now; without that it happens when nobody holds it any more. */
  free() {
    if (this.#generation === generation) this.#core?.free();
    this.#core = undefined;
  }
}

/** A delta in OpenAI's form, `{ index, id, function: { name, arguments } }`, or flat. */
function deltaJson(delta) {
  if (typeof delta !== 'object' || delta === null || Array.isArray(delta)) {
    throw wrongType(delta, 'delta', 'an object with `index`, `id` and `function`');
  }
  const { index, id, done = false } = delta;
  const inner = typeof delta.function === 'object' && delta.function !== null ? delta.function : delta;
  if (index !== undefined && index !== null && !(Number.isInteger(index) && index >= 0 && index < 2 ** 32)) {
    throw wrongType(index, 'index', 'a whole number');
  }
  return JSON.stringify({
    index: index ?? null,
    id: optionalText(id, 'id') ?? null,
    name: optionalText(inner.name, 'name') ?? null,
    arguments: optionalText(inner.arguments, 'arguments') ?? null,
    done: Boolean(done),
  });
}

if (Symbol.dispose) {
  for (const held of [Gate, Session]) held.prototype[Symbol.dispose] = held.prototype.free;
}

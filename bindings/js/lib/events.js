// Events: what the core says, as objects. The class of an event, and its `type`, say which it is.

import { CallgateError, optionalText, text, wrongType } from './errors.js';
import { cross } from './core.js';
import { decode } from './json.js';

/** What became of a part of the input. */
export class Event {
  constructor(type, span, charSpan) {
    this.type = type;
    this.span = span;
    this.charSpan = charSpan;
  }

  /** The event of this JSON, as `toJsonText` writes it. */
  static fromJsonText(json) {
    return event(JSON.parse(cross((core) => core.load_event(text(json, 'json')))));
  }

  /** The event as JSON, as the command and the crate write it: all digits of arguments are there. */
  toJsonText() {
    return JSON.stringify(this.toJSON());
  }
}

class Text extends Event {
  constructor(type, text, span, charSpan) {
    super(type, span, charSpan);
    this.text = text;
  }

  toJSON() {
    return { event: this.type, text: this.text, span: this.span };
  }
}

class Reasoning extends Text {}

class Markup extends Event {
  constructor(written, units) {
    super('markup', written.span, units === undefined ? written.span : units[0]);
  }

  toJSON() {
    return { event: 'markup', span: this.span };
  }
}

class CallStarted extends Event {
  constructor(written) {
    super('call_started', null, null);
    this.attempt = written.attempt;
    this.name = written.name;
    this.dialect = written.dialect;
    this.chosenBy = written.chosen_by;
    this.marker = written.marker ?? null;
  }

  toJSON() {
    const { attempt, name, dialect, chosenBy, marker } = this;
    return { event: this.type, attempt, name, dialect, chosen_by: chosenBy, ...(marker === null ? {} : { marker }) };
  }
}

class ArgumentsDelta extends Event {
  constructor(attempt, delta) {
    super('arguments_delta', null, null);
    this.attempt = attempt;
    this.delta = delta;
  }

  toJSON() {
    return { event: this.type, attempt: this.attempt, delta: this.delta };
  }
}

class ModelError extends Event {
  #written;

  constructor(written, units) {
    const error = written.error;
    super('model_error', error.span ?? null, units === undefined ? (error.span ?? null) : units[0]);
    this.code = error.code;
    this.message = error.message;
    this.#written = error;
  }

  toJSON() {
    return { event: this.type, error: this.#written };
  }
}

class Finding extends Event {
  #written;

  constructor(finding, charSpan) {
    super('finding', finding.span, charSpan);
    this.code = finding.code;
    this.severity = finding.severity;
    this.message = finding.message;
    this.help = finding.help;
    this.path = finding.path;
    this.count = finding.count ?? 1;
    this.#written = finding;
  }

  toJSON() {
    return { event: this.type, finding: this.#written };
  }
}

/** The findings of a call or a rejection; `from` is where their places are among those of the event. */
function findings(written, units, from, isText) {
  return (written ?? []).map((finding, at) => {
    const charSpan = units === undefined ? (isText ? finding.span : null) : (units[from + at] ?? null);
    return new Finding(finding, charSpan);
  });
}

/** An accepted call. Only this authorises execution. */
export class Call extends Event {
  #json;
  #arguments;

  constructor(json, argumentsJson, units) {
    const { attempt, call } = JSON.parse(json);
    const isText = call.span !== null;
    super('call', call.span, units === undefined ? call.span : units[0]);
    this.attempt = attempt;
    this.id = call.id;
    this.name = call.name;
    this.argumentsJson = argumentsJson;
    this.checked = call.checked;
    this.dialect = call.dialect;
    this.repairs = call.repairs.map((repair, at) => {
      // The repairs of a structured call stand in its arguments, whose characters nobody has counted.
      const charSpan = units === undefined ? (isText ? repair.span : null) : (units[1 + at] ?? null);
      return repaired(repair, charSpan);
    });
    this.coercions = call.coercions.map(({ code, path, from, to }) => ({ code, path, before: from, after: to }));
    this.findings = findings(call.findings, units, 1 + call.repairs.length, isText);
    this.after = call.after ?? [];
    this.#json = json;
  }

  /** The arguments, decoded when they are first asked for. An integer that a number cannot hold is a BigInt. */
  get arguments() {
    return (this.#arguments ??= decode(this.argumentsJson));
  }

  toJsonText() {
    return this.#json;
  }

  toJSON() {
    return JSON.parse(this.#json);
  }
}

/** A rejected attempt: nothing of it may run. */
export class Rejected extends Event {
  #written;

  constructor(written, units) {
    const rejected = written.rejected;
    super('rejected', rejected.span, units === undefined ? rejected.span : units[0]);
    this.attempt = written.attempt;
    this.id = rejected.id ?? null;
    this.name = rejected.name;
    this.code = rejected.findings[0]?.code ?? '';
    this.raw = rejected.raw;
    this.rawLength = rejected.raw_len ?? new TextEncoder().encode(rejected.raw).length;
    this.dialect = rejected.dialect;
    this.findings = findings(rejected.findings, units, 1, rejected.span !== null);
    this.#written = written;
  }

  toJSON() {
    return this.#written;
  }
}

Object.assign(Event, { Text, Reasoning, Markup, CallStarted, ArgumentsDelta, Call, Rejected, ModelError, Finding });

/** One named change that was made to read a broken value. */
export function repaired(repair, charSpan) {
  const { code, safety, span, late = false, count = 1 } = repair;
  return { code, safety, span, charSpan, late, count };
}

/** An event from what crossed the border. */
export function event(written) {
  if (Array.isArray(written)) return short(written);
  if (written.json !== undefined) return new Call(written.json, written.arguments, written.units);
  if (written.of !== undefined) return made(written.of, written.units);
  return made(written, undefined);
}

/** What comes with almost every chunk. */
function short(written) {
  switch (written[0]) {
    case 0:
      return new Text('text', written[1], written[2], written[3]);
    case 1:
      return new Reasoning('reasoning', written[1], written[2], written[3]);
    default:
      return new ArgumentsDelta(written[1], written[2]);
  }
}

function made(written, units) {
  switch (written.event) {
    case 'text':
      return new Text('text', written.text, written.span, written.span);
    case 'arguments_delta':
      return new ArgumentsDelta(written.attempt, written.delta);
    case 'reasoning':
      return new Reasoning('reasoning', written.text, written.span, written.span);
    case 'markup':
      return new Markup(written, units);
    case 'call_started':
      return new CallStarted(written);
    case 'rejected':
      return new Rejected(written, units);
    case 'model_error':
      return new ModelError(written, units);
    case 'finding':
      return new Finding(written.finding, units === undefined ? written.finding.span : units[0]);
    default:
      throw new CallgateError('unknown-event', `the core said \`${written.event}\``, 'use files of one version of the package');
  }
}

/** The events of one crossing. */
export function events(json) {
  if (json === '[]') return [];
  const list = JSON.parse(json);
  for (let at = 0; at < list.length; at++) list[at] = event(list[at]);
  return list;
}

/** What came of one response. */
export class Response {
  #isKnown;

  constructor(json) {
    if (typeof json !== 'string') throw wrongType(json, 'a response', 'what a gate made of one: gate.parse(text)');
    const written = JSON.parse(json);
    this.text = written.text;
    this.reasoning = written.reasoning;
    this.calls = written.calls.map(event);
    this.rejected = written.rejected.map(event);
    this.findings = written.findings.map(event);
    this.modelError = written.error.map(event)[0] ?? null;
    this.finishReason = written.reason;
    this.hasErrors = written.errors;
    this.#isKnown = written.known;
  }

  /** The response that events come to, as a session gave them. `finishReason` is what the provider said. */
  static collect(list, finishReason) {
    if (typeof list?.[Symbol.iterator] !== 'function' || typeof list === 'string') throw wrongType(list, 'events', 'a list of events');
    const kept = [...list];
    for (const one of kept) if (!(one instanceof Event)) throw wrongType(one, 'an event', 'an Event');
    const json = `[${kept.map((one) => one.toJsonText()).join(',')}]`;
    const response = new Response(cross((core) => core.collect(text(json, 'events'), optionalText(finishReason, 'finishReason') ?? '')));
    // The events know where they stand in characters; their JSON does not say it.
    const own = (type) => kept.filter((one) => one.type === type);
    for (const [name, type] of [['calls', 'call'], ['rejected', 'rejected'], ['findings', 'finding']]) {
      if (own(type).length === response[name].length) response[name] = own(type);
    }
    return response;
  }

  /** The response of this JSON, as `toJsonText` and the command's `scan` write it. */
  static fromJsonText(json) {
    return new Response(cross((core) => core.load_response(text(json, 'json'))));
  }

  /** Every finding: those of the response, of its calls and of its rejections. */
  get allFindings() {
    return [...this.findings, ...[...this.calls, ...this.rejected].flatMap((part) => part.findings)];
  }

  /** The response as JSON, as the command's `scan` writes it. */
  toJsonText() {
    const parts = (list, member) => list.map((one) => member(one)).join(',');
    const calls = parts(this.calls, (call) => callOf(call.toJsonText()));
    const rejected = parts(this.rejected, (one) => JSON.stringify(one.toJSON().rejected));
    const found = parts(this.findings, (one) => JSON.stringify(one.toJSON().finding));
    const error = this.modelError === null ? 'null' : JSON.stringify(this.modelError.toJSON().error);
    const head = `"text":${JSON.stringify(this.text)},"reasoning":${JSON.stringify(this.reasoning)}`;
    const end = `"finish_reason":${JSON.stringify(this.finishReason)}`;
    return `{${head},"calls":[${calls}],"rejected":[${rejected}],"model_error":${error},"findings":[${found}],${end}}`;
  }

  toJSON() {
    return JSON.parse(this.toJsonText());
  }

  /** A response as the core takes it back: its JSON, and whether anybody said how it ended, which that does not say. */
  static given(response) {
    if (!(response instanceof Response)) throw wrongType(response, 'response', 'a Response');
    return [response.toJsonText(), response.#isKnown];
  }
}

/** The call in the JSON of its event, as it stands there. */
function callOf(json) {
  const key = '"call":';
  return json.slice(json.indexOf(key) + key.length, -1);
}

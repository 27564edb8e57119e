// Dialects: how models write calls. The built-in ones by name, by model and by what they wrote, and your own.

import { CallgateError, options, optionalText, text, wrongType } from './errors.js';
import { Call, Event } from './events.js';
import { cross } from './core.js';
import { encode } from './json.js';
import { toolsJson } from './tools.js';

/** One dialect: how a model writes calls, text and reasoning, built in or read from a file. */
export class Dialect {
  #source;

  constructor(written, source) {
    if (typeof written?.name !== 'string') throw wrongType(written, 'a dialect', 'one of `dialects`, or made by dialects.parse(toml)');
    Object.assign(this, written);
    this.#source = source;
  }

  /** Writes reasoning, then text, then calls, as a model of this dialect would. */
  render(calls, given) {
    const { text: said, reasoning } = options(given, ['text', 'reasoning']);
    const json = callsJson(calls);
    return cross((core) => core.render(Dialect.spec(this), json, optionalText(said, 'text'), optionalText(reasoning, 'reasoning')));
  }

  /** A dialect, or its name, as the core takes it: JSON text. */
  static spec(dialect) {
    return JSON.stringify(Dialect.named(dialect));
  }

  static named(dialect) {
    if (typeof dialect === 'string') return { name: text(dialect, 'dialect') };
    if (!(dialect instanceof Dialect)) throw wrongType(dialect, 'dialect', 'a string, a Dialect or a list of those');
    return { name: dialect.name, source: dialect.#source };
  }
}

/** Calls that are to be written, as JSON: those of a response, or objects with `name`, `arguments` and `id`. */
export function callsJson(calls) {
  if (typeof calls?.[Symbol.iterator] !== 'function' || typeof calls === 'string') throw wrongType(calls, 'calls', 'a list of calls');
  return `[${Array.from(calls, callJson).join(',')}]`;
}

function callJson(call) {
  const wanted = 'a Call or an object with `name` and `arguments`';
  if (call instanceof Call) return written(call.name, call.argumentsJson, call.id);
  if (typeof call !== 'object' || call === null || call instanceof Event) throw wrongType(call, 'a call', wanted);
  const inner = typeof call.function === 'object' && call.function !== null ? call.function : call;
  if (inner.name === undefined || inner.name === null) {
    throw new CallgateError('missing-name', 'a call to render has no name', 'give each call as { name, arguments, id? }');
  }
  const name = text(inner.name, 'name');
  const json = encode(inner.arguments ?? {}, 'arguments');
  if (!isJson(json)) {
    throw new CallgateError('bad-arguments', `the arguments of \`${name}\` are no JSON object`, 'give an object, or its JSON text');
  }
  return written(name, json, optionalText(call.id, 'id'));
}

function isJson(json) {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

function written(name, json, id) {
  return `{"name":${JSON.stringify(name)},"arguments":${json}${id === undefined ? '' : `,"id":${JSON.stringify(id)}`}}`;
}

/** The built-in dialects by name, in order of rank. */
class Dialects {
  /** The names of all. */
  get names() {
    return JSON.parse(cross((core) => core.dialect_names()));
  }

  get size() {
    return this.names.length;
  }

  get(name) {
    const found = cross((core) => core.dialect_named(text(name, 'name')));
    return found === undefined ? undefined : new Dialect(JSON.parse(found));
  }

  has(name) {
    return this.get(name) !== undefined;
  }

  *[Symbol.iterator]() {
    for (const name of this.names) yield this.get(name);
  }

  /** The dialect that a model of this name writes, if it is known. */
  forModel(model) {
    const name = cross((core) => core.dialect_for_model(text(model, 'model')));
    return name === undefined ? undefined : this.get(name);
  }

  /** The dialects of your own that this text of a dialect file has. */
  parse(toml) {
    const found = cross((core) => core.dialects_of(text(toml, 'toml')));
    return JSON.parse(found).map((dialect) => new Dialect(dialect, toml));
  }

  /** The names of the dialects that read calls in this text, the best first. Nothing read here is a call. */
  detect(value, tools) {
    const json = toolsJson(tools);
    return JSON.parse(cross((core) => core.detect(text(value, 'text'), json)));
  }
}

/** The built-in dialects by name. */
export const dialects = new Dialects();

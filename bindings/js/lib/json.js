// JSON: values to text and back, with integers whole. What JavaScript's own reader and writer lose is taken out before and put in after.

import { CallgateError, kind, text } from './errors.js';

/** The value of a JSON text. An integer that a number cannot hold is a BigInt. */
export function decode(json) {
  if (!/\d{16}/.test(json)) return JSON.parse(json);
  let mark = 'integer';
  while (json.includes(mark)) mark += '_';
  const marked = markIntegers(json, mark);
  return JSON.parse(marked, (_, value) => (isMarked(value, mark) ? BigInt(value[mark]) : value));
}

function isMarked(value, mark) {
  return typeof value === 'object' && value !== null && typeof value[mark] === 'string';
}

/** Puts large integers into objects with one member, whose name stands nowhere else in the text. */
function markIntegers(json, mark) {
  const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  let out = '';
  let from = 0;
  let at = 0;
  while (at < json.length) {
    const char = json[at];
    if (char === '"') {
      at += 1;
      while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
      at += 1;
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      number.lastIndex = at;
      const [found] = number.exec(json) ?? [char];
      if (/^-?\d{16,}$/.test(found) && !Number.isSafeInteger(Number(found))) {
        out += `${json.slice(from, at)}{"${mark}":"${found}"}`;
        from = at + found.length;
      }
      at += found.length;
    } else {
      at += 1;
    }
  }
  return out + json.slice(from);
}

let secret;

/** A value as JSON text. Only the top may be a string, which is taken for JSON text already. */
export function encode(value, name) {
  if (typeof value === 'string') return text(value, name);
  secret ??= `integer-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
  let hasIntegers = false;
  const wrong = (what) => {
    const help = 'use objects, arrays, strings, finite numbers, BigInt, booleans and null';
    return new CallgateError('not-json', `${name} cannot be written as JSON: ${what}`, help);
  };
  let written;
  try {
    written = JSON.stringify(value, (key, member) => {
      text(key, name);
      switch (typeof member) {
        case 'string':
          return text(member, name);
        case 'number':
          if (!Number.isFinite(member)) throw wrong(`${member} is no number of JSON`);
          return member;
        case 'bigint':
          hasIntegers = true;
          return `${secret}${member}`;
        default:
          return member;
      }
    });
  } catch (error) {
    if (error instanceof CallgateError) throw error;
    throw new CallgateError('not-json', `${name} cannot be written as JSON: ${error?.message ?? 'it threw'}`, 'see the error that is its cause', { cause: error });
  }
  if (written === undefined) throw wrong(`nothing is written of ${kind(value)}`);
  return hasIntegers ? written.replace(new RegExp(`"${secret}(-?\\d+)"`, 'g'), '$1') : written;
}

/** `maxCalls` as `max_calls`. */
export function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `max_calls` as `maxCalls`. */
export function camel(name) {
  return name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
}

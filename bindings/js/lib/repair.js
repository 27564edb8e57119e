// Repair: broken JSON alone.

import { bytes, options, text, wrongType } from './errors.js';
import { cross } from './core.js';
import { decode } from './json.js';
import { repaired } from './events.js';

/** A value that was read from broken text. */
class Repaired {
  #value;

  constructor({ text: valid, repairs, units }) {
    this.text = valid;
    this.repairs = repairs.map((repair, at) => repaired(repair, units[at]));
  }

  /** The value, decoded when it is first asked for. An integer that a number cannot hold is a BigInt. */
  get value() {
    return (this.#value ??= decode(this.text));
  }

  toString() {
    return this.text;
  }
}

/** Reads a text as one JSON value with every repair allowed, guesses included. */
export function repair(value, given) {
  const { partial = false, many = false, depth = 128 } = options(given, ['partial', 'many', 'depth']);
  if (typeof depth !== 'number' || !(depth >= 0)) throw wrongType(depth, 'depth', 'a number that is not negative');
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) throw wrongType(value, 'text', 'a string or Uint8Array');
  const broken = typeof value === 'string' ? text(value, 'text') : new TextDecoder().decode(bytes(value, 'text'));
  const list = JSON.parse(cross((core) => core.repair(broken, Boolean(partial), Boolean(many), depth)));
  const values = list.map((one) => new Repaired(one));
  return many ? values : values[0];
}

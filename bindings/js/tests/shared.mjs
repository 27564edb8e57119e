// What the tests share: the tools of a small weather service, and what the crate itself says about every fixture.

import { execFileSync } from 'node:child_process';

export const WEATHER = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
};

/** A call in the dialect `hermes`. */
export function hermes(name, json) {
  return `<tool_call>\n{"name": "${name}", "arguments": ${json}}\n</tool_call>`;
}

/** What the crate says about every fixture, from the program `reference.rs`. */
export function reference() {
  const { CALLGATE_REFERENCE: program, CALLGATE_ROOT: root } = process.env;
  if (!program || !root) throw new Error('CALLGATE_REFERENCE and CALLGATE_ROOT must be set; scripts/js sets them');
  const out = execFileSync(program, [`${root}/crates/callgate/fixtures`], { encoding: 'utf8', maxBuffer: 1 << 30 });
  return out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

/** A text or bytes in pieces. */
export function cut(value, size) {
  const pieces = [];
  for (let at = 0; at < value.length; at += size) pieces.push(value.slice(at, at + size));
  return pieces;
}

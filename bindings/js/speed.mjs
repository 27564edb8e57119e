// What crossing the border costs, with the package installed beside this file: `node speed.mjs`. The time is that of the processor; each
// figure is the best of several runs, since other programs only ever add to it.

import { Gate, repair } from 'callgate';

const tools = [{ name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } }];
const gate = new Gate(tools);
const CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>';
const TEXT = `${'The quick brown fox jumps over the lazy dog. '.repeat(8)}${CALL}`;
const pieces = TEXT.match(/[\s\S]{1,4}/g);

/** Microseconds of the processor that one turn takes. */
function measure(turns, act) {
  let best = Infinity;
  for (let run = 0; run < 9; run++) {
    const start = process.cpuUsage();
    act(turns);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / turns);
  }
  return best;
}

/** A session that is fed the same chunk again and again; a new one after a while, as responses end. */
function crossing(chunk) {
  return (turns) => {
    for (let left = turns; left > 0; left -= 1000) {
      const session = gate.session();
      for (let at = Math.min(left, 1000); at > 0; at--) session.push(chunk);
      session.free();
    }
  };
}

const repeat = (act) => (turns) => {
  for (let at = 0; at < turns; at++) act();
};

const rows = {
  'a chunk of text in, one event out': measure(40_000, crossing('word ')),
  'the same with a letter that is not ASCII': measure(40_000, crossing('wörd ')),
  'a chunk of arguments in, one event out': measure(20, repeat(() => {
    const session = gate.session();
    session.push('<tool_call>{"name": "weather", "arguments": {"city": "');
    for (let at = 0; at < 1000; at++) session.push('word ');
    session.free();
  })) / 1000,
  [`gate.parse of ${TEXT.length} bytes with one call`]: measure(2000, repeat(() => gate.parse(TEXT))),
  [`the same in ${pieces.length} chunks`]: measure(300, repeat(() => {
    const session = gate.session();
    for (const piece of pieces) session.push(piece);
    session.finish('stop');
  })),
  'repair of a small object': measure(5000, repeat(() => repair("{path: 'n.md',}"))),
};
for (const [name, micros] of Object.entries(rows)) console.log(`${micros.toFixed(2).padStart(8)} µs  ${name}`);

const [crossed] = Object.values(rows);
if (process.argv.includes('--check') && crossed > 3) {
  console.error(`failed: a chunk takes ${crossed.toFixed(2)} µs, more than 3`);
  process.exit(1);
}

// What every runtime must do: import the package, read a call, read a stream. Run by Node, Deno and Bun with `scripts/js --all`.

import { Gate } from 'callgate';

const gate = new Gate([{ name: 'f', parameters: { type: 'object' } }]);
const [call] = gate.parse('Hé 😀 <tool_call>{"name": "f", "arguments": {"a": 12345678901234567890}}</tool_call>').calls;
const types = [];
const stream = new Blob(['a <tool_call>{"name": "f", "arguments": {}}</tool_call>']).stream();
for await (const event of gate.stream(stream)) types.push(event.type);
const said = `${call.arguments.a} ${call.charSpan[0]} ${types.filter((type) => type !== 'markup').join(' ')}`;
if (said !== '12345678901234567890 6 text call_started arguments_delta call') throw new Error(`FAILED: it reads ${said}`);
console.log(`${globalThis.Deno ? 'Deno' : globalThis.Bun ? 'Bun' : 'Node'}: as it should be`);

// Reploid's three functions, for programs that used its response parser: the profile `labelled` behind the names they know.

import { options, optionalText, wrongType } from './errors.js';
import { Gate } from './gate.js';

let shared;

/** A gate for a tool list, or the one that knows no tools. */
function gateOf(tools) {
  shared ??= new Gate(null, { profile: 'labelled' });
  return tools === undefined || tools === null ? shared : shared.withTools(tools);
}

/** A response to a text; nothing was said where there is none. */
function read(gate, text) {
  return gate.parse(optionalText(text, 'text') ?? '', { finishReason: 'stop' });
}

/**
 * The calls of a text in order: `{ name, args }`. An attempt that was rejected has `error` and empty `args`, and must
 * not be run. With `tools` names and arguments are checked too.
 */
export function parseToolCalls(text, given) {
  const { tools } = options(given, ['tools']);
  const { calls, rejected } = read(gateOf(tools), text);
  const entries = [
    ...calls.map((call) => [call, { name: call.name, args: call.arguments, id: call.id, after: call.after }]),
    ...rejected.map((one) => [one, { name: one.name ?? '', args: {}, error: said(one) }]),
  ];
  return entries.sort(([one], [other]) => one.attempt - other.attempt).map(([, entry]) => entry);
}

function said({ findings }) {
  return findings.map(({ message, help }) => (help ? `${message}. ${help}` : message)).join(' ');
}

/** Whether a text says that the work is done. Never with `rsi`, and never while it calls tools. */
export function isDone(text, given) {
  const { rsi = false } = options(given, ['rsi']);
  if (rsi) return false;
  const gate = gateOf();
  const response = read(gate, text);
  return response.calls.length === 0 && response.rejected.length === 0 && gate.isDone(response);
}

/** Whether a call fits: to the schema of its arguments, or to a tool list that has its name. */
export function validateToolCall(call, schema) {
  if (typeof call !== 'object' || call === null) throw wrongType(call, 'call', 'an object with `name` and `args`');
  if (typeof schema !== 'object' || schema === null) throw wrongType(schema, 'schema', 'a JSON Schema or a tool list');
  const { name, args = {}, error } = call;
  if (error || typeof name !== 'string' || typeof args !== 'object' || args === null || Array.isArray(args)) return false;
  const tools = Array.isArray(schema) ? schema : [{ name, parameters: schema.parameters ?? schema.inputSchema ?? schema }];
  // Read as a structured call, strictly: what has to be changed to fit does not fit.
  const gate = new Gate(tools, { profile: 'strict' });
  try {
    const { calls } = gate.parse('', { toolCalls: [{ function: { name, arguments: args } }], finishReason: 'tool_calls' });
    return calls.length === 1;
  } finally {
    gate.free();
  }
}

// The types of Reploid's three functions.

import type { Tools } from './index.js';

export interface ToolCall {
  name: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  args: { [name: string]: any };
  /** Why the attempt was rejected: it must not be run. */
  error?: string;
  id?: string;
  /** The ids of the calls that must be done first, where the model wrote a plan. */
  after?: readonly string[];
}

/** The calls of a text in order; rejected attempts have `error` and empty `args`. */
export function parseToolCalls(text: string | null | undefined, options?: { tools?: Tools }): ToolCall[];

/** Whether a text says that the work is done. Never with `rsi`, and never while it calls tools. */
export function isDone(text: string | null | undefined, options?: { rsi?: boolean }): boolean;

/** Whether a call fits: to the schema of its arguments, or to a tool list that has its name. */
export function validateToolCall(call: { name: string; args?: object; error?: string }, schema: object | readonly object[]): boolean;

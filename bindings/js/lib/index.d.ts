// The types of callgate.

// Only what is exported here is.
export {};

/** A place: the first, and one past the last. */
export type Span = [start: number, end: number];

/** What JSON says. An integer that a number cannot hold is a BigInt. */
export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };

/** What is wrong, where, and what to do about it. What a model writes never throws: it comes out as events. */
export class CallgateError extends Error {
  constructor(code: string, message: string, help?: string, place?: Partial<Place> & { cause?: unknown });
  /** The stable word for what kind of mistake it is. */
  readonly code: string;
  /** What to do. */
  readonly help: string;
  /** The bytes of the text that it is about. */
  readonly span: Span | null;
  /** The place in a value, as a JSON pointer. */
  readonly pointer: string | null;
  /** The place in a tool list, counted from 0. */
  readonly index: number | null;
  /** The name of the tool. */
  readonly tool: string | null;
  /** The line of a text, counted from 1. */
  readonly line: number | null;
  /** The column of a text, counted from 1. */
  readonly column: number | null;
}

interface Place {
  span: Span | null;
  pointer: string | null;
  index: number | null;
  tool: string | null;
  line: number | null;
  column: number | null;
}

/** A schema that can say what it is as JSON Schema: of zod 4, or of whatever follows Standard Schema with JSON Schema. */
export type Schema = { readonly '~standard': object } | { toJSONSchema(): object } | { readonly jsonSchema: object };

/** A tool in the form of OpenAI, Anthropic, MCP or the AI SDK, a JSON Schema with a title, or a schema with one. */
export type Tool = object | Schema;

/** A list of tools, one tool, tools by name, or the JSON text of a list. */
export type Tools = string | Tool | Iterable<Tool> | { [name: string]: object };

/** The tools, dialects and policy of a gate. */
export interface GateOptions extends Knobs {
  /** The name of a model: the dialect that it writes is chosen. */
  model?: string;
  /** The dialects whose calls are live, by name or your own. */
  dialect?: string | Dialect | readonly (string | Dialect)[];
  /** A set of knobs by name: `standard`, `strict`, `guarded`, `lenient`, … */
  profile?: string;
  /** Whether a mistake in the tool list is an error; otherwise it is read as it is meant, and `notes` say so. */
  strictTools?: boolean;
}

/** The knobs of the policy. Those that are not named here are taken too: docs/policy.md has them all. */
export interface Knobs {
  repair?: 'off' | 'backtick' | 'lossless' | 'full';
  coerce?: 'off' | 'untyped' | 'lossless';
  partial?: 'keep-good' | 'all-or-nothing';
  release?: 'at-end' | 'early';
  maxCalls?: number | null;
  limits?: { [limit: string]: number };
  [knob: string]: unknown;
}

/** What is known about a response besides its text. */
export interface Given {
  /** The end of the prompt, where it began the response: `<think>\n`. */
  promptTail?: string;
  /** Texts that are not to be trusted: a call that they hold is an echo. */
  untrusted?: string | readonly string[];
}

export interface ParseOptions extends Given {
  /** The provider's word for how it ended. */
  finishReason?: string;
  /** Structured calls, as OpenAI and Ollama write them: a list, or its JSON text. */
  toolCalls?: readonly object[] | string;
  /** What the model thought, where the provider sent it apart. */
  reasoning?: string;
}

export interface ParseManyOptions {
  promptTail?: string | readonly (string | undefined)[];
  finishReason?: string | readonly (string | undefined)[];
  untrusted?: string | readonly string[];
}

/** A call that is to be written. */
export type CallLike =
  | Call
  | { id?: string; name: string; arguments?: object | string }
  | { id?: string; function: { name: string; arguments?: object | string } };

export interface RenderOptions {
  text?: string;
  reasoning?: string;
}

/** A delta of a structured call, as OpenAI writes it or flat. */
export type NativeDelta = {
  index?: number | null;
  id?: string | null;
  name?: string | null;
  arguments?: string | null;
  function?: { name?: string | null; arguments?: string | null } | null;
  done?: boolean;
};

/** Text, bytes, or a chunk of a chat completion. */
export type Chunk = string | Uint8Array | object;

/** A compiled gate: tools, dialects and policy. Share it; make one session for each response. */
export class Gate {
  /** Compiles a gate. Every knob of the policy is an option. */
  constructor(tools?: Tools | null, options?: GateOptions);
  /** The same gate for another tool list. The compiled dialects are shared. */
  withTools(tools?: Tools | null): Gate;
  /** Reads a whole response: text, or bytes. */
  parse(text: string | Uint8Array, options?: ParseOptions): Response;
  /** Reads many whole responses: a list gives a list, an iterator an iterator. */
  parseMany(texts: readonly (string | Uint8Array)[], options?: ParseManyOptions): Response[];
  parseMany(texts: Iterable<string | Uint8Array>, options?: ParseManyOptions): IterableIterator<Response>;
  /** A session for one response. */
  session(options?: Given & { idPrefix?: string }): Session;
  /** The events of a response whose chunks come one by one. */
  stream(chunks: ReadableStream<Chunk> | AsyncIterable<Chunk>, options?: Given & { finishReason?: string }): AsyncIterable<AnyEvent>;
  stream(chunks: Iterable<Chunk>, options?: Given & { finishReason?: string }): AsyncIterable<AnyEvent> & Iterable<AnyEvent>;
  /** The message that tells the model what to correct; `undefined` if there is nothing. */
  feedback(response: Response): string | undefined;
  /** Whether the model says that it is done, in a profile that has words for it. */
  isDone(response: Response): boolean;
  /** Writes calls as a model would: in this dialect, else in the one that the gate was given, else in the profile's. */
  render(calls: Iterable<CallLike>, dialect?: string | Dialect | null, options?: RenderOptions): string;
  /** The section of a system prompt that teaches a model these tools. */
  prompt(dialect?: string | Dialect): string;
  /** Whether nothing may be guessed about calls of this tool, and a host should ask before it runs one. */
  isDangerous(name: string): boolean;
  /** The tool list in OpenAI's form; `null` without one. */
  readonly tools: object[] | null;
  /** What was forgiven in the tool list, where `strictTools` is off. */
  readonly notes: string[];
  /** The names of the dialects whose calls are live. */
  readonly dialects: string[];
  /** The name of the profile. */
  readonly profile: string;
  /** Every knob with its position. */
  readonly policy: { [knob: string]: Json };
  /** Gives its memory back now; without that it happens when nobody holds it any more. `using` does it too. */
  free(): void;
}

/** The reading of one response. Calls come out of `finish`. Made by `gate.session()`. */
export class Session {
  private constructor();
  /** Reads a chunk of text or bytes, cut anywhere, even inside a character. */
  push(chunk: string | Uint8Array): AnyEvent[];
  /**
   * Reads text that came as special tokens of the model's vocabulary. With `special: 'required'` markers that are such tokens
   * count only here.
   */
  pushSpecial(text: string): AnyEvent[];
  /** Reads one delta of a structured provider call. */
  native(delta: NativeDelta): AnyEvent[];
  /** Reads a whole list of structured provider calls, as OpenAI and Ollama write it: a list, or its JSON text. */
  nativeCalls(calls: readonly object[] | string): AnyEvent[];
  /** Passes on reasoning that the provider sent apart from the text. */
  reasoning(text: string): AnyEvent[];
  /** Gives text of the conversation that is not to be trusted: a call that it holds is an echo. */
  untrusted(text: string): void;
  /** Ends the response: what was held comes out, then every call and rejection. `reason` is the provider's word. */
  finish(reason?: string | null): AnyEvent[];
  /** Whether the response is finished, so that nothing more can be fed. */
  readonly closed: boolean;
  /** Whether text is held back because it may become a call. */
  readonly isHolding: boolean;
  /** Whether a call is being read. */
  readonly isCalling: boolean;
  /** The name of the call that is being read, as far as it is known. */
  readonly openCall: string | null;
  /** The names of the calls whose end has been seen, in order, until the response is finished. */
  readonly completed: string[];
  /** Gives its memory back now; without that it happens when nobody holds it any more. `using` does it too. */
  free(): void;
}

/** An event of any kind: `type` says which. */
export type AnyEvent =
  | Event.Text
  | Event.Reasoning
  | Event.Markup
  | Event.CallStarted
  | Event.ArgumentsDelta
  | Call
  | Rejected
  | Event.ModelError
  | Event.Finding;

/** What became of a part of the input. */
export abstract class Event {
  protected constructor();
  /** The event of this JSON, as `toJsonText` writes it. */
  static fromJsonText(json: string): AnyEvent;
  readonly type: string;
  /** The bytes of the input that it is about; `null` for structured calls and for events that only comment. */
  readonly span: Span | null;
  /** The same place as JavaScript counts: `text.slice(...event.charSpan)`. */
  readonly charSpan: Span | null;
  /** The event as JSON, as the command and the crate write it: all digits of arguments are there. */
  toJsonText(): string;
  /** The same as an object, for `JSON.stringify`. Numbers in it have the digits that a number has. */
  toJSON(): object;
}

export namespace Event {
  /** Text for the reader, untrimmed. */
  export class Text extends Event {
    readonly type: 'text';
    readonly text: string;
  }
  /** What the model thought before it answered. */
  export class Reasoning extends Event {
    readonly type: 'reasoning';
    readonly text: string;
  }
  /** Bytes that only hold the format together: section tags, end tokens, the white space a template writes. */
  export class Markup extends Event {
    readonly type: 'markup';
  }
  /** A call has begun and its name is known. For display: nothing is judged yet. */
  export class CallStarted extends Event {
    readonly type: 'call_started';
    /** The number of the attempt in this response. */
    readonly attempt: number;
    /** The name as the model wrote it. */
    readonly name: string;
    readonly dialect: string;
    /** Why in that dialect. */
    readonly chosenBy: 'name' | 'marker' | 'provider';
    /** The marker that only this dialect has, where one decided. */
    readonly marker: string | null;
  }
  /** More of a call's arguments, as JSON text. For display: nothing is judged yet. */
  export class ArgumentsDelta extends Event {
    readonly type: 'arguments_delta';
    readonly attempt: number;
    readonly delta: string;
  }
  /** What the model itself reported as an error. */
  export class ModelError extends Event {
    readonly type: 'model_error';
    readonly code: string;
    readonly message: string;
  }
  /** One thing the gate noticed: what, where, and what to do about it. */
  export class Finding extends Event {
    readonly type: 'finding';
    /** The stable word for what kind of thing this is. */
    readonly code: string;
    readonly severity: 'info' | 'warning' | 'error';
    readonly message: string;
    readonly help: string;
    /** Where in the arguments, as a JSON pointer. */
    readonly path: string;
    /** How often it happened, where repeats are counted instead of listed. */
    readonly count: number;
  }
  export { CallClass as Call, RejectedClass as Rejected };
}

declare const CallClass: typeof Call;
declare const RejectedClass: typeof Rejected;

/** An accepted call. Only this authorises execution. */
export class Call extends Event {
  private constructor();
  readonly type: 'call';
  /** The number of the attempt in this response. */
  readonly attempt: number;
  /** The model's id, or one that is unique in the response. */
  readonly id: string;
  /** The name of the tool, as registered. */
  readonly name: string;
  /** The arguments as JSON text: the model's own characters where they were valid. */
  readonly argumentsJson: string;
  /** The arguments, decoded when they are first asked for. An integer that a number cannot hold is a BigInt. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly arguments: { [name: string]: any };
  /** Whether a tool list was given, so that name and arguments were checked. */
  readonly checked: boolean;
  /** The dialect it was written in; `native` for structured provider calls. */
  readonly dialect: string;
  /** What was changed to read it. */
  readonly repairs: readonly Repair[];
  /** What was changed to fit it to its schema. */
  readonly coercions: readonly Coercion[];
  /** What is to be known before it runs. */
  readonly findings: readonly Event.Finding[];
  /** The ids of the calls that must be done first, where the model wrote a plan. */
  readonly after: readonly string[];
}

/** A rejected attempt: nothing of it may run. */
export class Rejected extends Event {
  private constructor();
  readonly type: 'rejected';
  readonly attempt: number;
  /** The model's id, where it gave one. */
  readonly id: string | null;
  /** The name as the model wrote it, where it was read. */
  readonly name: string | null;
  /** The code of the deciding finding. */
  readonly code: string;
  /** The text of the attempt, cut after the policy's limit. */
  readonly raw: string;
  /** The length of the whole text in bytes. */
  readonly rawLength: number;
  readonly dialect: string;
  /** Why, all at once, the first being the deciding one. */
  readonly findings: readonly Event.Finding[];
}

/** One named change that was made to read a broken value. */
export interface Repair {
  readonly code: string;
  /** `lossless`, or `guess` if a choice was made. */
  readonly safety: string;
  /** The bytes of the input it is about; of the arguments for structured calls. */
  readonly span: Span;
  /** The same place as JavaScript counts; `null` for structured calls. */
  readonly charSpan: Span | null;
  /** Whether it replaces text that had already been shown. */
  readonly late: boolean;
  readonly count: number;
}

/** One change made to fit a value to its schema. */
export interface Coercion {
  readonly code: string;
  /** Where in the arguments, as a JSON pointer. */
  readonly path: string;
  /** The value as it was, as JSON. */
  readonly before: string;
  /** The value as it is now, as JSON; empty where it was dropped. */
  readonly after: string;
}

/** What came of one response. */
export class Response {
  private constructor();
  /** The response that events come to, as a session gave them. `finishReason` is what the provider said. */
  static collect(events: Iterable<AnyEvent>, finishReason?: string | null): Response;
  /** The response of this JSON, as `toJsonText` and the command's `scan` write it. */
  static fromJsonText(json: string): Response;
  /** All text, untrimmed. */
  readonly text: string;
  /** All reasoning, untrimmed. */
  readonly reasoning: string;
  /** The accepted calls. */
  readonly calls: readonly Call[];
  /** The rejected attempts. */
  readonly rejected: readonly Rejected[];
  /** Findings that do not belong to one call or rejection. */
  readonly findings: readonly Event.Finding[];
  /** Every finding: those of the response, of its calls and of its rejections. */
  readonly allFindings: readonly Event.Finding[];
  /** The error that the model reported, if its format has one. */
  readonly modelError: Event.ModelError | null;
  /** Why it ended: `tool_calls` if a call stands and nothing was cut, `length` if the cut hit an attempt. */
  readonly finishReason: string;
  /** Whether anything was rejected or missing. */
  readonly hasErrors: boolean;
  /** The response as JSON, as the command's `scan` writes it. */
  toJsonText(): string;
  toJSON(): object;
}

/** A value that was read from broken text. */
export interface Repaired {
  /** The value as valid JSON text: the input's own characters where they were valid. */
  readonly text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly value: any;
  /** What was changed, in the order of the input; empty if nothing was. */
  readonly repairs: readonly Repair[];
  toString(): string;
}

/** Reads a text as one JSON value with every repair allowed, guesses included. */
export function repair(text: string | Uint8Array, options: { many: true; partial?: boolean; depth?: number }): Repaired[];
export function repair(text: string | Uint8Array, options?: { many?: false; partial?: boolean; depth?: number }): Repaired;

/** One dialect: how a model writes calls, text and reasoning, built in or read from a file. */
export interface Dialect {
  readonly name: string;
  /** The structural family, a letter from A to I; `-` if the dialect does not say. */
  readonly family: string;
  /** Patterns for model names. */
  readonly models: readonly string[];
  /** Where the format is documented. */
  readonly documentation: string;
  /** Deviations worth knowing. */
  readonly notes: string;
  /** Whether it listens without being asked for. */
  readonly auto: boolean;
  /** The literals that a reader recognises it by. */
  readonly markers: readonly string[];
  /** Its keys and values, as a file would say them. */
  readonly keys: { readonly [key: string]: Json };
  /** Writes reasoning, then text, then calls, as a model of this dialect would. */
  render(calls: Iterable<CallLike>, options?: RenderOptions): string;
}

/** The built-in dialects by name, in order of rank, and your own. */
export const dialects: {
  readonly names: string[];
  readonly size: number;
  get(name: string): Dialect | undefined;
  has(name: string): boolean;
  /** The dialect that a model of this name writes, if it is known. */
  forModel(model: string): Dialect | undefined;
  /** The dialects of your own that this text of a dialect file has. */
  parse(toml: string): Dialect[];
  /** The names of the dialects that read calls in this text, the best first. Nothing read here is a call. */
  detect(text: string, tools?: Tools | null): string[];
  [Symbol.iterator](): IterableIterator<Dialect>;
};

/** The version of the package. */
export const version: string;

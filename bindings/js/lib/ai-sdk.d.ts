// The types of the middleware for the Vercel AI SDK.

import type { LanguageModelMiddleware } from 'ai';
import type { GateOptions, Rejected } from './index.js';

export interface CallgateMiddlewareOptions extends GateOptions {
  /** Whether the provider is given the tools, or they are written into the prompt. */
  tools?: 'native' | 'prompt';
  /** How often a response of which no call stood is asked for again, with what was wrong. */
  retries?: number;
  /** Hears of every rejected attempt, and what the model is told about it. */
  onRejected?: (rejected: Rejected, feedback: string | undefined) => void;
}

/** Middleware for `wrapLanguageModel` that reads calls out of what a model says and judges them. */
export function callgateMiddleware(options?: CallgateMiddlewareOptions): LanguageModelMiddleware;

// callgate: the doorway between a language model and the tools it may call.

export { CallgateError } from './errors.js';
export { Call, Event, Rejected, Response } from './events.js';
export { Gate, Session } from './gate.js';
export { dialects } from './dialects.js';
export { repair } from './repair.js';
export { version } from './core.js';

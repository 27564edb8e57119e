// A program that uses every name, for the type checker. It is not run.

import { wrapLanguageModel, type LanguageModelMiddleware } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';

import { Call, CallgateError, Event, Gate, Rejected, Response, Session, dialects, repair, version, type AnyEvent, type Dialect, type Span } from 'callgate';
import { callgateMiddleware } from 'callgate/ai-sdk';
import { isDone, parseToolCalls, validateToolCall } from 'callgate/reploid';

const tools = [{ name: 'weather', parameters: z.object({ city: z.string() }) }];
const gate: Gate = new Gate(tools, { model: 'x', dialect: ['hermes'], profile: 'standard', strictTools: false, maxCalls: 1, limits: { arguments: 10 } });
const response: Response = gate.parse('x', { promptTail: '', finishReason: 'stop', untrusted: ['a'], toolCalls: [], reasoning: '' });
const calls: readonly Call[] = response.calls;
const span: Span | null = calls[0]?.charSpan ?? null;
const many: Response[] = gate.parseMany(['a']);
const lazily: IterableIterator<Response> = gate.parseMany(new Set(['a']));
const session: Session = gate.session({ idPrefix: 'x' });

/** What there is to say about an event. */
function say(event: AnyEvent): string {
  switch (event.type) {
    case 'text':
    case 'reasoning':
      return event.text;
    case 'markup':
      return String(event.span);
    case 'call_started':
      return event.marker ?? event.chosenBy;
    case 'arguments_delta':
      return event.delta;
    case 'call':
      return `${event.name} ${event.arguments['city']} ${event.repairs[0]?.charSpan}`;
    case 'rejected':
      return event.name ?? event.code;
    case 'model_error':
    case 'finding':
      return event.message;
    default: {
      const nothing: never = event;
      return nothing;
    }
  }
}

async function main(): Promise<void> {
  for (const event of [...session.push('a'), ...session.pushSpecial('b')]) console.log(say(event));
  session.native({ index: 0, function: { name: 'weather', arguments: '{}' } });
  for (const event of session.finish('stop')) if (event instanceof Rejected || event instanceof Event.Text) say(event);
  for await (const event of gate.stream(new Blob(['a']).stream())) say(event);
  for (const event of gate.stream(['a', new Uint8Array(1)])) say(event);
  const mine: Dialect | undefined = dialects.parse('')[0] ?? dialects.forModel('x') ?? dialects.get('hermes');
  console.log(gate.render(calls, mine), gate.render([{ name: 'a', arguments: {} }]), gate.prompt(), gate.feedback(response)?.length);
  console.log(repair('{').value, repair('{', { many: true }).length, version, many, lazily, span);
  console.log(Response.collect([Event.fromJsonText('')], 'stop').toJsonText(), [...dialects].length, gate.policy['repair']);
  const error = new CallgateError('code', 'message');
  console.log(error.code, error.help, error.pointer);
  console.log(isDone('', { rsi: true }), parseToolCalls(null)[0]?.args['a'], validateToolCall({ name: 'a', args: {} }, {}));
  const middleware: LanguageModelMiddleware = callgateMiddleware({ tools: 'prompt', dialect: 'hermes', retries: 1, onRejected: (one) => console.log(one.code) });
  wrapLanguageModel({ model: new MockLanguageModelV4(), middleware });
}

// @ts-expect-error A session is made by a gate.
new Session();
// @ts-expect-error There are texts and bytes.
gate.parse(3);
// @ts-expect-error There is no such position.
new Gate(tools, { repair: 'some' });
// @ts-expect-error Nothing that comes out can be changed.
response.text = '';

void main();

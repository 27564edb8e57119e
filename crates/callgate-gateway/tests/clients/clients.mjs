// The official JavaScript clients, unchanged, against a gateway with the built-in model. Run by scripts/clients.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const url = process.argv[2];
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = [{ type: "function", function: { name: "get_weather", description: "The weather.", parameters: schema } }];
// What the built-in model is told to call, with a comma too many: it comes out mended.
const ask = 'call get_weather {"city": "Oslo",}';
let checks = 0;

function check(what, got, wanted) {
  checks += 1;
  if (JSON.stringify(got) !== JSON.stringify(wanted)) {
    console.error(`FAILED: ${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
    process.exit(1);
  }
}

{
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
  const messages = [{ role: "user", content: ask }];
  const whole = await client.chat.completions.create({ model: "scripted", messages, tools });
  check("chat call", whole.choices[0].message.tool_calls[0].function.arguments, '{"city": "Oslo"}');
  const stream = client.chat.completions.stream({ model: "scripted", messages, tools });
  const final = await stream.finalChatCompletion();
  check("chat stream", final.choices[0].message.tool_calls[0].function.name, "get_weather");
  check("chat reason", final.choices[0].finish_reason, "tool_calls");
  const response = await client.responses.create({
    model: "scripted", input: ask, tools: [{ type: "function", name: "get_weather", parameters: schema, strict: false }],
  });
  check("responses call", response.output.at(-1).arguments, '{"city": "Oslo"}');
  const events = [];
  for await (const event of await client.responses.create({ model: "scripted", input: "hello", stream: true })) events.push(event.type);
  check("responses stream", [events[0], events.at(-1)], ["response.created", "response.completed"]);
}

{
  const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
  const messages = [{ role: "user", content: ask }];
  const own = [{ name: "get_weather", input_schema: schema }];
  const whole = await client.messages.create({ model: "scripted", max_tokens: 500, messages, tools: own });
  check("messages call", whole.content.at(-1).input, { city: "Oslo" });
  const final = await client.messages.stream({ model: "scripted", max_tokens: 500, messages, tools: own }).finalMessage();
  check("messages stream", [final.stop_reason, final.content.at(-1).input], ["tool_use", { city: "Oslo" }]);
}

{
  const provider = createOpenAICompatible({ name: "callgate", baseURL: `${url}/v1` });
  const run = [];
  const weather = tool({
    description: "The weather.", inputSchema: jsonSchema(schema),
    execute: async ({ city }) => { run.push(city); return `rain in ${city}`; },
  });
  const settings = { model: provider("scripted"), prompt: ask, tools: { get_weather: weather }, stopWhen: stepCountIs(3) };
  const whole = await generateText(settings);
  check("ai sdk", [whole.text, run], ["get_weather says: rain in Oslo", ["Oslo"]]);
  const stream = streamText(settings);
  let text = "";
  for await (const piece of stream.textStream) text += piece;
  check("ai sdk stream", [text, run], ["get_weather says: rain in Oslo", ["Oslo", "Oslo"]]);
}

console.log(`${checks} checks passed`);

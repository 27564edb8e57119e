// Tools: lists of them from objects of any form, JSON Schema, zod schemas and sets of the AI SDK. The core reads what comes of it.

import { CallgateError, kind, text } from './errors.js';
import { encode } from './json.js';

/** The tools of an argument as JSON text: of a list, of one tool, of `{tools: […]}`, or of tools by name. */
export function toolsJson(tools) {
  if (tools === undefined || tools === null) return undefined;
  if (typeof tools === 'string') return text(tools, 'tools');
  return encode(list(tools), 'tools');
}

function list(tools) {
  if (typeof tools !== 'object' && typeof tools !== 'function') throw notATool(tools);
  if (Array.isArray(tools)) return tools.map(tool);
  if (schemaOf(tools) !== undefined) return [tool(tools)];
  if (typeof tools[Symbol.iterator] === 'function') return Array.from(tools, tool);
  if (Array.isArray(tools.tools)) return { ...tools, tools: tools.tools.map(tool) };
  if (isTool(tools)) return [tool(tools)];
  // As the AI SDK has them: tools by name.
  return Object.entries(tools).map(([name, entry]) => tool(isObject(entry) ? { name, ...entry } : entry));
}

function isObject(value) {
  return typeof value === 'object' && value !== null;
}

/** Whether an object is one tool, and not tools by name. */
function isTool(entry) {
  const isName = typeof entry.name === 'string' || typeof entry.title === 'string';
  return isName || typeof entry.type === 'string' || isObject(entry.function?.parameters);
}

/** One tool: an object of any form, a bare JSON Schema with a title, or a schema that can say what it is. */
function tool(entry) {
  const schema = schemaOf(entry);
  if (schema !== undefined) return titled(schema);
  if (!isObject(entry) || Array.isArray(entry)) throw notATool(entry);
  const isSchema = entry.name === undefined && entry.function === undefined && (isObject(entry.properties) || entry.$schema !== undefined);
  if (isSchema && typeof entry.title === 'string') return titled(entry);
  if (isObject(entry.function)) return { ...entry, function: plain(entry.function) };
  return plain(entry);
}

/** The members of a tool that describe it; those that run it, or belong to its host, stay behind. */
function plain(entry) {
  const { name, inputSchema, input_schema, parameters, schema, execute, outputSchema, toModelOutput, ...rest } = entry;
  const given = parameters ?? inputSchema ?? input_schema ?? schema;
  if (given === undefined) return { name, ...rest };
  return { name, ...rest, parameters: schemaOf(given) ?? given };
}

function titled(schema) {
  const { title, description, ...parameters } = schema;
  if (typeof title !== 'string') {
    const help = 'give it one with .meta({ title: \'…\' }), or write { name, description, parameters: schema }';
    throw new CallgateError('bad-tool', 'a schema alone has no name', help);
  }
  return { name: title, description: description ?? '', parameters };
}

/** The JSON Schema of a schema that can say it: of zod, of whatever follows Standard Schema, or of the AI SDK. */
function schemaOf(value) {
  if (!isObject(value) && typeof value !== 'function') return undefined;
  const standard = value['~standard'];
  if (typeof standard?.jsonSchema?.input === 'function') {
    return made(() => standard.jsonSchema.input({ target: 'draft-2020-12' }));
  }
  if (typeof value.toJSONSchema === 'function') return made(() => value.toJSONSchema());
  if (isObject(value.jsonSchema) && typeof value.jsonSchema.then !== 'function') return value.jsonSchema;
  if (isObject(value._zod) || isObject(value._def) || isObject(standard)) {
    const help = 'give its JSON Schema, as z.toJSONSchema(schema)';
    throw new CallgateError('bad-tool', 'this schema cannot say what it is as JSON Schema', help);
  }
  return undefined;
}

function made(make) {
  try {
    return make();
  } catch (error) {
    const help = 'use types that JSON has, or give a JSON Schema';
    throw new CallgateError('bad-tool', `no JSON Schema can be made of this schema: ${error?.message ?? 'it threw'}`, help, { cause: error });
  }
}

function notATool(value) {
  const help = 'give an object in the form of OpenAI, Anthropic or MCP, a JSON Schema with a title, or a zod schema';
  return new CallgateError('bad-tool', `nothing can be made of a tool that is ${kind(value)}`, help);
}

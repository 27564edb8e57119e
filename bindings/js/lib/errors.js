// Errors: the one class of errors of this package, with a code, a place and a way out.

/** What is wrong, where, and what to do about it. What a model writes never throws: it comes out as events. */
export class CallgateError extends Error {
  constructor(code, message, help = '', place = {}) {
    const { span = null, pointer = null, index = null, tool = null, line = null, column = null } = place;
    let who = '';
    if (tool !== null) who = index === null ? `tool \`${tool}\`: ` : `tool ${index} \`${tool}\`: `;
    else if (index !== null) who = `tool ${index}: `;
    let where = '';
    if (line !== null) where = ` at line ${line}, column ${column}`;
    else if (pointer) where = ` at ${pointer}`;
    else if (span !== null) where = ` at byte ${span[0]}`;
    super(`${who}${message}${where} (${code}).${help && ` ${help}`}`, place.cause && { cause: place.cause });
    this.name = 'CallgateError';
    this.code = code;
    this.help = help;
    this.span = span;
    this.pointer = pointer;
    this.index = index;
    this.tool = tool;
    this.line = line;
    this.column = column;
  }
}

/** The error that the core tells as JSON. */
export function told(json) {
  const { code, message, help, ...place } = JSON.parse(json);
  return new CallgateError(code, message, help, place);
}

/** A value of the wrong type. */
export function wrongType(value, name, wanted) {
  return new CallgateError('wrong-type', `${name} must be ${wanted}, not ${kind(value)}`, 'see the types of the package');
}

/** What a value is, in a word or two; never fails, whatever the value does when it is looked at. */
export function kind(value) {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  try {
    const name = value.constructor?.name;
    return typeof name === 'string' && name && name !== 'Object' ? name : 'an object';
  } catch {
    return 'an object';
  }
}

const isWellFormed = String.prototype.isWellFormed
  ? (text) => text.isWellFormed()
  : (text) => !/\p{Surrogate}/u.test(text);

/** Above this many bytes a text is refused: a module has 4 GB at most, and a text is in it several times. */
export const LARGEST = 64 << 20;

function tooLarge(name, size) {
  const help = 'give it in chunks: gate.session().push(chunk)';
  return new CallgateError('too-large', `${name} has ${size}, and no more than ${LARGEST} bytes can be read at once`, help);
}

/** The text of an argument. Anything else than a string is named, and so is a string that is no text. */
export function text(value, name) {
  if (typeof value !== 'string') throw wrongType(value, name, 'a string');
  if (!isWellFormed(value)) throw loneSurrogate(value, name);
  if (value.length > LARGEST / 3) checkSize(value, name);
  return value;
}

function checkSize(value, name) {
  if (value.length > LARGEST) throw tooLarge(name, `${value.length} characters`);
  let bytes = value.length;
  for (let at = 0; at < value.length; at++) {
    const unit = value.charCodeAt(at);
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  if (bytes > LARGEST) throw tooLarge(name, `${bytes} bytes`);
}

/** The bytes of an argument. */
export function bytes(value, name) {
  if (value.byteLength > LARGEST) throw tooLarge(name, `${value.byteLength} bytes`);
  return value;
}

function loneSurrogate(value, name) {
  const at = value.search(/\p{Surrogate}/u);
  const help = 'pass bytes, or text.toWellFormed()';
  return new CallgateError('lone-surrogate', `${name} holds half of a surrogate pair at character ${at}, which is no text`, help);
}

/** The text of an argument that may be left out. */
export function optionalText(value, name) {
  return value === undefined || value === null ? undefined : text(value, name);
}

/** The options of a call: an object, and nothing in it that nobody knows. */
export function options(value, names) {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(value, 'options', 'an object');
  for (const name of Object.keys(value)) {
    if (!names.includes(name)) {
      throw new CallgateError('unknown-option', `there is no option \`${name}\``, `there are ${names.join(', ')}`);
    }
  }
  return value;
}

// The core: the module is loaded once, wherever this runs, and every call of it goes through `cross`.

import { CallgateError, told } from './errors.js';
import * as glue from '../wasm/core.js';

const place = new URL('../wasm/core_bg.wasm', import.meta.url);

/** The module, from the disk where there is one, else from where this file came from. */
async function load() {
  const files = place.protocol === 'file:' ? globalThis.process?.getBuiltinModule?.('node:fs') : undefined;
  if (files) return WebAssembly.compile(files.readFileSync(place));
  const answer = await fetch(place);
  if (!answer.ok) {
    throw new CallgateError('not-loaded', `${place} answered ${answer.status}`, 'serve the file `wasm/core_bg.wasm` of the package');
  }
  return WebAssembly.compile(await answer.arrayBuffer());
}

glue.initSync({ module: await load() });

/** Counts the instances of the core. What an instance held is gone with it. */
export let generation = 0;

/** Calls the core. What it tells as an error is thrown as one; should it ever stop, another instance takes its place. */
export function cross(call) {
  try {
    return call(glue);
  } catch (thrown) {
    throw failed(thrown);
  }
}

function failed(thrown) {
  if (typeof thrown === 'string') return told(thrown);
  if (thrown instanceof CallgateError) return thrown;
  restart();
  const help = 'make a new session and try again; please report what was given, this is a mistake of callgate';
  return new CallgateError('core-lost', `the core stopped: ${thrown?.message ?? thrown}`, help, { cause: thrown });
}

/** Puts another instance of the core in the place of this one. */
function restart() {
  generation += 1;
  glue.__wbg_reset_state();
}

export const version = glue.version();

// Makes the playground as one file: `node playground.mjs PACKAGE FILE`. It is the page of the gateway with the core in it, so that it reads
// without a server, from the disk.

import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const [folder, file] = process.argv.slice(2);
const page = readFileSync(new URL('../../crates/callgate-gateway/src/page.html', import.meta.url), 'utf8');
const glue = readFileSync(`${folder}/wasm/core.js`);
const module = gzipSync(readFileSync(`${folder}/wasm/core_bg.wasm`), { level: 9 });

/** Runs in the page, before its own script: reads as the server would, and answers in its words. */
function inPage(glueText, moduleText) {
  const KINDS = { call_started: 'started' };
  let loaded;

  async function load() {
    const core = await import(`data:text/javascript;base64,${glueText}`);
    const packed = Uint8Array.from(atob(moduleText), (char) => char.charCodeAt(0));
    const unpacked = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip')));
    core.initSync({ module: await WebAssembly.compile(await unpacked.arrayBuffer()) });
    return core;
  }

  /** An event in the words of the page. Places in bytes are what it colours by. */
  function shown(written, chunk) {
    if (written[0] === 2) return { kind: 'arguments', text: written[2], span: null, chunk };
    if (Array.isArray(written)) return { kind: written[0] === 0 ? 'text' : 'reasoning', text: written[1], span: written[2], chunk };
    const event = written.json ? JSON.parse(written.json) : (written.of ?? written);
    const { call, rejected, finding } = event;
    const text = event.name;
    const span = (call ?? rejected ?? event).span ?? null;
    return { kind: KINDS[event.event] ?? event.event, text, call, rejected, finding, span, chunk };
  }

  window.readHere = async ({ text, tools, cut }) => {
    const core = await (loaded ??= load());
    const spec = { strict_tools: false, model: null, dialects: [], profile: null, knobs: {} };
    let gate;
    try {
      gate = new core.Gate(JSON.stringify(spec), tools === null ? undefined : JSON.stringify(tools));
      const session = gate.session();
      const characters = [...text.toWellFormed()];
      const events = [];
      let chunks = 0;
      for (let at = 0; at < characters.length; at += cut, chunks++) {
        const said = JSON.parse(session.push(characters.slice(at, at + cut).join('')));
        events.push(...said.map((event) => shown(event, chunks)));
      }
      events.push(...JSON.parse(session.finish('stop')).map((event) => shown(event, chunks)));
      session.free();
      return { events, chunks };
    } catch (thrown) {
      if (typeof thrown !== 'string') return { error: String(thrown) };
      const { message, help } = JSON.parse(thrown);
      return { error: `${message}; ${help}` };
    } finally {
      gate?.free();
    }
  };
  // Of the page, only the playground needs no server.
  document.addEventListener('DOMContentLoaded', () => {
    document.getElementById('tab-try').click();
    document.querySelector('nav').hidden = true;
    document.getElementById('state').textContent = 'reads in this page; nothing is sent anywhere';
  });
}

const script = `<script>(${inPage})(${JSON.stringify(glue.toString('base64'))}, ${JSON.stringify(module.toString('base64'))});</script>`;
const at = page.indexOf('<script>');
if (at < 0 || !page.includes('window.readHere')) throw new Error('the page of the gateway has no place for the core');
writeFileSync(file, `${page.slice(0, at)}${script}\n${page.slice(at)}`);

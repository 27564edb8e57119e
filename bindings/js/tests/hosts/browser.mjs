// A real browser, by `scripts/js --all`: the package as it is served, in a page and in a worker, and the playground as one file, which reads
// from the disk, and in which nothing of a model runs. `node browser.mjs PACKAGE PLAYGROUND [PICTURES]`, with playwright-core beside it.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';

import { chromium } from 'playwright-core';

const [folder, file, pictures] = process.argv.slice(2);
const HOSTILE = '<img src=x onerror=window.hit=1> <script>window.hit=1</script> "><svg onload=window.hit=1> é😀';
const KINDS = { '.js': 'text/javascript', '.wasm': 'application/wasm' };
const WORKER = `import { Gate } from '/lib/index.js'; postMessage(new Gate().parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>').calls[0].name);`;

function check(holds, why) {
  if (holds) return;
  console.error(`FAILED: browser: ${why}`);
  process.exit(1);
}

const server = createServer(async ({ url }, answer) => {
  if (url === '/') return answer.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><link rel="icon" href="data:,">');
  if (url === '/worker.js') return answer.writeHead(200, { 'content-type': 'text/javascript' }).end(WORKER);
  const body = await readFile(`${folder}${url}`).catch(() => undefined);
  answer.writeHead(body ? 200 : 404, { 'content-type': KINDS[extname(url)] ?? 'text/plain' }).end(body);
}).listen(0, '127.0.0.1');
await new Promise((listening) => server.once('listening', listening));
const address = `http://127.0.0.1:${server.address().port}/`;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
const said = [];
page.on('console', (message) => message.type() === 'error' && said.push(message.text()));
page.on('pageerror', (error) => said.push(error.message));

await page.goto(address);
const served = await page.evaluate(async () => {
  const { Gate } = await import('/lib/index.js');
  const types = [];
  const stream = new Blob(['Hé <tool_call>{"name": "f", "arguments": {}}</tool_call>']).stream();
  for await (const event of new Gate().stream(stream)) types.push(event.type);
  const worker = new Worker('/worker.js', { type: 'module' });
  const name = await new Promise((told, failed) => {
    worker.onmessage = ({ data }) => told(data);
    worker.onerror = ({ message }) => failed(new Error(message));
  });
  return [types.at(-1), name];
});
check(served.join() === 'call,f', `the package reads ${served}`);

page.on('request', (request) => /^(file|data|blob):/.test(request.url()) || said.push(`asked for ${request.url()}`));
await page.goto(pathToFileURL(file).href);
await page.waitForSelector('#try:visible');
await page.fill('#text', `${HOSTILE}\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": "2",}}</tool_call>`);
await page.click('#play');
await page.waitForSelector('#played td');
const kinds = await page.locator('#played td:nth-child(2)').allTextContents();
check(kinds.includes('call') && kinds.includes('text'), `the playground reads ${kinds}`);
check((await page.locator('#played pre').first().textContent()).startsWith(HOSTILE), 'the text is not shown as it is');
check((await page.locator('#played pre .call').count()) === 1, 'the call is not coloured');
if (pictures) await page.screenshot({ path: `${pictures}/playground.png`, fullPage: true });
await page.fill('#tools', '[{"name": "a"}, {"name": "a"}]');
await page.click('#play');
await page.waitForSelector('#played p.rejected');
check(!(await page.evaluate(() => window.hit)), 'text of a model ran');
check(said.length === 0, said.join('; '));
await browser.close();
server.close();
console.log('browser: as it should be');

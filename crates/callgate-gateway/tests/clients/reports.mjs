// Reports in a real browser: they ask for nothing, nothing of a transcript runs, they fit a phone, and keys reach what
// folds. Run by scripts/clients --all; arguments are the command, the address of a gateway, and a folder for pictures.

import { chromium } from "playwright-core";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";

import { HOSTILE } from "./hostile.mjs";

const [callgate, url, pictures] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "callgate-reports-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

function fail(why) {
  console.error(`FAILED: reports: ${why}`);
  process.exit(1);
}

function run(args, input) {
  const ended = spawnSync(callgate, args, { input });
  if (ended.status > 1) fail(`callgate ${args[0]}: ${ended.stderr}`);
}

const tool = (name) => ({ name, parameters: { type: "object", properties: { q: { type: "string" } } } });
const written = (name, q) => `<tool_call>{"name": ${JSON.stringify(name)}, "arguments": {"q": ${JSON.stringify(q)},}}</tool_call>`;
const lines = HOSTILE.flatMap((text) => [
  { id: text, model: text, text: `<think>${text}</think>${text}\n${written("look", text)}`, tools: [tool("look")] },
  { id: text, model: text, text: `${text} ${written(text, text)}`, tools: [tool("look")] },
]);
const scanned = join(folder, "scan.html");
run(["scan", "--quiet", "--report", scanned], lines.map((line) => JSON.stringify(line)).join("\n"));
const tasks = HOSTILE.map((text) => ({ name: text, question: `call look ${JSON.stringify({ q: text })}`, tools: [tool("look")], expect: "no call" }));
writeFileSync(join(folder, "tasks.json"), JSON.stringify(tasks));
const verified = join(folder, "verify.html");
run(["verify", "--endpoint", url, "--model", HOSTILE[1], "--requests", join(folder, "tasks.json"), "--report", verified]);

const pages = [scanned, verified];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [name, options] of [
  ["light", { colorScheme: "light", viewport: { width: 1200, height: 900 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1200, height: 900 } }],
  ["phone", { colorScheme: "light", viewport: { width: 380, height: 760 } }],
]) {
  for (const file of pages) {
    const address = pathToFileURL(file).href;
    const where = `${basename(file)}, ${name}`;
    const page = await browser.newPage(options);
    const said = [];
    page.on("console", (message) => { if (message.type() === "error") said.push(message.text()); });
    page.on("pageerror", (error) => said.push(error.message));
    page.on("dialog", () => said.push("a dialog"));
    page.on("request", (request) => { if (request.url() !== address) said.push(`asked for ${request.url()}`); });
    await page.goto(address);
    const seen = await page.evaluate(() => ({
      // What a transcript could have become, were it not text.
      foreign: [...document.querySelectorAll("script, img, iframe, svg, object, embed, b:not(.cards b), base, form")].map((one) => one.outerHTML),
      handlers: [...document.querySelectorAll("*")].filter((one) => [...one.attributes].some((has) => has.name.startsWith("on"))).length,
      links: [...document.querySelectorAll("a")].map((one) => one.getAttribute("href")).filter((link) => !/^#[a-z0-9-]+$/.test(link) || !document.getElementById(link.slice(1))),
    }));
    if (seen.foreign.length || seen.handlers || seen.links.length) fail(`${where}: ${JSON.stringify(seen)}`);
    if (pictures) await page.screenshot({ path: `${pictures}/${basename(file, ".html")}-${name}.png`, fullPage: true });
    // Everything that folds can be reached and opened without a mouse.
    const folded = page.locator("details:not([open]) > summary").first();
    if (await folded.count()) {
      const handle = await folded.elementHandle();
      await handle.focus();
      await page.keyboard.press("Enter");
      if (!(await handle.evaluate((one) => one.parentElement.open))) fail(`${where}: a key opens nothing`);
    }
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (wide > 0) fail(`${where}: ${wide} pixels too wide`);
    if (await page.evaluate(() => window.hit)) fail(`${where}: text of a transcript ran`);
    if (said.length) fail(`${where}: ${said.join("; ")}`);
    await page.close();
  }
}
await browser.close();
console.log("reports: as they should be");

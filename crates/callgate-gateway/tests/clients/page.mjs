// The gateway's page in a real browser: it shows an exchange live, its playground reads, nothing of a model runs. Run by
// scripts/clients --all; the second argument is a folder for pictures.

import { chromium } from "playwright-core";

import { HOSTILE } from "./hostile.mjs";

const [url, pictures] = process.argv.slice(2);

function fail(why) {
  console.error(`FAILED: page: ${why}`);
  process.exit(1);
}

async function exchange(text) {
  const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: { q: { type: "string" } } } } }];
  const content = `call look ${JSON.stringify({ q: text }).slice(0, -1)},}`;
  await fetch(`${url}/v1/chat/completions`, {
    method: "POST", headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: text, messages: [{ role: "user", content }], tools }),
  });
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [name, options] of [
  ["light", { colorScheme: "light", viewport: { width: 1200, height: 800 } }],
  ["dark", { colorScheme: "dark", viewport: { width: 1200, height: 800 } }],
  ["phone", { colorScheme: "light", viewport: { width: 380, height: 760 } }],
]) {
  const page = await browser.newPage(options);
  const said = [];
  page.on("console", (message) => { if (message.type() === "error") said.push(message.text()); });
  page.on("pageerror", (error) => said.push(error.message));
  page.on("dialog", () => said.push("a dialog"));
  await page.goto(`${url}/`);
  await page.waitForFunction(() => document.getElementById("state").textContent === "live");
  const before = await page.locator("#list button").count();
  for (const text of HOSTILE) await exchange(text);
  await page.waitForFunction((number) => document.querySelectorAll("#list button").length >= number, before + HOSTILE.length);
  await page.keyboard.press("j");
  await page.waitForSelector("#one pre .call");
  if (pictures) await page.screenshot({ path: `${pictures}/exchanges-${name}.png` });
  await page.click("#tab-counts");
  if (!(await page.locator("#by-code td").count())) fail("no counts");
  await page.click("#tab-try");
  await page.fill("#text", `${HOSTILE.join("\n")}\n<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": "2",}}</tool_call>`);
  await page.click("#play");
  await page.waitForSelector("#played td");
  const kinds = await page.locator("#played td:nth-child(2)").allTextContents();
  if (!kinds.includes("call")) fail(`the playground reads no call: ${kinds}`);
  const number = parseInt(await page.locator("#played > p").textContent(), 10);
  const places = (await page.locator("#played td:first-child").allTextContents()).flatMap((text) => text.match(/\d+/g) || []);
  if (places.some((place) => Number(place) > number)) fail(`the playground speaks of chunks behind the last of ${number}: ${places}`);
  if (pictures) await page.screenshot({ path: `${pictures}/playground-${name}.png`, fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 0) fail(`${name}: ${wide} pixels too wide`);
  if (await page.evaluate(() => window.hit)) fail("text of a model ran");
  if (said.length) fail(`${name}: ${said.join("; ")}`);
  await page.close();
}
await browser.close();
console.log("page: as it should be");

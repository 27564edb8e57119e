// Reports in a real browser: they ask for nothing, nothing of a transcript runs, they fit a phone, and keys reach what
// folds. Run by scripts/clients --all; arguments are a folder for pictures (or "") and the pages.

import { chromium } from "playwright-core";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const [pictures, ...pages] = process.argv.slice(2);

function fail(why) {
  console.error(`FAILED: reports: ${why}`);
  process.exit(1);
}

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

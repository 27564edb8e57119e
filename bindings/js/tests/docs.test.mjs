// The documents: every block of JavaScript runs, in the order of its page.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = process.env.CALLGATE_ROOT;
if (!root) throw new Error('CALLGATE_ROOT must be set; scripts/js sets it');

for (const page of ['docs/javascript.md', 'bindings/js/README.md']) {
  test(`every block of ${page} runs`, async () => {
    const text = readFileSync(`${root}/${page}`, 'utf8');
    const blocks = [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
    assert(blocks.length > 0);
    assert.equal(text.split('```js').length - 1, blocks.length, 'a block that is not closed, or is indented');
    // One module: imports are found from where the tests are.
    const folder = mkdtempSync(fileURLToPath(new URL('./page-', import.meta.url)));
    const file = `${folder}/page.mjs`;
    try {
      writeFileSync(file, ["import assert from 'node:assert/strict';", ...blocks].join('\n'));
      await import(pathToFileURL(file).href);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

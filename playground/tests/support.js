// Shared by the tests of the page: a web server, a browser, and the command to compare with.

import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

export const ROOT = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
/** Where scripts/build-playground has put the page. */
export const PAGE = resolve(process.env.PLAYGROUND ?? join(ROOT, "out/playground"));
/** The command. */
export const WINDLASS = resolve(process.env.WINDLASS ?? join(ROOT, "target/release/windlass"));

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
};

/** Serves a folder, compressed; `sent` counts the bytes of each path. */
export async function serve(folder) {
  const sent = new Map();
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    const name = path.endsWith("/") ? `${path}index.html` : path;
    try {
      const contents = gzipSync(await readFile(join(folder, name)), { level: 9 });
      sent.set(name, contents.length);
      response.writeHead(200, { "content-type": TYPES[extname(name)] ?? "text/plain", "content-encoding": "gzip" });
      response.end(contents);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}/`, sent, close: () => server.close() };
}

/** Debian's Chromium. */
export function launch() {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

/** Waits until the page has shown the results of its last change, or its problems. */
export async function settled(page, state = "done") {
  await page.waitForFunction((expected) => document.body.dataset.state === expected, state);
}

/** The output of `windlass sim run FILE --json`. */
export async function simRun(file) {
  const options = { maxBuffer: 64 << 20 };
  const { stdout } = await promisify(execFile)(WINDLASS, ["sim", "run", file, "--json"], options);
  return stdout;
}

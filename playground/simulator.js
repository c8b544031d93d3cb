// The page's side of the simulator: one worker for each run at a time.

let compiled;

function compile() {
  const url = new URL("./windlass_playground.wasm", import.meta.url);
  compiled ??= fetch(url).then(async (response) => {
    if (!response.ok) throw new Error(`${url.pathname}: ${response.status}`);
    return WebAssembly.compile(await response.arrayBuffer());
  });
  return compiled;
}

/** Runs one scenario after the other; a new run ends the one before. */
export class Simulator {
  #worker;
  #id = 0;
  #current;

  /**
   * Resolves to what the worker answers (see worker.js), or to `undefined` if another run replaced this one.
   * `progress` is called with parts from 0 to 1.
   */
  async run(text, { files = false, progress = () => {} } = {}) {
    this.cancel();
    const id = ++this.#id;
    let module;
    try {
      module = await compile();
    } catch (error) {
      // The next run tries again.
      compiled = undefined;
      return { failure: `The simulator could not be loaded (${error.message}).` };
    }
    if (id !== this.#id) return undefined;
    this.#worker ??= start(module);
    const worker = this.#worker;
    return new Promise((resolve) => {
      this.#current = resolve;
      worker.onmessage = ({ data }) => {
        if (data.id !== id) return;
        if (data.progress !== undefined) return progress(data.progress);
        this.#current = undefined;
        resolve(data);
      };
      worker.onerror = (event) => {
        this.#worker = undefined;
        this.#current = undefined;
        resolve({ failure: event.message ?? "The worker ended." });
      };
      worker.postMessage({ id, text, files });
    });
  }

  /** Ends the current run, if there is one. The worker cannot be interrupted, so another takes its place. */
  cancel() {
    this.#id++;
    if (!this.#current) return;
    this.#worker.terminate();
    this.#worker = undefined;
    this.#current(undefined);
    this.#current = undefined;
  }
}

function start(module) {
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  worker.postMessage({ module });
  return worker;
}

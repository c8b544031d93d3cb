// One run in an instance of the module: texts in, texts out.

/** Parts of the width of a plot, and of its time for mean rates. */
const CURVE_SPANS = 800;
const RATE_SPANS = 60;
/** A run is looked at after each of these parts of it. */
const STEP = 0.02;
const PROGRESS_EVERY_MS = 100;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Runs scenarios with the exports of one instance. After an exception it cannot be used again. */
export class Runner {
  constructor(simulator) {
    this.simulator = simulator;
  }

  /** The answer of worker.js, without the id; `report` is called now and then with the part that is over. */
  run(text, files, report) {
    const begun = performance.now();
    this.#write(text);
    if (!this.simulator.begin(files ? 1 : 0)) return { problems: this.#answer() };
    let reported = begun;
    for (let progress = 0; progress < 1; ) {
      progress = this.simulator.advance(STEP);
      if (performance.now() - reported > PROGRESS_EVERY_MS) {
        reported = performance.now();
        report(progress);
      }
    }
    if (files) {
      this.simulator.finish_with_files();
      return { files: this.#answer() };
    }
    this.simulator.finish(CURVE_SPANS, RATE_SPANS);
    const outcome = this.#answer();
    return { outcome, seconds: (performance.now() - begun) / 1000 };
  }

  #write(text) {
    const bytes = encoder.encode(text);
    const address = this.simulator.input(bytes.length);
    new Uint8Array(this.simulator.memory.buffer, address, bytes.length).set(bytes);
  }

  #answer() {
    const { memory, output, output_length } = this.simulator;
    return JSON.parse(decoder.decode(new Uint8Array(memory.buffer, output(), output_length())));
  }
}

// Runs scenarios beside the page. The page sends the compiled module once, then runs:
//   { id, text, files }
// and gets, with the same id, any number of { progress } and in the end one of
//   { outcome, seconds }   the summary and the plots, and how long the run took
//   { files }              pairs of name and contents, as `windlass sim run --out` writes them
//   { problems }           what is wrong with the text
//   { failure }            the simulator ended without a result

import { Runner } from "./run.js";

let module;
let runner;

addEventListener("message", async ({ data: { module: given, id, text, files } }) => {
  if (given) {
    module = given;
    return;
  }
  try {
    runner ??= new Runner((await WebAssembly.instantiate(module)).exports);
    postMessage({ id, ...runner.run(text, files, (progress) => postMessage({ id, progress })) });
  } catch (error) {
    // Its memory may be inconsistent after a failure.
    runner = undefined;
    postMessage({ id, failure: String(error) });
  }
});

// Prints the seconds of each run of an ONNX file, after a first one; bench/frozen_runtimes.py
// calls it. Usage: node onnx_time.js MODEL BATCH SIDE THREADS RUNS
const ort = require("onnxruntime-node");
const [model, batch, side, threads, runs] = process.argv.slice(2);

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: Number(threads), graphOptimizationLevel: "all" });
  const dims = [Number(batch), 3, Number(side), Number(side)];
  const x = Float32Array.from({ length: dims.reduce((a, b) => a * b) }, () => Math.random() - 0.5);
  for (let i = 0; i <= Number(runs); i++) {
    const began = process.hrtime.bigint();
    await session.run({ [session.inputNames[0]]: new ort.Tensor("float32", x, dims) });
    if (i > 0) console.log(Number(process.hrtime.bigint() - began) / 1e9);
  }
}
main().catch((error) => { console.error(error); process.exit(1); });

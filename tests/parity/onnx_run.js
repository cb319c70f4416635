// Runs an ONNX file on float32 images; tests/parity/export.py calls it. OUT gets {name: {dims,
// data}}. Usage: node onnx_run.js MODEL X DIMS OUT
const fs = require("fs");
const ort = require("onnxruntime-node");
const [model, x, dims, out] = process.argv.slice(2);

async function main() {
  const session = await ort.InferenceSession.create(model);
  const bytes = fs.readFileSync(x);
  const data = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const results = await session.run({ x: new ort.Tensor("float32", data, dims.split(",").map(Number)) });
  const text = {};
  for (const name of session.outputNames)
    text[name] = { dims: results[name].dims, data: Array.from(results[name].data) };
  fs.writeFileSync(out, JSON.stringify(text));
}
main().catch((error) => { console.error(error); process.exit(1); });

// SPDX-License-Identifier: MIT
//
// ort.mjs MODEL Y X.npy...    what onnxruntime computes of a model and its inputs, of float32 and
//                             int64: output i as float32, Y.i.npy

import fs from 'fs';
import * as ort from 'onnxruntime-web';

function read(path) {
  const file = fs.readFileSync(path), at = 10 + file.readUInt16LE(8);
  const head = file.slice(10, at).toString();
  const shape = [...head.match(/\(([^)]*)\)/)[1].matchAll(/\d+/g)].map((m) => Number(m[0]));
  const bytes = file.buffer.slice(file.byteOffset + at, file.byteOffset + file.length);
  return head.includes('<i8') ? new ort.Tensor('int64', new BigInt64Array(bytes), shape)
                              : new ort.Tensor('float32', new Float32Array(bytes), shape);
}

function write(path, tensor) {
  const dims = tensor.dims.map((d) => `${d},`).join(' ');
  let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${dims}), }`;
  header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
  const head = Buffer.from('\x93NUMPY\x01\x00\0\0' + header, 'latin1');
  head.writeUInt16LE(header.length, 8);
  fs.writeFileSync(path, Buffer.concat([head, Buffer.from(tensor.data.buffer,
                                                          tensor.data.byteOffset,
                                                          tensor.data.byteLength)]));
}

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const [model, to, ...from] = process.argv.slice(2);
const session = await ort.InferenceSession.create(fs.readFileSync(model));
const inputs = session.inputNames.map((name, i) => [name, read(from[i])]);
const results = await session.run(Object.fromEntries(inputs));
session.outputNames.forEach((name, i) => write(`${to}.${i}.npy`, results[name]));

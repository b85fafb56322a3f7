// SPDX-License-Identifier: MIT
//
// ort.mjs MODEL X.npy Y.npy    what onnxruntime computes of a model and one input, as float32

import fs from 'fs';
import * as ort from 'onnxruntime-web';

ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const [model, from, to] = process.argv.slice(2);
const file = fs.readFileSync(from), at = 10 + file.readUInt16LE(8);
const shape = [...file.slice(10, at).toString().match(/\(([^)]*)\)/)[1].matchAll(/\d+/g)];
const values = new Float32Array(file.buffer.slice(file.byteOffset + at,
                                                  file.byteOffset + file.length));
const session = await ort.InferenceSession.create(fs.readFileSync(model));
const input = new ort.Tensor('float32', values, shape.map((m) => Number(m[0])));
const results = await session.run({[session.inputNames[0]]: input});
const first = results[session.outputNames[0]];
let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${first.dims.join(', ')},), }`;
header = header.padEnd(Math.ceil((header.length + 11) / 64) * 64 - 11) + '\n';
const head = Buffer.from('\x93NUMPY\x01\x00\0\0' + header, 'latin1');
head.writeUInt16LE(header.length, 8);
fs.writeFileSync(to, Buffer.concat([head, Buffer.from(first.data.buffer, first.data.byteOffset,
                                                      first.data.byteLength)]));

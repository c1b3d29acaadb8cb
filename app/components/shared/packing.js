// The other side of packing.py: header length, JSON header, arrays; all little-endian, as every browser's machine is.
/** @typedef {Uint8Array | Uint16Array | Int32Array | Float32Array} Values */
/** @template {Values} [Kind=Values] @typedef {{ values: Kind, shape: number[] }} Packed */
/** @typedef {Record<string, Packed>} Arrays by name */
/** @typedef {Packed<Float32Array>} Floats */
/** @typedef {Packed<Int32Array>} Ints */
/** @typedef {Packed<Uint8Array>} Bytes */
/** @typedef {{ name: string, dtype: keyof typeof ARRAY_TYPES, shape: number[] }} Described */

const LENGTH_BYTES = 4;
const ARRAY_TYPES = { uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array };

/** @type {(bytes: Uint8Array) => any} */
const readJson = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

/** @param {Uint8Array} bytes @returns {{ header: any, start: number }} */
function unpackHeader(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const start = LENGTH_BYTES + length;
  return { header: readJson(bytes.subarray(LENGTH_BYTES, start)), start };
}

// Name -> { values, shape }. Each is copied out, because a typed array must start at a multiple of its item's size.
/** @param {Uint8Array} bytes @param {{ arrays: Described[] }} header @param {number} start */
function unpackArrays(bytes, header, start) {
  /** @type {Arrays} */
  const arrays = {};
  for (const { name, dtype, shape } of header.arrays) {
    const count = shape.reduce((product, size) => product * size, 1);
    const end = start + count * ARRAY_TYPES[dtype].BYTES_PER_ELEMENT;
    arrays[name] = { values: new ARRAY_TYPES[dtype](bytes.slice(start, end).buffer), shape };
    start = end;
  }
  return arrays;
}

// The other side of packing.py: header length, JSON header, arrays; all little-endian, as every browser's machine is.
const LENGTH_BYTES = 4;
const ARRAY_TYPES = { uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array, float32: Float32Array };

function unpackHeader(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const text = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
  return { header: JSON.parse(new TextDecoder().decode(text)), start: LENGTH_BYTES + length };
}

// Name -> { values, shape }. Each is copied out, because a typed array must start at a multiple of its item's size.
function unpackArrays(bytes, header, start) {
  const arrays = {};
  for (const { name, dtype, shape } of header.arrays) {
    const count = shape.reduce((product, size) => product * size, 1);
    const end = start + count * ARRAY_TYPES[dtype].BYTES_PER_ELEMENT;
    arrays[name] = { values: new ARRAY_TYPES[dtype](bytes.slice(start, end).buffer), shape };
    start = end;
  }
  return arrays;
}

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { prepareZXingModule, readBarcodes } from 'zxing-wasm/reader';
import { encodeOutput } from '../transport/output.ts';
import type { CodesRead, CodesTask } from './protocol.ts';

/** This thread reads bar and QR codes. It is started with the first request for codes. */

sharp.concurrency(1);
sharp.cache(false);

const MAX_CODES = 100;

/** The file comes from the package, because the library would otherwise download it. */
const wasmFile = fileURLToPath(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm'));
const { buffer } = new Uint8Array(await readFile(wasmFile));
prepareZXingModule({ overrides: { wasmBinary: buffer } });

/** Reads every code in a picture, at any angle. */
export default async function read({ picture }: CodesTask): Promise<CodesRead> {
  const flat = sharp(picture).flatten({ background: '#ffffff' }).ensureAlpha().toColourspace('srgb');
  const { data, info } = await encodeOutput(flat.raw());
  const { width, height } = info;
  const pixels = { data: new Uint8ClampedArray(data.buffer), width, height } as Parameters<
    typeof readBarcodes
  >[0];
  const found = await readBarcodes(pixels, { tryHarder: true, maxNumberOfSymbols: MAX_CODES });
  const codes = found
    .filter(({ isValid }) => isValid)
    .map(({ format, text, position }) => {
      const corners = [position.topLeft, position.topRight, position.bottomRight, position.bottomLeft];
      const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
      const [x, y] = [Math.min(...xs), Math.min(...ys)];
      return { format, text, x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
    });
  return { width, height, codes };
}

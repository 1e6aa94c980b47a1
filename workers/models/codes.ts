import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { prepareZXingModule, type ReaderOptions, readBarcodes } from 'zxing-wasm/reader';
import { encodeOutput } from '../transport/output.ts';
import type { CodesTask, ReadCodesResult } from './protocol.ts';

/** This thread reads bar and QR codes. It is started with the first request for codes. */

sharp.concurrency(1);
sharp.cache(false);

const MAX_CODES = 100;

/** The WebAssembly file is read from the package, because the library would otherwise download it. */
const wasmFile = fileURLToPath(import.meta.resolve('zxing-wasm/reader/zxing_reader.wasm'));
const { buffer } = new Uint8Array(await readFile(wasmFile));
prepareZXingModule({ overrides: { wasmBinary: buffer } });

type FoundCode = ReadCodesResult['codes'][number];

interface RgbaPixels {
  data: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
}

/** Reads every code in a picture, at any angle, dark on light or light on dark. */
export default async function readCodes({ picture }: CodesTask): Promise<ReadCodesResult> {
  const flat = sharp(picture).flatten({ background: '#ffffff' }).ensureAlpha().toColourspace('srgb');
  const { data, info } = await encodeOutput(flat.raw());
  const { width, height } = info;
  const pixels = { data: new Uint8ClampedArray(data.buffer), width, height };
  const codes = await readCodesIn(pixels);
  invertColours(pixels.data);
  // The reader finds light matrix codes on dark ground by itself, but light bar codes only in the negative of the
  // picture.
  const light = await readCodesIn(pixels, ['AllLinear', 'PDF417']);
  const others = light.filter((one) => !codes.some((code) => doOverlap(code, one)));
  return { width, height, codes: withoutPartialCodes([...codes, ...others]) };
}

/**
 * Removes codes that are a part of another one. The reader scans along lines. A line that leaves a turned bar code
 * early can give a shorter code, because some kinds, such as ITF, are valid without their last digits. Such a line may
 * lie beside the box of the whole code, so the box is widened.
 */
function withoutPartialCodes(codes: readonly FoundCode[]): FoundCode[] {
  const isPartOf = (code: FoundCode, other: FoundCode) =>
    code.format === other.format &&
    code.text.length < other.text.length &&
    other.text.includes(code.text) &&
    doOverlap(code, withWiderBox(other));
  return codes.filter((code) => !codes.some((other) => isPartOf(code, other)));
}

function withWiderBox({ x, y, width, height, ...code }: FoundCode): FoundCode {
  const margin = Math.max(width, height);
  return { ...code, x: x - margin, y: y - margin, width: width + 2 * margin, height: height + 2 * margin };
}

/**
 * Reads the codes in pixels.
 * @param formats the kinds to look for; all kinds if the list is empty.
 */
async function readCodesIn(pixels: RgbaPixels, formats: ReaderOptions['formats'] = []): Promise<FoundCode[]> {
  const options: ReaderOptions = { formats, tryHarder: true, maxNumberOfSymbols: MAX_CODES };
  const found = await readBarcodes(pixels as Parameters<typeof readBarcodes>[0], options);
  return found
    .filter(({ isValid }) => isValid)
    .map(({ format, text, position }) => {
      const corners = [position.topLeft, position.topRight, position.bottomRight, position.bottomLeft];
      const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
      const [x, y] = [Math.min(...xs), Math.min(...ys)];
      return { format, text, x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
    });
}

/** Turns opaque pixels into their negative. */
function invertColours(rgba: Uint8ClampedArray): void {
  const words = new Uint32Array(rgba.buffer);
  // Inverts the colours and keeps the alpha, which is the highest byte of a word on little-endian machines. Node runs
  // on no others.
  for (let at = 0; at < words.length; at++) words[at] = (words[at] as number) ^ 0x00ffffff;
}

function doOverlap(one: FoundCode, other: FoundCode): boolean {
  const areApart =
    one.x > other.x + other.width ||
    other.x > one.x + one.width ||
    one.y > other.y + other.height ||
    other.y > one.y + one.height;
  return !areApart;
}

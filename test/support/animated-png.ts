import { ByteReader } from '../../workers/formats/bytes.ts';
import { buildPngChunk, pngChunks } from '../../workers/formats/png.ts';

const SIGNATURE_BYTES = 8;

/**
 * An animated PNG of PNG files of one size and colour type.
 * @param hasStillPicture whether the first file is only shown by viewers that know no animation. Otherwise it is the
 *   first frame too.
 */
export function animatedPng(
  files: readonly Buffer[],
  { delayMs = 20, hasStillPicture = false }: { delayMs?: number; hasStillPicture?: boolean } = {},
): Buffer {
  const [first = Buffer.alloc(0)] = files;
  const [header = Buffer.alloc(0)] = chunkContents(first, 'IHDR');
  let sequence = 0;
  const numbered = (type: string, content: Uint8Array) => {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence++);
    return buildPngChunk(type, Buffer.concat([number, content]));
  };
  const frameControl = () => {
    const rest = Buffer.alloc(22);
    rest.set(header.subarray(0, 8));
    rest.writeUInt16BE(delayMs, 16);
    rest.writeUInt16BE(1_000, 18);
    return numbered('fcTL', rest);
  };
  const animation = Buffer.alloc(8);
  animation.writeUInt32BE(files.length - Number(hasStillPicture));
  const pictures = files.flatMap((file, index) => {
    const contents = chunkContents(file, 'IDAT');
    if (index > 0) return [frameControl(), ...contents.map((content) => numbered('fdAT', content))];
    const still = contents.map((content) => buildPngChunk('IDAT', content));
    return hasStillPicture ? still : [frameControl(), ...still];
  });
  return Buffer.concat([
    first.subarray(0, SIGNATURE_BYTES),
    buildPngChunk('IHDR', header),
    buildPngChunk('acTL', animation),
    ...pictures,
    buildPngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunkContents(png: Buffer, wanted: string): Uint8Array[] {
  return [...pngChunks(new ByteReader(png))]
    .filter(({ type }) => type === wanted)
    .map(({ start, end }) => png.subarray(start, end));
}

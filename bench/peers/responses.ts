import sharp, { type Metadata, type Sharp } from 'sharp';
import type { PixelRaster } from '../../workers/image/likeness/levels.ts';
import { computeSsimulacra2 } from '../../workers/image/likeness/ssimulacra2.ts';
import type { PeerCase, PeerSide } from './sides.ts';

/** A right answer: the picture in the format and width that were asked for. */
export interface PeerResponse {
  bytes: number;
  /** SSIMULACRA 2 against the source, which is scaled to the answer's size with a Lanczos kernel. */
  likeness: number;
}

/** An answer that cannot be measured. The message is a sentence without its subject. */
export class WrongResponseError extends Error {}

/** The name that sharp has for a format, if it is another. */
const FORMAT_NAMES: Record<string, string> = { heif: 'avif' };
const MIN_QUALITY = 30;
const MAX_QUALITY = 100;
const QUALITY_STEP = 4;
const EXCERPT_LENGTH = 80;

/** @throws WrongResponseError for another status, no picture, or a picture of another format or width. */
export async function checkedResponse(
  side: PeerSide,
  peerCase: PeerCase,
  quality: number,
): Promise<PeerResponse> {
  const bytes = await readBytes(await requestPicture(side, peerCase, quality));
  const { format, width, height } = await readMetadata(bytes);
  const name = FORMAT_NAMES[format] ?? format;
  if (name !== peerCase.format)
    throw new WrongResponseError(`answered ${name} instead of ${peerCase.format}`);
  if (width !== peerCase.width)
    throw new WrongResponseError(`answered a width of ${width} px instead of ${peerCase.width} px`);
  const likeness = computeSsimulacra2(
    await sourceAt(peerCase, { width, height }),
    await readRaster(sharp(bytes)),
  );
  return { bytes: bytes.byteLength, likeness };
}

/**
 * Requests a picture, and reads the whole body.
 * @throws WrongResponseError for another status, or a type that is not a picture's.
 */
export async function readResponse(side: PeerSide, peerCase: PeerCase, quality: number): Promise<void> {
  const response = await requestPicture(side, peerCase, quality);
  const bytes = await readBytes(response);
  const type = response.headers.get('content-type') ?? 'no type';
  if (!type.startsWith('image/'))
    throw new WrongResponseError(`answered ${bytes.byteLength} bytes of ${type}`);
}

/**
 * The file size that a side needs for a likeness. It is interpolated between the first two qualities around it; the
 * search starts at `quality`. Null if no quality reaches the likeness.
 */
export async function bytesAt(
  likeness: number,
  side: PeerSide,
  peerCase: PeerCase,
  quality: number,
): Promise<number | null> {
  let last = await checkedResponse(side, peerCase, quality);
  const direction = Math.sign(likeness - last.likeness);
  if (direction === 0) return last.bytes;
  for (
    let next = quality + direction * QUALITY_STEP;
    next >= MIN_QUALITY && next <= MAX_QUALITY;
    next += direction * QUALITY_STEP
  ) {
    const answer = await checkedResponse(side, peerCase, next);
    if ((answer.likeness - likeness) * direction >= 0) return interpolateBytes(likeness, last, answer);
    last = answer;
  }
  return null;
}

/** The size at a likeness between two answers, on a logarithmic scale of the size. */
function interpolateBytes(likeness: number, one: PeerResponse, other: PeerResponse): number {
  const share = (likeness - one.likeness) / (other.likeness - one.likeness);
  return one.bytes * (other.bytes / one.bytes) ** share;
}

async function requestPicture(side: PeerSide, peerCase: PeerCase, quality: number): Promise<Response> {
  const response = await side.ask(peerCase, quality).catch((error: Error) => {
    throw new WrongResponseError(
      `did not answer: ${(error.cause as Error | undefined)?.message ?? error.message}`,
    );
  });
  if (response.status === 200) return response;
  const excerpt = (await response.text()).slice(0, EXCERPT_LENGTH).replaceAll(/\s+/g, ' ').trim();
  throw new WrongResponseError(`answered ${response.status}${excerpt && `: ${excerpt}`}`);
}

function readBytes(response: Response): Promise<Buffer> {
  return response.arrayBuffer().then(Buffer.from, () => {
    throw new WrongResponseError('broke off its answer');
  });
}

async function readMetadata(bytes: Buffer): Promise<Metadata> {
  try {
    return await sharp(bytes).metadata();
  } catch {
    throw new WrongResponseError(`answered ${bytes.byteLength} bytes that are not a picture`);
  }
}

function sourceAt(
  { picture }: PeerCase,
  { width, height }: { width: number; height: number },
): Promise<PixelRaster> {
  const upright = sharp(picture.bytes).autoOrient();
  return readRaster(upright.resize({ width, height, fit: 'fill', fastShrinkOnLoad: false }));
}

async function readRaster(image: Sharp): Promise<PixelRaster> {
  const { data, info } = await image
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}

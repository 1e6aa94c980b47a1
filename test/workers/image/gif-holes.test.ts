// needs: nothing
import t from 'tap';
import { readImageHeader } from '../../../src/imaging/images/header/header.ts';
import { made, passOf, raster } from './passes.ts';

/*
 * GIFs of opaque frames that leave a part of the screen empty. Browsers show that part as transparent.
 */

const [WIDTH, HEIGHT] = [6, 4];
const CLEARED = 2;
const RESTORED = 3;
const le16 = (value: number) => [value & 255, value >> 8];

interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  disposal: number;
  /** The index of each pixel, or one index for all pixels. */
  index: number | ((pixel: number) => number);
}

/** A GIF with a colour table of 256 colours, whose background is its last colour. */
function gifWith(frames: readonly Frame[]): Buffer {
  const table = Array.from({ length: 256 }, (_, index) => [index, 255 - index, 128]).flat();
  const head = [...Buffer.from('GIF89a'), ...le16(WIDTH), ...le16(HEIGHT), 0xf7, 255, 0, ...table];
  const blocks = frames.flatMap(({ left, top, width, height, disposal, index }) => {
    const control = [0x21, 0xf9, 4, disposal << 2, 10, 0, 0, 0];
    const place = [...le16(left), ...le16(top), ...le16(width), ...le16(height)];
    return [...control, 0x2c, ...place, 0, 8, ...subBlocksOf(codesOf(width * height, index)), 0];
  });
  return Buffer.from([...head, ...blocks, 0x3b]);
}

/** The codes of pixels, of nine bits each. The table is cleared before the codes need more bits. */
function codesOf(count: number, index: Frame['index']): number[] {
  const codes: number[] = [];
  for (let pixel = 0; pixel < count; pixel++) {
    if (pixel % 200 === 0) codes.push(256);
    codes.push(typeof index === 'number' ? index : index(pixel));
  }
  codes.push(257);
  const bits = codes.map((code) => [...code.toString(2).padStart(9, '0')].reverse().join('')).join('');
  return (bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt([...byte].reverse().join(''), 2));
}

function subBlocksOf(data: readonly number[]): number[] {
  const blocks: number[] = [];
  for (let at = 0; at < data.length; at += 255) {
    const block = data.slice(at, at + 255);
    blocks.push(block.length, ...block);
  }
  return blocks;
}

const whole = { left: 0, top: 0, width: WIDTH, height: HEIGHT };
const middle = { left: 2, top: 1, width: 2, height: 2 };

/** The alpha at the corner and in the middle of each frame, as a pass writes them. */
async function alphasOf(gif: Buffer): Promise<number[][]> {
  const { data } = await made(gif, passOf([], { format: 'webp', lossless: true }));
  const { height, at } = await raster(data);
  return Array.from({ length: height / HEIGHT }, (_, frame) =>
    [0, 1].map((place) => at(place * 2, frame * HEIGHT + place)[3] as number),
  );
}

t.test('the place of a cleared frame is transparent', async (t) => {
  const gif = gifWith([
    { ...whole, disposal: CLEARED, index: 7 },
    { ...middle, disposal: 0, index: 9 },
  ]);
  t.same(await alphasOf(gif), [
    [255, 255],
    [0, 255],
  ]);
  t.match(readImageHeader(gif), { hasAlpha: true, channels: 4 });
  t.match(await raster((await made(gif, passOf([], { format: 'png' }, { frame: 1 }))).data), {
    width: WIDTH,
    height: HEIGHT,
  });
});

/**
 * A GIF of three small frames on a screen of 40 x 30. The encoder of WebP finds no frame with transparent pixels in it,
 * and declares none.
 */
const SMALL_FRAMES =
  'R0lGODlhKAAeAPMKAM8VLTwuzd6VChhVbp96QyixvAgdc2TjhGtuqpYsvMH0yUhRpqay3krwABP58UwjUCH5BAQFAAAALB4AEAAH' +
  'AAUAwTc1ntdl3pw9oaT7UAIVTJhQokSJAgEmTChRYcKIEhMmlKgCACH5BAwKAAAALAIABgAQAAoAhfwtOkX2GJBSW8jbcPXct0r1' +
  'AKK0BR0QxUqDx0oGnBCon98UdWeIeFeQL3H5wE5KYyYdSj2lWgDbdtw90leH19jcBwuOYmi5X9gRC/8s89TesA/4yxxehAS2goQa' +
  '7bAmmCIBlj2jpxiySKLfGda+AP4OWscqKtNviBoG6SnCJEbJacGw4DYq630/muy4ZeABWKcG2nkDqIogAIlSRs3LlZobkmwDohPR' +
  'd/6KQ1+xNC0c4CFjkguJOWLsrzXFht6CkQaQQJPJZHK5XC4IBALB4XA4k8lkcrlcLggEAsHhcDiTyWRyuVwuCAQCweFwOJPJZHK5' +
  'XC4IBALB4YA43GAwGHw+nw+NRqPFYrHYYDAYfD6fD41Go8VisdhgMBh8Pp8PjUajxWKx2GAwGHw+nw+NRqMBY7FYbDQajSgUCiWX' +
  'y+UajUZjNBqNKBQKJZfL5RqNRiMIACH5BAksAQYALBgAEgAQAAsAQAR3cK21GGPsnHMAgACUUopSSp1zDnTOuZRSeu+91mBrrbW2' +
  '1lqMMQbPOQcAAFJK6T34XmuttdZaKaVApZQ65xznnFsLrsUYY+ecAwAAcK21GGPsnHMAgACklNJ777XWGmyttZRSeu+91mBrrbVW' +
  'SilKKQXPOcc55yIAOw==';

t.test('the empty screen is transparent in a WebP of frames that are opaque', async (t) => {
  const gif = Buffer.from(SMALL_FRAMES, 'base64');
  const { data } = await made(gif, passOf([], { format: 'webp', lossless: true }));
  const { height, at } = await raster(data);
  t.same(
    [0, 30, 60].map((top) => at(0, top)[3]),
    [0, 0, 0],
  );
  t.same([height, at(33, 18)[3]], [90, 255]);
  t.match(
    readImageHeader(data),
    { hasAlpha: true },
    'and declared, because decoders show an opaque file as black',
  );
});

t.test('a frame after which the empty screen is restored leaves its place transparent', async (t) => {
  const gif = gifWith([
    { ...whole, disposal: RESTORED, index: 7 },
    { ...middle, disposal: RESTORED, index: 8 },
    { left: 0, top: 0, width: 2, height: 2, disposal: 0, index: 9 },
  ]);
  t.same(await alphasOf(gif), [
    [255, 255],
    [0, 255],
    [255, 0],
  ]);
  t.match(readImageHeader(gif), { hasAlpha: true });
});

t.test('the part of the screen that the first frame does not cover is transparent', async (t) => {
  const gif = gifWith([{ ...middle, disposal: 0, index: 255 }]);
  t.same(await alphasOf(gif), [[0, 255]]);
  t.match(readImageHeader(gif), { hasAlpha: true });
});

t.test('no pixel becomes transparent, whatever its index', async (t) => {
  const all: Frame = {
    left: 0,
    top: 0,
    width: 6,
    height: 4,
    disposal: CLEARED,
    index: (pixel) => 255 - pixel,
  };
  const gif = gifWith([all, { ...middle, disposal: 0, index: 254 }]);
  t.same(await alphasOf(gif), [
    [255, 255],
    [0, 255],
  ]);
});

t.test('a GIF without empty places is opaque', async (t) => {
  const gif = gifWith([
    { ...whole, disposal: CLEARED, index: 7 },
    { ...whole, disposal: CLEARED, index: 9 },
  ]);
  t.same(await alphasOf(gif), [
    [255, 255],
    [255, 255],
  ]);
  t.match(readImageHeader(gif), { hasAlpha: false, channels: 3 });
  const { data } = await made(gif, passOf([], { format: 'gif' }));
  t.same(data, gif, 'and is returned as it is');
});

/** Smallest files of a size: headers that are true and next to no pixels behind them. */

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const be16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const be32 = (value: number) =>
  Buffer.from([value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]);
const le16 = (value: number) => be16(value).reverse();
const le24 = (value: number) => be32(value).subarray(1).reverse();
const le32 = (value: number) => be32(value).reverse();

export function pngOf(width: number, height: number): Buffer {
  const head = latin1('\x89PNG\r\n\x1a\n\0\0\0\rIHDR');
  return Buffer.concat([
    head,
    be32(width),
    be32(height),
    latin1('\x08\x02\0\0\0\0\0\0\0\0\0\0\0IEND\0\0\0\0'),
  ]);
}

export function jpegOf(width: number, height: number): Buffer {
  const frame = [
    latin1('\xff\xc0\0\x11\x08'),
    be16(height),
    be16(width),
    latin1('\x03\x01\x11\0\x02\x11\0\x03\x11\0'),
  ];
  return Buffer.concat([
    latin1('\xff\xd8'),
    ...frame,
    latin1('\xff\xda\0\x0c\x03\x01\0\x02\0\x03\0\0\x3f\0\xff\xd9'),
  ]);
}

export function gifOf(width: number, height: number, frames = 1): Buffer {
  const frame = [latin1(',\0\0\0\0'), le16(width), le16(height), latin1('\0\x02\x01D\0')];
  const all = Array.from({ length: frames }, () => frame).flat();
  return Buffer.concat([latin1('GIF89a'), le16(width), le16(height), latin1('\0\0\0'), ...all, latin1(';')]);
}

export function webpOf(width: number, height: number, frames = 1): Buffer {
  const flags = frames > 1 ? '\x02' : '\0';
  const canvas = [latin1(`VP8X\x0a\0\0\0${flags}\0\0\0`), le24(width - 1), le24(height - 1)];
  const all = Array.from({ length: frames }, () => latin1('ANMF\0\0\0\0'));
  return Buffer.concat([latin1('RIFF\0\0\0\0WEBP'), ...canvas, ...all]);
}

export function tiffOf(...pages: { width: number; height: number }[]): Buffer {
  const bytesOfPage = 2 + 2 * 12 + 4;
  const entry = (tag: number, value: number) => [le16(tag), le16(4), le32(1), le32(value)];
  const directories = pages.map(({ width, height }, index) => {
    const next = index === pages.length - 1 ? 0 : 8 + (index + 1) * bytesOfPage;
    return Buffer.concat([le16(2), ...entry(256, width), ...entry(257, height), le32(next)]);
  });
  return Buffer.concat([latin1('II*\0\x08\0\0\0'), ...directories]);
}

export function avifOf(width: number, height: number): Buffer {
  const box = (type: string, ...content: Buffer[]) => {
    const body = Buffer.concat(content);
    return Buffer.concat([be32(8 + body.length), latin1(type), body]);
  };
  const full = latin1('\0\0\0\0');
  const properties = box('ipco', box('ispe', full, be32(width), be32(height)));
  const associations = box('ipma', full, be32(1), be16(1), latin1('\x01\x01'));
  const primary = box('pitm', full, be16(1));
  return Buffer.concat([
    box('ftyp', latin1('avif\0\0\0\0avifmif1')),
    box('meta', full, primary, box('iprp', properties, associations)),
  ]);
}

export function svgOf(width: number | string, height: number | string, content = ''): Buffer {
  const names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
  return Buffer.from(`<svg ${names} width="${width}" height="${height}">${content}</svg>`);
}

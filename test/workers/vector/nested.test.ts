// needs: pixels, alone
import { gzipSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { buildPngChunk } from '../../../workers/formats/png.ts';
import { rasterizeSvg } from '../../../workers/vector/rasterize.ts';
import { sanitizeSvg } from '../../../workers/vector/sanitize.ts';

const ROOT = 'xmlns="http://www.w3.org/2000/svg" width="9" height="9"';
const svg = (content: string) => `<svg ${ROOT}>${content}</svg>`;
const GREEN = svg('<rect width="100%" height="100%" fill="#0f0"/>');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const image = (address: string) => `<image width="9" height="9" href="${address}"/>`;
const filtered = (address: string) =>
  `<filter id="f" x="0" y="0" width="1" height="1"><feImage href="${address}"/></filter><rect width="9" height="9" filter="url(#f)"/>`;

/** The middle pixel of a drawing. */
async function middleOf(text: string): Promise<number[]> {
  const made = await rasterizeSvg({
    input: Buffer.from(text),
    size: { density: 96 },
    maxPixels: 1_000_000,
  });
  if (!('pixels' in made)) throw new Error(made.message);
  const middle = (4 * made.width + 4) * 4;
  return [...made.pixels.subarray(middle, middle + 4)];
}

/** Whether a drawing is drawn and green. */
const isGreen = async (text: string): Promise<boolean> => `${await middleOf(text)}` === '0,255,0,255';

t.test('a drawing inside of a drawing is drawn, however its address is written', async (t) => {
  const escaped = GREEN.replaceAll('#', '%23').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const addresses = [
    `data:image/svg+xml;base64,${base64(GREEN)}`,
    `data:image/svg+xml;charset=utf-8;base64,${base64(GREEN)}`,
    `DATA:image/SVG+xml;BASE64,${base64(GREEN).replace(/.{20}/g, '$&\n ')}`,
    `data:image/svg+xml;base64,${encodeURIComponent(base64(GREEN))}`,
    `data:image/svg+xml;base64,${base64(GREEN)}#view`,
    `data:;base64,${base64(GREEN)}`,
    `data:image/svg+xml,${encodeURIComponent(GREEN)}`,
    `data:image/svg+xml;utf8,${escaped}`,
    `data:image/svg+xml,${escaped.replaceAll('%23', '#')}#view`,
    `data:,${encodeURIComponent(GREEN)}`,
  ];
  for (const address of addresses) {
    t.ok(await isGreen(svg(image(address))), address);
    t.ok(
      await isGreen(
        svg(
          image(address)
            .replace('href', 'xlink:href')
            .replace('<image', '<image xmlns:xlink="http://www.w3.org/1999/xlink"'),
        ),
      ),
    );
    t.ok(await isGreen(svg(filtered(address))), `feImage ${address}`);
  }
});

t.test('pixels without a type are drawn', async (t) => {
  const create = { width: 9, height: 9, channels: 3, background: '#0f0' } as const;
  const png = await sharp({ create }).png().toBuffer();
  for (const type of ['', 'image/jpg'])
    t.ok(await isGreen(svg(image(`data:${type};base64,${png.toString('base64')}`))), type);
});

t.test('pictures in every format that browsers draw are drawn, at any depth', async (t) => {
  const create = { width: 9, height: 9, channels: 3, background: '#0f0' } as const;
  for (const format of ['png', 'gif', 'webp', 'avif'] as const) {
    const file = await sharp({ create })
      .toFormat(format, format === 'gif' ? {} : { lossless: true })
      .toBuffer();
    const inner = svg(image(`data:image/${format};base64,${file.toString('base64')}`));
    t.ok(await isGreen(inner), format);
    t.ok(await isGreen(svg(image(`data:image/svg+xml;base64,${base64(inner)}`))), `${format} in a drawing`);
    const cut = file.subarray(0, file.length >> 1).toString('base64');
    const around = svg(
      `<rect width="9" height="9" fill="#0f0"/>${image(`data:image/${format};base64,${cut}`)}`,
    );
    t.ok(await isGreen(around), `${format}, cut, is left out`);
  }
});

t.test('pictures inside are drawn upright and in sRGB, as browsers draw them', async (t) => {
  const flat = (background: string, side = 9) =>
    sharp({ create: { width: side, height: side, channels: 3, background } });
  const rows: [name: string, file: Buffer, expected: number[]][] = [];

  // The quarter at the bottom right is green. Turned by 180 degrees, it is the one that is drawn.
  const green = await flat('#0f0').png().toBuffer();
  const quarters = flat('#f00', 18).composite([{ input: green, left: 9, top: 9 }]);
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const turned = quarters.clone().withMetadata({ orientation: 3 });
    const file = await turned.toFormat(format, { quality: 100, chromaSubsampling: '4:4:4' }).toBuffer();
    rows.push([`${format} upside down`, file, [0, 255, 0]]);
  }

  const colour = [200, 100, 50];
  for (const format of ['png', 'jpeg', 'webp'] as const) {
    const file = await flat('rgb(200, 100, 50)').withIccProfile('p3').toFormat(format).toBuffer();
    rows.push([`${format} in Display P3`, file, colour]);
  }
  const cmyk = await flat('rgb(200, 100, 50)').toColourspace('cmyk').jpeg().toBuffer();
  rows.push(['CMYK', cmyk, [...(await sharp(cmyk).raw().toBuffer())].slice(0, 3)]);
  const linear = await flat('rgb(128, 64, 200)').png().toBuffer();
  const gamma = buildPngChunk('gAMA', Buffer.of(0, 1, 0x86, 0xa0));
  // Linear light, as the specification of sRGB converts it.
  rows.push(['gamma', Buffer.concat([linear.subarray(0, 33), gamma, linear.subarray(33)]), [188, 137, 229]]);

  for (const [name, file, expected] of rows) {
    const type = /jpeg|CMYK/.test(name) ? 'jpeg' : 'png';
    const address = `data:image/${type};base64,${file.toString('base64')}`;
    const inner = svg(`<image width="${name.endsWith('down') ? 18 : 9}" href="${address}"/>`);
    for (const text of [inner, svg(image(`data:image/svg+xml;base64,${base64(inner)}`))]) {
      const shown = await middleOf(text);
      const isNear = expected.every((value, channel) => Math.abs(value - (shown[channel] as number)) <= 12);
      t.ok(isNear, `${name}: ${shown} for ${expected}`);
    }
  }
});

t.test('units inside are those of the drawing around', async (t) => {
  const inch = svg('<rect width="101.6Q" height="1in" fill="#0f0"/>').replace(
    ROOT,
    `${ROOT.slice(0, 34)} width="1in" height="1in"`,
  );
  t.ok(await isGreen(svg(image(`data:image/svg+xml;base64,${base64(inch)}`))));
});

t.test('a packed drawing inside is drawn, and what it unpacks to is bounded', async (t) => {
  const packed = (text: string) => gzipSync(text).toString('base64');
  for (const type of ['image/svg+xml', 'image/svg+xml;charset=utf-8', '']) {
    t.ok(await isGreen(svg(image(`data:${type};base64,${packed(GREEN)}`))), type);
    t.ok(await isGreen(svg(filtered(`data:${type};base64,${packed(GREEN)}`))), `feImage ${type}`);
  }
  const inside = svg(image(`data:image/svg+xml;base64,${packed(GREEN)}`));
  t.ok(await isGreen(svg(image(`data:;base64,${packed(inside)}`))), 'within each other');
  const around = '<rect width="9" height="9" fill="#0f0"/>';
  const bomb = packed(svg(' '.repeat(20_000_000)));
  const large = packed(svg(' '.repeat(6_000_000)));
  for (const [content, times] of [
    [packed(GREEN).slice(0, -20), 1],
    [bomb, 20],
    [large, 200],
    [packed('<html/>'), 1],
    [Buffer.from('\x1f\x8b\x08').toString('base64'), 1],
  ] as const)
    t.ok(await isGreen(svg(`${image(`data:image/svg+xml;base64,${content}`).repeat(times)}${around}`)));
  const trap = packed(svg('<image href="file:///etc/passwd"/>'));
  const written = sanitizeSvg(Buffer.from(svg(image(`data:image/svg+xml;base64,${trap}`)))).text();
  t.notMatch(Buffer.from(/base64,([^"]*)/.exec(written)?.[1] ?? '', 'base64').toString(), /passwd/);
});

t.test('a picture inside that is larger than a picture may be is refused by its size', async (t) => {
  const create = { width: 1_200, height: 900, channels: 3, background: '#0f0' } as const;
  const [png, jpeg] = await Promise.all([
    sharp({ create }).png().toBuffer(),
    sharp({ create }).jpeg().toBuffer(),
  ]);
  const addresses = [
    `data:image/png;base64,${png.toString('base64')}`,
    `data:image/jpeg;base64,${jpeg.toString('base64')}`,
    `data:image/jpg;base64,${jpeg.toString('base64')}`,
    `data:;base64,${png.toString('base64')}`,
    `data:image/png,${png.toString('latin1').replace(/[^0-9A-Za-z]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)}`,
  ];
  const nested = (text: string) => `data:image/svg+xml;base64,${base64(text)}`;
  const refusal = { message: /1200 × 900 pixels, and at most 1000000 are read/ };
  for (const address of addresses) {
    await t.rejects(isGreen(svg(image(address))), refusal, address.slice(0, 30));
    await t.rejects(isGreen(svg(filtered(address))), refusal);
    await t.rejects(isGreen(svg(image(nested(svg(image(address)))))), refusal, 'in a drawing inside');
  }
  const small = await sharp(png).resize(900).png().toBuffer();
  t.ok(await isGreen(svg(image(`data:image/png;base64,${small.toString('base64')}`))));
});

t.test('drawings nest three deep, and are left out below', async (t) => {
  let nested = GREEN;
  for (let depth = 1; depth <= 6; depth += 1) {
    nested = svg(image(`data:image/svg+xml;base64,${base64(nested)}`));
    t.equal(await isGreen(nested), depth <= 3, `${depth} deep`);
  }
});

t.test('a drawing inside is cleaned by the same rules', async (t) => {
  const inside = [
    '<image href="http://127.0.0.1:9/x.png"/>',
    '<image href="file:///etc/passwd"/>',
    '<use href="/etc/passwd#a"/>',
    '<style>@import "http://127.0.0.1:9/x.css"; rect { fill: url(http://127.0.0.1:9/#a) }</style>',
    '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>',
  ];
  for (const content of inside) {
    for (const address of [
      `data:image/svg+xml;base64,${base64(svg(content))}`,
      `data:image/svg+xml,${encodeURIComponent(svg(content))}`,
      `data:;base64,${base64(`\ufeff${svg(content)}`)}`,
    ]) {
      let written = sanitizeSvg(Buffer.from(svg(image(address)))).text();
      const inner = /base64,([^"]*)/.exec(written)?.[1] ?? '';
      written += Buffer.from(inner, 'base64').toString();
      t.notMatch(written, /127\.0\.0\.1|passwd|include/, content);
    }
  }
});

t.test('no raster type carries a drawing past the cleaning', async (t) => {
  const trap = `<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>${svg('<rect width="9" height="9" fill="#0f0"/>')}`;
  for (const type of [
    'png',
    'jpeg',
    'jpg',
    'JPG',
    'gif',
    'webp',
    'avif',
    'png;x=image/svg+xml',
    'pjpeg',
    'x-png',
  ])
    for (const address of [
      `data:image/${type};base64,${base64(trap)}`,
      `data:image/${type},${encodeURIComponent(trap)}`,
    ])
      t.notOk(await isGreen(svg(image(address))), address);
});

t.test('what is no drawing inside is left out, and the rest is drawn', async (t) => {
  const around = '<rect width="9" height="9" fill="#0f0"/>';
  const laughs = `<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>${svg('&b;')}`;
  for (const content of ['', '<svg', 'words', '<html/>', laughs, '\x1f\x8b\x08', '\0'.repeat(100)]) {
    for (const head of [
      'data:image/svg+xml;base64,',
      'data:;base64,',
      'data:text/html;base64,',
      'data:application/pdf;base64,',
    ])
      t.ok(
        await isGreen(svg(`${image(head + base64(content))}${around}`)),
        `${head} ${content.slice(0, 20)}`,
      );
  }
  for (const address of ['data:', 'data:,', 'data:;base64', 'data:image/svg+xml', 'data:image/svg+xml,%'])
    t.ok(await isGreen(svg(`${image(address)}${around}`)), address);
});

t.test('entities of all drawings inside unfold together to no more than those of one', async (t) => {
  const laugh = `<!DOCTYPE svg [<!ENTITY a "${'x'.repeat(100_000)}">]>${svg(`<desc>${'&a;'.repeat(100)}</desc>`)}`;
  const address = `data:image/svg+xml;base64,${base64(laugh)}`;
  const { length } = sanitizeSvg(Buffer.from(svg(image(address).repeat(50)))).text();
  t.ok(length < 30_000_000, `${length} characters`);
});

t.test('elements without end, and drawings by the thousand, end', async (t) => {
  const of = (name: string, times: number) =>
    svg(`${`<${name}>`.repeat(times)}<rect width="9" height="9"/>${`</${name}>`.repeat(times)}`);
  for (const deep of [of('g', 100_000), of('svg', 100_000), of('image', 100_000)])
    await t.rejects(isGreen(deep), { message: /nest too deeply/ });
  const nested = image(`data:image/svg+xml;base64,${base64(GREEN)}`);
  t.ok(await isGreen(svg(nested.repeat(2_000))));
});

t.test('a text or an attribute may be as large as the file', async (t) => {
  const large = 'x'.repeat(12_000_000);
  const pixels = sharp({ create: { width: 1_900, height: 1_900, channels: 3, background: '#0f0' } });
  const png = await pixels.png({ compressionLevel: 0 }).toBuffer();
  const green = '<rect width="9" height="9" fill="#0f0"/>';
  for (const content of [`<desc>${large}</desc>`, `<desc id="${large}"/>`, `<style>/*${large}*/</style>`])
    t.ok(await isGreen(svg(`${content}${green}`)), content.slice(0, 12));
  const made = await rasterizeSvg({
    input: Buffer.from(svg(image(`data:image/png;base64,${png.toString('base64')}`))),
    size: { density: 96 },
    maxPixels: 4_000_000,
  });
  t.ok('pixels' in made && made.pixels[3] === 255, `an image of ${png.length} bytes`);
});

// needs: pixels, alone
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import t from 'tap';
import { thumbHashToRGBA } from 'thumbhash';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import type { DescribeTaskResult } from '../../../workers/protocol.ts';
import { pictureNamed } from '../../imaging/images/references/pictures.ts';
import { imagesIn, needsImages, image as read } from '../../support/images.ts';

const corpus = needsImages(t);

async function told(input: Uint8Array): Promise<DescribeTaskResult> {
  const result = await describeImage(new Uint8Array(input));
  if (result.kind === 'failure') throw new Error(result.message);
  return result;
}

t.test('a camera JPEG is told with its tags, as stored', corpus, async (t) => {
  const { image, metadata } = await told(read('photos/nikon-d90.jpg'));
  t.match(image, {
    mimeType: 'image/jpeg',
    format: 'jpeg',
    width: 4288,
    height: 2848,
    orientation: 1,
    bytes: 3196160,
  });
  t.match(image, {
    hasAlpha: false,
    isOpaque: true,
    frames: 1,
    density: 300,
    colorSpace: 'srgb',
    bitDepth: 8,
  });
  t.equal(image.sha1, createHash('sha1').update(read('photos/nikon-d90.jpg')).digest('hex'));
  t.match(metadata.exif, { Make: 'NIKON CORPORATION', Model: 'NIKON D90', ExposureTime: 0.1, FNumber: 3.2 });
  t.match(metadata.exif, {
    ISOSpeedRatings: 250,
    ExifVersion: '0221',
    DateTimeOriginal: '2011:04:25 01:55:30',
    Flash: 0,
  });
  t.notOk(metadata.exif?.MakerNote, 'binary values are left out');
  t.same(Object.keys(metadata), ['file', 'exif']);
});

t.test('Exif, XMP and ICC are read from every container', corpus, async (t) => {
  for (const name of ['exif_xmp_icc.jpg', 'icc_exif_xmp.avif', 'icc_exif_xmp.png']) {
    const { metadata } = await told(read(`modern/paris_${name}`));
    t.match(metadata.exif, { Make: 'Google', Model: 'Pixel 4a', FocalLength: 4.4, LensMake: 'Google' }, name);
    t.match(metadata.gps, { Latitude: 0, Longitude: 0 }, name);
    t.match(metadata.icc, { 'ICC Description': 'sRGB IEC61966-2.1' }, name);
    t.match(metadata.xmp, { CreatorTool: 'GIMP 2.10', Platform: 'Linux' }, name);
    t.notOk(metadata.xmp?._raw, name);
  }
  const webp = await told(read('modern/simple_xmp.webp'));
  t.match(webp.metadata, { riff: { ImageWidth: 300 }, xmp: { subject: ['sunset, mountains, nature'] } });
  const tiff = await told(read('modern/rgb-3c-16b.tiff'));
  t.match(tiff.metadata.exif, { DocumentName: 'rgb-3c-16b.tiff', BitsPerSample: [16, 16, 16] });
  t.match(tiff.image, { colorSpace: 'rgb16', bitDepth: 16 });
  t.match((await told(read('pngsuite/exif2c08.png'))).metadata.exif, { UserComment: 'PngSuite' });
  t.match((await told(read('modern/apple_gainmap_new.jpg'))).metadata.exif, {
    LensSpecification: [1.5399999618512084, 5.1, 1.6, 2.4],
  });
});

t.test('the texts of a PNG are read, compressed or not', corpus, async (t) => {
  for (const name of ['ct1n0g04', 'ctzn0g04']) {
    t.match(
      (await told(read(`pngsuite/${name}.png`))).metadata.png,
      { Title: 'PngSuite', Disclaimer: 'Freeware.' },
      name,
    );
  }
  t.match((await told(read('pngsuite/cten0g04.png'))).metadata.png, {
    'Title (en)': 'PngSuite',
    Title: undefined,
  });
});

t.test('IPTC is read as text, from a JPEG and from a TIFF', async (t) => {
  const record = (dataset: number, text: string) =>
    Buffer.concat([Buffer.from([0x1c, 2, dataset, 0, text.length]), Buffer.from(text)]);
  const iptc = Buffer.concat([record(120, 'A caption'), record(25, 'one'), record(25, 'two')]);
  for (const [format, file] of [
    ['JPEG', await jpegWith(iptc)],
    ['TIFF', tiffWith(iptc)],
  ] as const) {
    const { metadata } = await told(file);
    t.match(metadata.iptc, { 'Caption/Abstract': 'A caption', Keywords: ['one', 'two'] }, format);
    t.notOk(metadata.exif?.['IPTC-NAA'], format);
  }
});

t.test('width and height are those of the picture as displayed', corpus, async (t) => {
  for (let orientation = 1; orientation <= 8; orientation++) {
    const landscape = await told(read(`orientation/landscape_${orientation}.jpg`));
    t.match(landscape.image, { width: 1800, height: 1200, orientation }, `landscape ${orientation}`);
    const portrait = await told(read(`orientation/portrait_${orientation}.jpg`));
    t.match(portrait.image, { width: 1200, height: 1800, orientation }, `portrait ${orientation}`);
    const hash = thumbHashToRGBA(Buffer.from(portrait.image.thumbhash, 'base64'));
    t.ok(hash.w < hash.h, 'the thumbhash stands upright too');
  }
  t.equal(
    (await told(read('orientation/landscape_0.jpg'))).image.orientation,
    1,
    'none, or none that is known, is 1',
  );
});

t.test('an animation tells its frames, and the size of one', corpus, async (t) => {
  t.match((await told(read('animated/sample_big.gif'))).image, {
    frames: 259,
    width: 1000,
    height: 175,
    format: 'gif',
  });
  t.match((await told(read('animated/anim.webp'))).image, {
    frames: 6,
    width: 200,
    height: 200,
    hasAlpha: true,
  });
  t.match(await describeImage(read('animated/gifplayer-muybridge.gif')), {
    code: 'unsupported_format',
    message: /megapixels/,
  });
});

t.test('modern formats tell their own depth and colour space', corpus, async (t) => {
  const avif = { mimeType: 'image/avif', format: 'avif' };
  t.match((await told(read('modern/colors_hdr_rec2020.avif'))).image, {
    ...avif,
    bitDepth: 10,
    colorSpace: 'rgb16',
  });
  t.match((await told(read('modern/abc_color_irot_alpha_irot.avif'))).image, {
    ...avif,
    hasAlpha: true,
    isOpaque: false,
  });
  t.match((await told(read('modern/fax4.tiff'))).image, {
    bitDepth: 1,
    colorSpace: 'b-w',
    mimeType: 'image/tiff',
  });
  t.match((await told(read('modern/rgb32f_color.tiff'))).image, { bitDepth: 32, colorSpace: 'scrgb' });
  t.match((await told(read('pngsuite/basn3p02.png'))).image, { bitDepth: 2, density: null });
  t.equal(
    (await told(read('pngsuite/cdhn2c08.png'))).image.density,
    null,
    'a pixel has a shape, but no size',
  );
  t.equal((await told(read('pngsuite/cdun2c08.png'))).image.density, 25.4, '1000 pixels per metre');
  const at72 = await sharp(read('pngsuite/basn3p02.png')).png().withDensity(72).toBuffer();
  t.equal((await told(at72)).image.density, 72);
});

t.test('colours, entropy and sharpness are those of the pixels', async (t) => {
  const red = (await told(await plain('#e01020').png().toBuffer())).image;
  t.match(red, { dominantColor: '#e01020', averageColor: '#e01020', entropy: 0, sharpness: 0 });
  const flag = sharp({ create: { width: 90, height: 60, channels: 3, background: '#0000ff' } });
  const third = await plain('#ffff00', 30, 60).png().toBuffer();
  const two = await flag
    .composite([{ input: third, left: 0, top: 0 }])
    .png()
    .toBuffer();
  const { image } = await told(two);
  t.match(image, { dominantColor: '#0000ff', averageColor: '#5555aa' });
  const { entropy, sharpness } = await sharp(two).stats();
  t.equal(image.sharpness, sharpness, "no larger than the working copy: exactly sharp's");
  t.ok(Math.abs(image.entropy - (Math.log2(3) - 2 / 3)) < 1e-12, 'a third of one grey, two of another');
  t.ok(Math.abs(image.entropy - entropy) < 1e-6, "sharp's, which has single precision");
});

t.test('what is transparent has no colour', async (t) => {
  const canvas = { width: 50, height: 50, channels: 4, background: '#00ff0000' } as const;
  const dot = await plain('#ff0000', 10, 10).png().toBuffer();
  const dotted = await sharp({ create: canvas })
    .composite([{ input: dot }])
    .png()
    .toBuffer();
  t.match((await told(dotted)).image, { dominantColor: '#ff0000', averageColor: '#ff0000', isOpaque: false });
  const nothing = await sharp({ create: canvas }).png().toBuffer();
  t.match((await told(nothing)).image, {
    dominantColor: '#000000',
    averageColor: '#000000',
    isOpaque: false,
  });
});

t.test('a single pixel that is not opaque is found in a large picture', async (t) => {
  const large = { width: 3000, height: 2000, channels: 4 } as const;
  const pixels = Buffer.alloc(large.width * large.height * large.channels, 255);
  const opaque = await sharp(pixels, { raw: large }).png({ compressionLevel: 1 }).toBuffer();
  t.match((await told(opaque)).image, { hasAlpha: true, isOpaque: true });
  pixels[4 * 3_456_789 + 3] = 254;
  const almost = await sharp(pixels, { raw: large }).png({ compressionLevel: 1 }).toBuffer();
  t.match((await told(almost)).image, { hasAlpha: true, isOpaque: false });
});

t.test('raw pixels are described without the facts of a file', async (t) => {
  const raw = { width: 40, height: 20, channels: 4 } as const;
  const half = new Uint8Array(40 * 20 * 4).fill(128);
  const result = await describeImage(half, raw);
  t.match(result, {
    image: {
      width: 40,
      height: 20,
      hasAlpha: true,
      isOpaque: false,
      averageColor: '#808080',
      bytes: 0,
      sha1: '',
    },
  });
  t.match(result, { image: { frames: 1, colorSpace: 'srgb', bitDepth: 8, format: '' }, metadata: {} });
});

t.test('tags that are too large, too many or oddly named are cut or left out', async (t) => {
  const text = (keyword: string, value: string) =>
    chunk('tEXt', Buffer.from(`${keyword}\0${value}`, 'latin1'));
  const odd = ['__proto__', 'constructor', 'toString', '$where'].map((keyword) => text(keyword, 'polluted'));
  const { metadata } = await told(
    await pngWith(...odd, text('Long', 'y'.repeat(100_000)), text('Comment', 'here')),
  );
  t.equal(Object.getPrototypeOf(metadata.png), Object.prototype);
  t.notMatch(JSON.stringify(metadata), /polluted/);
  t.match(metadata.png, { Comment: 'here', Long: 'y'.repeat(4_000) });
  t.equal(String(metadata.png?.Long).length, 4_000);
  const many = Array.from({ length: 20_000 }, (_, index) => text(`k${index}`, 'v'.repeat(40)));
  const { metadata: bounded } = await told(await pngWith(...many));
  t.match(bounded.png, { k0: 'v'.repeat(40), k1999: 'v'.repeat(40) });
  t.ok(JSON.stringify(bounded).length <= 140_000);
});

t.test('a block made to exhaust its reader costs the tags, and nothing else', async (t) => {
  const xmp = (body: string) =>
    chunk(
      'iTXt',
      Buffer.from(
        `XML:com.adobe.xmp\0\0\0\0\0<?xpacket begin=""?><x:xmpmeta xmlns:x="adobe:ns:meta/">${body}`,
      ),
    );
  const zeros = deflateSync(Buffer.alloc(50_000_000));
  const hostile: Record<string, Buffer[]> = {
    'Exif that claims itself a thousand times': [chunk('eXIf', exifBomb(600_000))],
    'Exif that ends early': [chunk('eXIf', Buffer.from('MM\0*\0\0\0\x08\0\xff', 'latin1'))],
    'Exif that points to itself': [
      chunk('eXIf', Buffer.from('MM\0*\0\0\0\x08\0\x01\x87\x69\0\x04\0\0\0\x01\0\0\0\x08', 'latin1')),
    ],
    'deep XMP': [xmp('<a>'.repeat(30_000))],
    'unclosed XMP': [xmp('<a '.repeat(30_000))],
    'large XMP': [xmp(`<a>${'x'.repeat(2_000_000)}</a>`)],
    'compressed texts': Array.from({ length: 40 }, () =>
      chunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), zeros])),
    ),
    'compressed international texts': Array.from({ length: 40 }, () =>
      chunk('iTXt', Buffer.concat([Buffer.from('Comment\0\x01\0\0\0'), zeros])),
    ),
  };
  for (const [name, chunks] of Object.entries(hostile)) {
    const file = await pngWith(...chunks);
    const { image, metadata } = await told(file);
    t.match(image, { width: 16, height: 16, averageColor: '#336699', bytes: file.byteLength }, name);
    t.notOk(metadata.png?.Comment, name);
  }
  t.ok(process.resourceUsage().maxRSS < 1_000_000, 'within a gigabyte');
});

t.test('every file is described or refused, never thrown at', corpus, async (t) => {
  for (const name of [
    ...imagesIn('hostile'),
    ...imagesIn('modern'),
    ...imagesIn('animated'),
    ...imagesIn('pngsuite').filter((file) => file.endsWith('.png')),
  ]) {
    const result = await describeImage(read(name));
    if (result.kind === 'failure') t.equal(result.code, 'unsupported_format', `${name}: ${result.message}`);
    else {
      t.match(
        result.image,
        { averageColor: /^#[0-9a-f]{6}$/, dominantColor: /^#[0-9a-f]{6}$/, thumbhash: /^[\w+/]{4,}/ },
        name,
      );
      t.same(
        JSON.parse(JSON.stringify(result.metadata)),
        result.metadata,
        `${name}: its tags are plain JSON`,
      );
      t.notMatch(JSON.stringify(result), /null(?!,"colorSpace")/, `${name}: nothing is null but a density`);
    }
  }
  for (const junk of [
    '',
    'x',
    '<svg xmlns="http://www.w3.org/2000/svg"/',
    '%PDF-1.7',
    'GIF89a',
    '\x89PNG\r\n\x1a\n',
  ]) {
    t.match(
      await describeImage(new Uint8Array(Buffer.from(junk, 'latin1'))),
      { kind: 'failure', code: 'unsupported_format' },
      junk,
    );
  }
});

function plain(background = '#336699', width = 16, height = 16) {
  return sharp({ create: { width, height, channels: 3, background } });
}

/** A JPEG with an IPTC block in a Photoshop segment. */
async function jpegWith(iptc: Buffer): Promise<Buffer> {
  const jpeg = await plain().jpeg().toBuffer();
  const head = Buffer.from('Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0', 'latin1');
  const resource = Buffer.concat([head, Buffer.from([iptc.byteLength]), iptc]);
  const marker = Buffer.from([0xff, 0xed, 0, resource.byteLength + 2]);
  return Buffer.concat([jpeg.subarray(0, 2), marker, resource, jpeg.subarray(2)]);
}

/** A grey TIFF of one pixel with an IPTC block: tag, type, count and value of each entry, then the block. */
function tiffWith(iptc: Buffer): Buffer {
  const size = [256, 3, 1, 1, 257, 3, 1, 1];
  const grey = [258, 3, 1, 8, 259, 3, 1, 1, 262, 3, 1, 1];
  const strip = [273, 4, 1, 8, 277, 3, 1, 1, 278, 3, 1, 1, 279, 4, 1, 1];
  const fields = [...size, ...grey, ...strip, 33723, 7, iptc.byteLength, 136];
  const tiff = Buffer.alloc(136);
  tiff.write('II*\0\x0a', 'latin1');
  tiff.writeUInt16LE(fields.length / 4, 10);
  for (let at = 12, index = 0; index < fields.length; at += 12, index += 4) {
    const [tag = 0, type = 0, count = 0, value = 0] = fields.slice(index);
    tiff.writeUInt16LE(tag, at);
    tiff.writeUInt16LE(type, at + 2);
    tiff.writeUInt32LE(count, at + 4);
    tiff.writeUInt32LE(value, at + 8);
  }
  return Buffer.concat([tiff, iptc]);
}

/** A PNG with more chunks after its header. */
async function pngWith(...chunks: Buffer[]): Promise<Buffer> {
  const png = await plain().png().toBuffer();
  return Buffer.concat([png.subarray(0, 33), ...chunks, png.subarray(33)]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.byteLength, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** A TIFF directory whose every entry, ImageDescription and MakerNote in turn, claims most of the file. */
function exifBomb(sizeBytes: number): Buffer {
  const bomb = Buffer.alloc(sizeBytes);
  bomb.write('MM\0*\0\0\0\x08', 'latin1');
  const entries = Math.floor((sizeBytes - 10) / 12);
  bomb.writeUInt16BE(entries, 8);
  for (let at = 10; at + 12 <= sizeBytes; at += 12) {
    bomb.writeUInt16BE(at % 24 === 10 ? 0x010e : 0x927c, at);
    bomb.writeUInt16BE(7, at + 2);
    bomb.writeUInt32BE(sizeBytes - 100, at + 4);
    bomb.writeUInt32BE(16, at + 8);
  }
  return bomb;
}

t.test('the BlurHash is the one that another implementation computes', async (t) => {
  // blurhash-python 1.1.5 on the same pixels.
  const hashes = { '32x24': 'LrG9dRlkbeswpo,@m-I_sln6eoWm', '24x32': 'TjFsY~T^sv*F,-IyxCz?M{w|V^n%' };
  for (const [size, blurhash] of Object.entries(hashes)) {
    const [width = 0, height = 0] = size.split('x').map(Number);
    const described = await describeImage(new Uint8Array(await pictureNamed(['waves', width, height])));
    t.match(described, { image: { blurhash } }, size);
  }
});

// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { image, needsImages, withoutGamma } from '../../support/images.ts';
import {
  difference,
  drawn,
  GREEN,
  made,
  meanDifference,
  passOf,
  raster,
  rasterOf,
  refused,
  type StepText,
} from './passes.ts';

const corpus = needsImages(t);
const clearLeft = await drawn(20, 20, (x) => (x < 10 ? [255, 0, 0, 0] : [255, 0, 0, 255]));

t.test(
  'a format without alpha shows the background under transparent pixels, white when left out',
  async (t) => {
    const sequences: StepText[][] = [
      [],
      [['resize', { width: 10 }]],
      [['greyscale']],
      [['rotate', { angle: 90 }]],
      [['extend', { left: 1 }]],
    ];
    for (const steps of sequences) {
      const white = await raster(
        (await made(clearLeft, passOf(steps, { format: 'jpeg', quality: 100 }))).data,
      );
      t.ok(Math.min(...white.at(0, 0)) > 250, `${JSON.stringify(steps)}: ${white.at(0, 0)}`);
      const lime = await raster(
        (
          await made(
            clearLeft,
            passOf(steps, { format: 'jpeg', quality: 100, chroma: '4:4:4', background: 'lime' }),
          )
        ).data,
      );
      t.ok(
        Math.max(...lime.at(0, 0).map((value, index) => Math.abs(value - (GREEN[index] as number)))) < 6,
        `${lime.at(0, 0)}`,
      );
    }
    t.match(await refused(clearLeft, passOf([], { background: 'nothing' })), {
      code: 'invalid_param',
      param: 'background',
    });
    t.match(await refused(clearLeft, passOf([['flatten', { background: 'nothing' }]])), {
      param: 'steps[0].params.background',
    });
  },
);

t.test('transparency survives where the format has it', async (t) => {
  for (const format of ['png', 'webp', 'avif', 'gif', 'tiff'] as const) {
    const result = await raster(
      (await made(clearLeft, passOf([['resize', { width: 10 }]], { format }))).data,
    );
    t.equal(result.at(0, 5)[3], 0, format);
    t.equal(result.at(9, 5)[3], 255, format);
  }
});

t.test('grey pictures take colours', async (t) => {
  const grey = (
    await sharp(await drawn(16, 16, () => [128]))
      .toColourspace('b-w')
      .png()
      .toUint8Array()
  ).data;
  t.equal((await sharp(grey).metadata()).channels, 1);
  t.same((await rasterOf(grey, [['extend', { left: 2, background: 'lime' }]])).at(0, 0), GREEN);
  t.same(
    (await rasterOf(grey, [['resize', { width: 8, height: 12, fit: 'contain', background: 'lime' }]])).at(
      0,
      0,
    ),
    GREEN,
  );
  const tinted = (await rasterOf(grey, [['tint', { color: 'red' }]])).at(0, 0);
  t.ok((tinted[0] as number) > (tinted[1] as number) + 50, `${tinted}`);
  const inked = await rasterOf(grey, [
    ['text', { text: 'MM', color: 'lime', size: 30, position: 'center', margin: 0 }],
  ]);
  t.ok(
    inked.data.some(
      (value, index) => index % 4 === 1 && value > 200 && (inked.data[index - 1] as number) < 60,
    ),
    'green ink',
  );
});

t.test('16-bit and float pictures are worked on in 8 bits', corpus, async (t) => {
  const deep = withoutGamma(image('pngsuite/basn2c16.png'));
  const plain = await raster(deep);
  t.ok(difference(await rasterOf(deep, []), plain) <= 1);
  const raised = await rasterOf(deep, [['linear', { b: 100 }]]);
  t.ok(
    Math.abs((raised.at(5, 5)[2] as number) - Math.min(255, (plain.at(5, 5)[2] as number) + 100)) <= 1,
    'an offset counts in 8 bits',
  );
  t.ok(
    (await made(image('modern/rgb32f_color.tiff'), passOf([['threshold']], { format: 'png' }))).data.length >
      0,
  );
  const kept = await made(deep, passOf([['toColourspace', { space: 'rgb16' }]], { format: 'png' }));
  t.equal((await sharp(kept.data).metadata()).depth, 'ushort', 'unless the steps ask for more');
});

t.test('CMYK becomes sRGB', async (t) => {
  const cmyk = (
    await sharp(await drawn(16, 16, () => [255, 255, 255]))
      .toColourspace('cmyk')
      .jpeg({ quality: 100 })
      .toUint8Array()
  ).data;
  t.equal((await sharp(cmyk).metadata()).space, 'cmyk');
  for (const metadata of ['strip', 'keep'] as const) {
    const { data } = await made(cmyk, passOf([['resize', { width: 8 }]], { format: 'png', metadata }));
    t.ok(Math.min(...(await raster(data)).at(2, 2)) > 245, metadata);
  }
});

t.test('an ICC profile is converted to sRGB, in 8 bits and in 16', async (t) => {
  const colour = await drawn(8, 8, () => [200, 60, 30]);
  const wide = (await sharp(colour).withIccProfile('p3').png().toUint8Array()).data;
  const deep = (await sharp(colour).toColourspace('rgb16').withIccProfile('p3').png().toUint8Array()).data;
  for (const [name, file] of [
    ['8', wide],
    ['16', deep],
  ] as const) {
    const { data } = await made(file, passOf([['resize', { width: 4 }]], { format: 'png' }));
    t.equal((await sharp(data).metadata()).hasProfile, false, `${name} bits: no profile is left`);
    const [red = 0, green = 0, blue = 0] = (await raster(data)).at(1, 1);
    t.ok(
      Math.abs(red - 200) <= 2 && Math.abs(green - 60) <= 3 && Math.abs(blue - 30) <= 3,
      `${name} bits: ${red} ${green} ${blue}`,
    );
  }
});

t.test(
  'metadata: strip leaves nothing, keep leaves all, through one pipeline or several',
  corpus,
  async (t) => {
    const input = image('modern/paris_exif_xmp_icc.jpg');
    const before = await sharp(input).metadata();
    const one: StepText[] = [['resize', { width: 100 }]];
    const several: StepText[] = [
      ['resize', { width: 100 }],
      ['extend', { left: 4, background: 'black' }],
      ['resize', { width: 80 }],
    ];
    for (const steps of [[], one, several]) {
      const stripped = await sharp((await made(input, passOf(steps))).data).metadata();
      t.same([stripped.exif, stripped.xmp, stripped.icc], [undefined, undefined, undefined]);
      const result = await made(input, passOf(steps, { format: 'png', metadata: 'keep' }));
      const kept = await sharp(result.data).metadata();
      t.ok(kept.exif !== undefined && kept.xmp !== undefined, 'EXIF and XMP');
      t.same(kept.icc, before.icc, 'the profile');
      // Whoever reads the profile sees the same colours as before.
      const seen = await raster(result.data);
      const plain = await rasterOf(input, steps);
      t.ok(meanDifference(seen, plain) < 3, `colours differ by ${meanDifference(seen, plain)}`);
    }
  },
);

t.test('pixels that are laid over kept metadata do not change', corpus, async (t) => {
  const input = image('modern/paris_icc_exif_xmp.png');
  for (const extra of [[['negate']], [['opacity', { opacity: 0.6 }]]] as StepText[][]) {
    const steps: StepText[] = [['resize', { width: 100 }], ['flip'], ['resize', { width: 90 }], ...extra];
    const kept = await made(input, passOf(steps, { format: 'png', metadata: 'keep' }));
    const { info, data } = await sharp(kept.data, { ignoreIcc: true }).ensureAlpha().raw().toUint8Array();
    t.ok((await sharp(kept.data).metadata()).exif !== undefined);
    // The same picture without its profile is worked on in the same numbers.
    const bare = (await sharp(input, { ignoreIcc: true }).png().toUint8Array()).data;
    const expected = await rasterOf(bare, steps);
    t.ok(
      difference({ ...expected, data, width: info.width, height: info.height }, expected) <= 1,
      JSON.stringify(extra),
    );
  }
});

t.test('copyright keeps the rights fields alone', async (t) => {
  const exif = { IFD0: { Copyright: 'Jane Doe', Artist: 'Jane', Software: 'secret', Make: 'Camera' } };
  const input = (
    await sharp(await drawn(16, 16, () => [1, 2, 3]))
      .withExif(exif)
      .jpeg()
      .toUint8Array()
  ).data;
  for (const steps of [[], [['resize', { width: 8 }], ['flip'], ['resize', { width: 4 }]]] as StepText[][]) {
    const kept = await sharp((await made(input, passOf(steps, { metadata: 'copyright' }))).data).metadata();
    const text = kept.exif?.toString('latin1') ?? '';
    t.match(text, /Jane Doe/);
    t.notMatch(text, /secret|Camera/);
  }
  const none = await made(await drawn(4, 4, () => [1, 2, 3]), passOf([], { metadata: 'copyright' }));
  t.equal((await sharp(none.data).metadata()).exif, undefined);
});

/** A picture in Display P3 whose pixels are the colour that CSS calls so, with a Copyright. */
async function inP3(background: string): Promise<Buffer> {
  return sharp({ create: { width: 8, height: 8, channels: 3, background } })
    .withIccProfile('p3')
    .withExif({ IFD0: { Copyright: 'Jane' } })
    .png()
    .toBuffer();
}

t.test('where the result carries no profile, its colours are sRGB though metadata is kept', async (t) => {
  const green = await inP3('#00ff00');
  const near = (actual: number[], wanted: number[]) =>
    actual.every((value, index) => Math.abs(value - (wanted[index] as number)) <= 8);
  const gif = await made(green, passOf([], { format: 'gif', metadata: 'keep' }));
  t.ok(near((await raster(gif.data)).at(4, 4), GREEN), 'gif');
  for (const format of ['png', 'jpeg', 'webp', 'avif', 'tiff'] as const) {
    const { data } = await made(
      green,
      passOf([['extractChannel', { channel: 'red' }]], { format, metadata: 'keep' }),
    );
    t.ok(near((await raster(data)).at(4, 4), [0, 0, 0, 255]), `the red of green in ${format}`);
    if (format !== 'tiff')
      t.ok((await sharp(data).metadata()).exif?.includes('Jane'), `${format}: the rest is kept`);
  }
  const grey = await made(green, passOf([['toColourspace', { space: 'b-w' }]], { metadata: 'keep' }));
  t.match(await sharp(grey.data).metadata(), { space: 'b-w', channels: 1, icc: undefined });
});

t.test('a CSS colour looks as it says on a picture that keeps its own profile', async (t) => {
  const picture = await inP3('#204080');
  const table: [StepText, number, number][] = [
    [['border', { width: 2, color: '#00ff00' }], 0, 0],
    [['extend', { left: 2, background: '#00ff00' }], 0, 0],
    [['rotate', { angle: 45, background: '#00ff00' }], 0, 0],
    [['redact', { regions: [{ x: 0, y: 0, width: 4, height: 4 }], color: '#00ff00' }], 1, 1],
    [['resize', { width: 8, height: 16, fit: 'contain', background: '#00ff00' }], 0, 0],
  ];
  for (const format of ['png', 'tiff'] as const) {
    for (const [step, x, y] of table) {
      const { data } = await made(picture, passOf([step], { format, metadata: 'keep' }));
      const [red = 0, green = 0, blue = 0] = (await raster(data)).at(x, y);
      t.ok(red <= 4 && green >= 251 && blue <= 4, `${format} ${step[0]}: ${red}, ${green}, ${blue}`);
      t.ok((await sharp(data).metadata()).icc, 'and the profile is there');
    }
  }
  const ground = await made(
    picture,
    passOf([['extend', { left: 2 }]], { background: '#00ff00', metadata: 'keep' }),
  );
  t.ok(((await raster(ground.data)).at(0, 0)[1] as number) >= 251, 'the background of the pass');
  t.match(
    await refused(picture, passOf([['border', { width: 1, color: 'nocolour' }]], { metadata: 'keep' })),
    {
      param: 'steps[0].params.color',
    },
  );
});

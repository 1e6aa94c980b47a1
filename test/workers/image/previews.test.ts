// needs: pixels
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { readInputFacts } from '../../../workers/image/input.ts';
import { pipelineWithMetadata } from '../../../workers/image/metadata/carried-metadata.ts';
import { blankUncarriedExif } from '../../../workers/image/metadata/edited-exif.ts';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { PassPicture } from '../../../workers/image/picture.ts';
import type { EncodeOptions, OutputFormat } from '../../../workers/protocol.ts';
import { caseFile, needsCases } from '../../support/cases.ts';
import { made, passOf, type StepText } from './passes.ts';
import { piecesOf, previewed, secondPictureIn } from './previewed.ts';

const corpus = needsCases(t);
const OUTPUTS: OutputFormat[] = ['jpeg', 'png', 'webp', 'avif', 'tiff', 'gif'];
const POLICIES = ['strip', 'copyright', 'keep'] as const;

/** Steps that run on the file itself, on its pixels, and on each of its channels. */
const STEPS: StepText[][] = [
  [],
  [['resize', { width: 12 }]],
  [['resize', { width: 16, height: 16, fit: 'cover', gravity: 'attention' }]],
  [['resize', { width: 30, height: 30, fit: 'contain', background: 'blue' }]],
  [['extract', { left: 2, top: 1, width: 10, height: 9 }]],
  [['crop', { aspect: '1:1' }]],
  [['trim']],
  [['rotate', { angle: 90 }]],
  [['rotate', { angle: 30, background: 'red' }]],
  [['flip']],
  [['flop']],
  [['affine', { matrix: [1, 0.2, 0, 1], background: 'red' }]],
  [['extend', { top: 2, left: 3, background: 'red' }]],
  [['border', { width: 2, color: 'white', radius: 4 }]],
  [['roundCorners', { radius: 5 }]],
  [['greyscale']],
  [['negate']],
  [['blur', { sigma: 1 }]],
  [['sharpen', { sigma: 1 }]],
  [['median', { size: 3 }]],
  [['pixelate', { size: 5 }]],
  [['redact', { regions: [{ x: 1, y: 1, width: 8, height: 8 }], style: 'pixelate' }]],
  [['text', { text: 'i', size: 10, margin: 0 }]],
  [['modulate', { hue: 90 }]],
  [['duotone', { dark: 'navy', light: 'yellow' }]],
  [['tint', { color: 'teal' }]],
  [['placeholder']],
];
const task = { kind: 'transform', pass: passOf([]), deadlineMs: Number.MAX_SAFE_INTEGER } as const;

const FEW: StepText[][] = [
  [],
  [['extract', { left: 2, top: 1, width: 10, height: 9 }]],
  [['redact', { regions: [{ x: 1, y: 1, width: 8, height: 8 }], style: 'solid' }]],
];

t.test('the files of this test hold second pictures', async (t) => {
  for (const [format, file] of Object.entries(previewed))
    t.not((await secondPictureIn(file)).length, 0, format);
});

async function assertNone(t: Test, file: Uint8Array, steps: StepText[], encode: EncodeOptions) {
  const { data } = await made(file, passOf(steps, encode));
  const name = `${steps[0]?.[0] ?? 'nothing'} to ${encode.format}, ${encode.metadata}`;
  t.strictSame(await secondPictureIn(data), [], name);
  if (encode.metadata === 'copyright' && encode.format !== 'gif')
    t.ok((await piecesOf(data)).includes('A. Example'), `${name}: rights are kept`);
}

for (const [format, file] of Object.entries(previewed)) {
  t.test(`no second picture of a ${format} is in a result of any format, by any policy`, async (t) => {
    for (const steps of FEW)
      for (const format of OUTPUTS)
        for (const metadata of POLICIES) await assertNone(t, file, steps, { format, metadata });
  });
}

t.test('no step leaves a second picture', async (t) => {
  for (const steps of STEPS)
    for (const format of ['jpeg', 'webp'] as const)
      for (const metadata of ['copyright', 'keep'] as const)
        await assertNone(t, previewed.jpeg, steps, { format, metadata });
});

t.test('a search for a target carries no second picture', async (t) => {
  // With a target, the strips of a TIFF are JPEGs themselves.
  for (const format of ['jpeg', 'webp', 'avif', 'png'] as const) {
    for (const metadata of POLICIES) {
      const encode = { format, metadata, target: { maxBytes: 20_000 } };
      t.strictSame(
        await secondPictureIn((await made(previewed.jpeg, passOf([], encode))).data),
        [],
        `${format}, ${metadata}`,
      );
    }
  }
});

t.test('what is kept beside the pictures stays', async (t) => {
  for (const [format, input] of Object.entries(previewed)) {
    for (const output of ['jpeg', 'png', 'webp', 'avif', 'tiff'] as const) {
      const { data } = await made(input, passOf([['flip']], { format: output, metadata: 'keep' }));
      const { xmp, iptc, comments } = await sharp(data).metadata();
      t.match(xmp?.toString(), /CreatorTool="A tool".*A\. Example/s, `${format} to ${output}: XMP`);
      if (format === 'jpeg' && (output === 'jpeg' || output === 'tiff'))
        t.ok(iptc?.includes('A. Example'), `${output}: IPTC`);
      if (format === 'png' && output === 'png')
        t.strictSame(comments, [{ keyword: 'Title', text: 'A title' }], 'texts of a PNG');
    }
  }
});

t.test('the EXIF of a result tells its own size, or none', async (t) => {
  for (const format of ['jpeg', 'png', 'webp', 'avif', 'tiff'] as const) {
    const { data } = await made(
      previewed.jpeg,
      passOf([['resize', { width: 24 }]], { format, metadata: 'keep' }),
    );
    const told = await describeImage(data);
    const { PixelXDimension = 24, PixelYDimension = 18 } =
      told.kind === 'described' ? (told.metadata.exif ?? {}) : {};
    t.same([PixelXDimension, PixelYDimension], [24, 18], format);
  }
});

t.test('where a preview cannot be removed from the file, the pixels alone are written', async (t) => {
  const input = new Uint8Array(previewed.jpeg);
  t.equal(blankUncarriedExif(input, Buffer.from('II*\0 elsewhere', 'latin1'), { orientation: false }), false);
  const source = await readInputFacts({ ...task, input }, false);
  const chosen = { first: 0, count: 1 };
  const facts = { ...source, frames: 1, mustTurnUpright: false, isPlain: true };
  const pass = {
    task: { input },
    encode: { metadata: 'copyright' },
    source,
    chosen,
    profile: 'srgb',
  } as const;
  const fields = { Artist: 'A. Example' };
  for (const pixelsOnly of [true, undefined]) {
    const picture = new PassPicture(sharp(input), facts, () => 60);
    const carried = { exif: { structure: input, fields }, ...(pixelsOnly && { pixelsOnly }) };
    const written = await (await pipelineWithMetadata({ ...pass, picture, carried })).jpeg().toBuffer();
    t.ok(written.includes('A. Example'));
    t.equal(
      (await secondPictureIn(written)).length === 0,
      pixelsOnly === true,
      'and the file itself would leak it',
    );
  }
});

t.test('the case with previews', corpus, async (t) => {
  const file = caseFile('jpeg-with-previews.jpg');
  const crop: StepText[] = [['extract', { left: 100, top: 0, width: 100, height: 120 }]];
  for (const metadata of ['copyright', 'keep'] as const) {
    for (const steps of [crop, [['pixelate', { size: 40 }]] as StepText[]]) {
      const { data } = await made(file, passOf(steps, { metadata }));
      t.strictSame(await secondPictureIn(data), [], metadata);
      t.ok(Buffer.from(data).includes('(c) Example'));
    }
  }
});

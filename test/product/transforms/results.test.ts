// needs: server
import sharp from 'sharp';
import t from 'tap';
import type { Answer } from '../../support/harness.ts';
import { image, needsImages } from '../../support/images.ts';
import { openCalls, pictureOf, pngOf, type Query } from './calls.ts';

const corpus = needsImages(t);
const calls = await openCalls(t);

const warningsOf = ({ status, headers, json }: Answer) =>
  status === 200 ? headers.get('x-service-warnings') : JSON.stringify(json);

t.test('a resize that may not enlarge says which size the picture keeps', async (t) => {
  const small = await pngOf(sharp({ create: { width: 300, height: 200, channels: 3, background: '#369' } }));
  const cases: [query: Query, warnings: string | null][] = [
    [{ width: 5000 }, 'not_enlarged:300'],
    [{ height: 201 }, 'not_enlarged:200'],
    [{ width: 600, height: 900 }, 'not_enlarged:300'],
    [{ width: 900, height: 900, fit: 'cover' }, 'not_enlarged:200'],
    [{ width: 900, height: 100, fit: 'fill' }, 'not_enlarged:300'],
    [{ width: 900, height: 900, fit: 'contain' }, 'not_enlarged:300'],
    [{ width: 300 }, null],
    [{ width: 300, height: 200, fit: 'cover' }, null],
    [{ width: 5000, height: 100 }, null],
    [{ width: 100 }, null],
    [{ width: 600, enlarge: true }, null],
  ];
  for (const [query, warnings] of cases) {
    const answer = await calls.transform({ op: 'resize', ...query }, small);
    t.equal(warningsOf(answer), warnings, JSON.stringify(query));
  }
  const { json } = await calls.server.call('/presets', {
    key: calls.key,
    json: { name: 'Wide', steps: [{ op: 'resize', parameters: { width: 4000 } }] },
  });
  const answer = await calls.transform({ preset: json.data.slug }, small);
  t.equal(warningsOf(answer), 'not_enlarged:300', 'of a preset as well');
});

t.test('a file that grew though its picture did not is told', corpus, async (t) => {
  const photo = image('photos/kodak-23.png');
  const jpeg = new Uint8Array(await sharp(photo).jpeg({ quality: 60 }).toBuffer());
  const grown = await calls.transform({ op: 'convert', format: 'png' }, jpeg, 'image/jpeg');
  t.ok(grown.bytes.length > jpeg.length);
  t.equal(warningsOf(grown), 'larger_than_input');
  t.equal(warningsOf(await calls.transform({ op: 'convert', format: 'webp' }, photo)), null, 'a smaller one');
  const enlarged = await calls.transform({ op: 'resize', width: 1600, enlarge: true }, photo);
  t.ok(enlarged.bytes.length > photo.length);
  t.equal(warningsOf(enlarged), null, 'one that has more pixels');
  const stripes = Buffer.alloc(64 * 64 * 4 * 3).map((_, at) => (Math.floor(at / 3 + at / 12_288) % 2) * 255);
  const raw = { width: 64, height: 64 * 4, channels: 3, pageHeight: 64 } as const;
  const moving = new Uint8Array(
    await sharp(stripes, { raw })
      .gif({ delay: [9, 8, 7, 6] })
      .toBuffer(),
  );
  const first = { op: 'convert', format: 'jpeg', quality: 100, frame: 'first' };
  const fewer = await calls.transform(first, moving, 'image/gif');
  t.ok(fewer.bytes.length > moving.length);
  t.match(warningsOf(fewer), /larger_than_input/, 'one that has fewer frames');
});

t.test('a PNG that is written again is about as large as it was', corpus, async (t) => {
  for (const name of ['kodak-1', 'kodak-23', 'kodak-20']) {
    const photo = image(`photos/${name}.png`);
    const { bytes } = await calls.transform({ op: 'flip', axis: 'horizontal' }, photo);
    const growth = bytes.length / photo.length;
    t.ok(growth < 1.1, `${name}: ${growth.toFixed(2)} of what it was`);
    t.same(
      (await pictureOf(await calls.transform({ op: 'flip', axis: 'horizontal' }, new Uint8Array(bytes))))
        .data,
      (await pictureOf(await calls.transform({ op: 'convert', format: 'png', effort: 1 }, photo))).data,
      'nothing is lost',
    );
  }
  const rows = Array.from(
    { length: 24 },
    (_, row) =>
      `<text x="20" y="${24 * row + 24}" font-size="18">Row ${row}: ${row * 977} times the quick brown fox</text>`,
  );
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="900" height="600"><path fill="#fff" d="M0 0h900v600H0z"/>${rows.join('')}</svg>`;
  const drawn = await calls.transform({ op: 'convert', format: 'png' }, Buffer.from(svg), 'image/svg+xml');
  const drawing = await pngOf(sharp(drawn.bytes));
  const { bytes } = await calls.transform({ op: 'flip', axis: 'horizontal' }, drawing);
  t.ok(bytes.length < 1.1 * drawing.length, `a drawing: ${bytes.length} of ${drawing.length}`);
});

t.test(
  'a file that nothing is done to stays as it is, unless there is something to strip',
  corpus,
  async (t) => {
    const bare = await pngOf(sharp(image('photos/kodak-23.png')));
    const jpeg = new Uint8Array(await sharp(bare).jpeg({ quality: 95 }).toBuffer());
    const gif = image('animated/anim-gr.gif');
    const kept: [query: Query, file: Uint8Array, type: string][] = [
      [{ op: 'convert', format: 'png' }, bare, 'image/png'],
      [{ op: 'resize', width: 5000 }, bare, 'image/png'],
      [{ op: 'convert', format: 'jpeg' }, jpeg, 'image/jpeg'],
      [{ op: 'convert', format: 'jpeg', metadata: 'keep' }, jpeg, 'image/jpeg'],
      [{ op: 'convert', format: 'gif' }, gif, 'image/gif'],
    ];
    for (const [query, file, type] of kept) {
      const { bytes, headers } = await calls.transform(query, file, type);
      t.ok(bytes.equals(file), JSON.stringify(query));
      t.match(headers.get('x-service-width'), /^\d+$/);
    }
    const tagged = new Uint8Array(
      await sharp(bare)
        .withExif({ IFD0: { Artist: 'Somebody' } })
        .withIccProfile('p3')
        .jpeg()
        .toBuffer(),
    );
    const turned = new Uint8Array(await sharp(bare).withMetadata({ orientation: 6 }).jpeg().toBuffer());
    const changed: [query: Query, file: Uint8Array][] = [
      [{ op: 'convert', format: 'jpeg' }, tagged],
      [{ op: 'convert', format: 'jpeg' }, turned],
      [{ op: 'convert', format: 'jpeg', quality: 90 }, jpeg],
      [{ op: 'convert', format: 'jpeg', progressive: false }, jpeg],
    ];
    for (const [query, file] of changed) {
      const { bytes } = await calls.transform(query, file, 'image/jpeg');
      t.notOk(bytes.equals(file), JSON.stringify(query));
      const { exif, icc, orientation } = await sharp(bytes).metadata();
      t.same([exif, icc, orientation ?? 1], [undefined, undefined, 1], 'and nothing is left to strip');
    }
    const broken = new Uint8Array(bare);
    broken.fill(0, broken.length >> 1, (broken.length >> 1) + 5000);
    const { status } = await calls.transform({ op: 'convert', format: 'png' }, broken);
    t.equal(status, 400, 'one that cannot be decoded is not answered');
  },
);

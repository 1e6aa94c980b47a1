// needs: pixels
import { execFile as execFileOfNode } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp, { type Sharp } from 'sharp';
import t from 'tap';
import { prepareZXingModule, type WriteInputBarcodeFormat, writeBarcode } from 'zxing-wasm/writer';
import { findProgram } from '../../../bench/services/server.ts';
import { readSettings } from '../../../config/index.ts';
import { configureFontconfig } from '../../../src/imaging/fonts/fontconfig.ts';
import { ImageWorkers } from '../../../src/imaging/images/image-workers.ts';
import { Readers } from '../../../src/imaging/readers/readers.ts';
import type { CodesReading, ReadingTask, TextReading } from '../../../src/imaging/readers/reading.ts';
import { smallCapacity } from '../../support/capacity.ts';
import { image, needsImages } from '../../support/images.ts';

/** Floors below what is read today, so that a worse reader, or a worse preparation for it, is noticed. */
const MIN_CHARACTERS_RIGHT = 0.97;
const MIN_CHARACTERS_RIGHT_OF_A_PAGE = 0.85;
const MIN_CODES_RIGHT = 29;

const DEADLINE_MS = 60_000;
const execFile = promisify(execFileOfNode);

configureFontconfig();
const writer = await readFile(fileURLToPath(import.meta.resolve('zxing-wasm/writer/zxing_writer.wasm')));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(writer).buffer } });

const imageWorkers = new ImageWorkers({
  settings: readSettings({}).images,
  capacity: smallCapacity(),
  log: { warn: () => undefined },
});
const readers = new Readers(imageWorkers);
t.teardown(() => Promise.all([readers.close(), imageWorkers.close()]));

async function read(picture: Sharp, reading: ReadingTask) {
  const bytes = new Uint8Array(await picture.toBuffer());
  const terms = { accountId: 'acc_test', deadlineMs: Date.now() + DEADLINE_MS };
  return (await readers.read({ bytes, reading, ...terms }).result).output;
}

interface Style {
  font?: string;
  /** Attributes of the first line, as of Pango's span. */
  heading?: string;
  ink?: string;
  paper?: string;
}

/** Writing on paper, with a margin. */
async function written(
  text: string,
  { font = 'sans 32', heading = '', ink = '#000000', paper = '#ffffff' }: Style = {},
) {
  const first = text.replace(/^.*/, `<span ${heading}>$&</span>`);
  const letters = await sharp({
    text: { text: `<span foreground="${ink}">${first}</span>`, font, dpi: 72, rgba: true, spacing: 10 },
  })
    .png()
    .toBuffer({ resolveWithObject: true });
  const size = { width: letters.info.width + 80, height: letters.info.height + 80 };
  const sheet = sharp({ create: { ...size, channels: 3, background: paper } });
  const page = sheet.composite([{ input: letters.data, left: 40, top: 40 }]);
  return sharp(await page.png().toBuffer()).png();
}

/** The edits that make one text of the other. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [line, character] of [...one].entries()) {
    const next = [line + 1];
    for (let at = 1; at < row.length; at++) {
      const kept = (row[at - 1] ?? 0) + Number(character !== other[at - 1]);
      next.push(Math.min(kept, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

type Page = [what: string, text: string, style?: Style, changed?: (page: Sharp) => Sharp];

const NOTE = 'Delivery note 20481\nTwelve boxes of paper';
const INVOICE = `INVOICE 2026-0117
Example Studio Ltd, 12 Harbour Street, Bristol
Item Price Amount
Photo retouching 40.00 120.00
Prints 30 x 40 cm 18.50 37.00
Total due: EUR 157.00`;
const NOTES_ON_VISITS = `The harbour office opens at nine each morning and closes at five. Visitors who
want to see the engine room should ask at the desk for one of the yellow badges.
Children under twelve may enter free of charge, but only with a grown-up.`;
const NOTICE = 'Platform 7\nTrains to Bristol and Bath\nPlease stand behind the yellow line.';
/** Pango's sizes are in 1024ths of a point. */
const heading = (points: number) => `weight="bold" size="${points * 1024}"`;

const PAGES: readonly Page[] = [
  ['sans', NOTE],
  ['serif', 'The garden is open to visitors\nfrom April until October.', { font: 'serif 30' }],
  ['mono', 'Order 7719 shipped on Friday\nto Harbour Street 12', { font: 'monospace 26' }],
  ['bold', 'EMERGENCY EXIT', { font: 'sans bold 44' }],
  ['italic', 'With kind regards from all of us', { font: 'sans italic 34' }],
  ['small', 'Opening hours: Monday to Friday\n9:30 to 18:00, closed at noon', { font: 'sans 13' }],
  ['tiny', NOTES_ON_VISITS, { font: 'Liberation Serif 10' }],
  ['large', 'Platform 7', { font: 'sans 96' }],
  ['figures', 'Subtotal 1234.50\nTax 98.76\nTotal 1333.26', { font: 'sans 30' }],
  ['white on black', 'Keep the door closed', { ink: '#ffffff', paper: '#101010' }],
  ['white on blue', 'Hospital 500 m', { font: 'sans bold 40', ink: '#ffffff', paper: '#1450a0' }],
  ['black on yellow', 'Caution: wet floor', { font: 'sans bold 36', paper: '#ffd400' }],
  ['grey on white', 'Printed with little ink left', { ink: '#a0a0a0' }],
  ['grey on grey', 'Faded letters on old paper', { ink: '#a0a0a0', paper: '#d0d0d0' }],
  ['light on grey', 'Meeting room on the second floor', { ink: '#e8e8e8', paper: '#787878' }],
  ['a quarter to the right', NOTE, {}, (page) => page.rotate(90)],
  ['upside down', NOTE, {}, (page) => page.rotate(180)],
  ['a quarter to the left', NOTE, {}, (page) => page.rotate(270)],
  ['a little askew', NOTE, {}, (page) => page.rotate(4, { background: '#ffffff' })],
  ['a heading of twice the size', INVOICE, { font: 'sans 18', heading: heading(36) }],
  ['a heading of five times the size', INVOICE, { font: 'sans 16', heading: heading(80) }],
  ['a white heading', INVOICE, { font: 'sans 16', heading: heading(54), ink: '#ffffff', paper: '#202020' }],
  ['a white notice', NOTICE, { font: 'sans 14', heading: heading(96), ink: '#ffffff', paper: '#123456' }],
  ['a far larger figure', '48,210\nVisitors this month', { font: 'sans 16', heading: heading(150) }],
  ['one letter', 'A', { font: 'sans bold 160' }],
  ['a low-quality JPEG', NOTE, {}, (page) => page.jpeg({ quality: 10 })],
  ['blurred', NOTE, {}, (page) => page.blur(2.2)],
];

/** What the command of Tesseract reads of a picture; null where the command is not there. */
async function readByCommand(picture: Sharp): Promise<string | null> {
  const program = await findProgram('tesseract');
  if (program === null) return null;
  const reading = execFile(program, ['stdin', 'stdout', '-l', 'eng']);
  reading.child.stdin?.end(await picture.png().toBuffer());
  return (await reading).stdout.trim();
}

t.test(`the text of ${PAGES.length} pages and signs is read`, async (t) => {
  let [wrong, all] = [0, 0];
  let wrongByCommand: number | null = 0;
  for (const [what, text, style, changed = (page: Sharp) => page] of PAGES) {
    const found = (await read(changed(await written(text, style)), {
      kind: 'text',
      language: 'eng',
    })) as TextReading;
    const edits = editsBetween(text, found.text.replace(/\s*\n\s*/g, '\n'));
    wrong += edits;
    all += text.length;
    const other = await readByCommand(changed(await written(text, style)));
    if (other === null) wrongByCommand = null;
    else if (wrongByCommand !== null) wrongByCommand += editsBetween(text, other.replace(/\s*\n\s*/g, '\n'));
    const share = 1 - edits / text.length;
    t.comment(`${what}: ${(100 * share).toFixed(1)} % (${found.confidence.toFixed(2)})`);
    t.ok(share >= MIN_CHARACTERS_RIGHT_OF_A_PAGE, `${what}: ${JSON.stringify(found.text)}`);
  }
  const share = 1 - wrong / all;
  t.ok(share >= MIN_CHARACTERS_RIGHT, `${(100 * share).toFixed(2)} % of ${all} characters`);
  if (wrongByCommand === null) return t.comment('The command tesseract is not there to compare with.');
  t.comment(`wrong characters: ${wrong}, and ${wrongByCommand} by the command`);
  t.ok(wrong <= wrongByCommand, 'no worse than the command of Tesseract');
});

/** Something at a place of a page: a line of text, or a box of one colour. */
type Piece = { x: number; y: number } & (
  | { text: string; font: string; ink?: string }
  | { width: number; height: number; colour: string }
);

async function pageOf(width: number, height: number, pieces: readonly Piece[]): Promise<Sharp> {
  const layers = pieces.map(async ({ x, y, ...piece }) => {
    if ('colour' in piece) {
      const { colour, ...size } = piece;
      return { input: { create: { ...size, channels: 3 as const, background: colour } }, left: x, top: y };
    }
    const { text, font, ink = '#000000' } = piece;
    const letters = sharp({
      text: { text: `<span foreground="${ink}">${text}</span>`, font, dpi: 72, rgba: true },
    });
    return { input: await letters.png().toBuffer(), left: x, top: y };
  });
  const sheet = sharp({ create: { width, height, channels: 3, background: '#ffffff' } });
  return sharp(
    await sheet
      .composite(await Promise.all(layers))
      .png()
      .toBuffer(),
  ).png();
}

const rule = (x: number, y: number, width: number, height: number): Piece => ({
  ...{ x, y, width, height },
  colour: '#000000',
});

const RECEIPT = [
  ['HARBOUR CAFE'],
  ['12 Pier Road, Bristol'],
  ['Flat white', '3.20'],
  ['Cheese toast', '5.40'],
  ['Apple juice', '2.80'],
  ['Subtotal', '11.40'],
  ['TOTAL GBP', '11.40'],
  ['Thank you, come again!'],
] as const;

const APART: readonly [what: string, picture: Sharp, text: string][] = [
  [
    'white buttons',
    await pageOf(800, 500, [
      { x: 40, y: 40, text: 'Delete the file?', font: 'sans bold 40' },
      { x: 40, y: 110, text: 'This cannot be undone.', font: 'sans 18' },
      { x: 40, y: 250, width: 200, height: 60, colour: '#c01020' },
      { x: 85, y: 266, text: 'Delete', font: 'sans bold 24', ink: '#ffffff' },
      { x: 280, y: 250, width: 200, height: 60, colour: '#606060' },
      { x: 325, y: 266, text: 'Cancel', font: 'sans bold 24', ink: '#ffffff' },
    ]),
    'Delete the file?\nThis cannot be undone.\nDelete\nCancel',
  ],
  [
    'a receipt with its amounts far from their names',
    await pageOf(
      380,
      320,
      RECEIPT.flatMap(([name, amount], row) => {
        const [y, font] = [20 + row * 34, 'monospace 18'];
        const left = { x: 20, y, text: name, font };
        return amount === undefined ? [left] : [left, { x: 360 - 11 * amount.length, y, text: amount, font }];
      }),
    ),
    RECEIPT.map((row) => row.join(' ')).join('\n'),
  ],
  [
    'a small line far below',
    await pageOf(800, 1100, [
      { x: 60, y: 110, text: 'JAZZ', font: 'sans bold 200' },
      { x: 60, y: 340, text: 'NIGHT', font: 'sans bold 100' },
      { x: 60, y: 530, text: 'Friday 12 May, 20:00', font: 'sans 40' },
      { x: 60, y: 1028, text: 'Tickets at the door. Children free.', font: 'sans 14' },
    ]),
    'JAZZ\nNIGHT\nFriday 12 May, 20:00\nTickets at the door. Children free.',
  ],
  [
    'a heading and a table in a frame',
    await pageOf(800, 400, [
      ...[rule(8, 8, 784, 4), rule(8, 388, 784, 4), rule(8, 8, 4, 384), rule(788, 8, 4, 384)],
      ...[rule(40, 120, 640, 2), rule(40, 160, 640, 2), rule(40, 200, 640, 2), rule(300, 120, 2, 80)],
      { x: 40, y: 46, text: 'INVOICE 2026-0117', font: 'sans bold 36' },
      { x: 50, y: 133, text: 'Photo retouching', font: 'sans 18' },
      { x: 310, y: 133, text: '120.00', font: 'sans 18' },
      { x: 50, y: 173, text: 'Prints 30 x 40 cm', font: 'sans 18' },
      { x: 310, y: 173, text: '37.00', font: 'sans 18' },
    ]),
    'INVOICE 2026-0117\nPhoto retouching 120.00\nPrints 30 x 40 cm 37.00',
  ],
];

t.test('text apart from the other lines of a page is read, in reading order', async (t) => {
  for (const [what, picture, text] of APART) {
    const found = (await read(picture, { kind: 'text', language: 'eng' })) as TextReading;
    t.equal(found.text.replace(/\s*\n\s*/g, '\n'), text, what);
    t.same(
      found.lines.map((line) => line.text),
      text.split('\n'),
      what,
    );
  }
});

t.test('a photograph on a page is no text', needsImages(t), async (t) => {
  const page = await written(`${INVOICE}${'\n'.repeat(20)}${NOTE}`, {
    font: 'sans 18',
    heading: heading(36),
  });
  const photo = await sharp(image('photos/kodak-20.png')).resize(380, 300).toBuffer();
  const { text } = (await read(page.composite([{ input: photo, left: 40, top: 260 }]), {
    kind: 'text',
    language: 'eng',
  })) as TextReading;
  t.equal(text.replace(/\s*\n\s*/g, '\n'), `${INVOICE}\n${NOTE}`);
});

/** The text that is written, and what is read where it is not the same: UPC codes are read as the EAN that they are. */
type Kind = [format: WriteInputBarcodeFormat, text: string, read?: string];

/** Every kind that the writer makes. */
const KINDS: readonly Kind[] = [
  ['QRCode', 'https://example.test/a?b=1'],
  ['DataMatrix', 'DM-4711'],
  ['Aztec', 'Aztec 4711'],
  ['PDF417', 'PDF 4711'],
  ['EAN13', '4006381333931'],
  ['EAN8', '96385074'],
  ['UPCA', '036000291452', '0036000291452'],
  ['UPCE', '01234565', '0012345000065'],
  ['Code39', 'CODE-39'],
  ['Code93', 'CODE-93'],
  ['Code128', 'Code-128 ok'],
  ['ITF', '12345678901231'],
  ['Codabar', 'A40156B'],
];

type Condition = [what: string, change: (code: Sharp) => Sharp];

const CONDITIONS: readonly Condition[] = [
  ['as drawn', (code) => code],
  ['a quarter turned, as JPEG', (code) => code.rotate(90).jpeg({ quality: 60 })],
];
/** Hard ones, for some kinds only. */
const HARD: readonly [Kind | undefined, Condition][] = [
  [KINDS[0], ['grey on grey', (code) => code.linear(0.35, 110)]],
  [KINDS[1], ['askew', (code) => code.rotate(20, { background: '#ffffff' })]],
  [KINDS[4], ['upside down and blurred', (code) => code.rotate(180).blur(0.8)]],
  [KINDS[2], ['white on black', (code) => code.negate({ alpha: false })]],
];

async function codeOf([format, text]: Kind): Promise<Sharp> {
  const { image } = await writeBarcode(text, { format, scale: 4 });
  if (image === null) throw new Error(`${format} was not drawn`);
  const drawn = sharp(Buffer.from(await image.arrayBuffer())).flatten({ background: '#ffffff' });
  const framed = drawn.extend({ top: 40, right: 40, bottom: 40, left: 40, background: '#ffffff' });
  return sharp(await framed.png().toBuffer()).png();
}

t.test('light codes on a dark ground are read, of every kind', async (t) => {
  for (const kind of KINDS) {
    const [format, text, expected = text] = kind;
    const { codes } = (await read((await codeOf(kind)).negate({ alpha: false }), {
      kind: 'codes',
    })) as CodesReading;
    t.match(codes, [{ text: expected }], format);
    t.equal(codes.length, 1, format);
  }
});

t.test('codes of every kind are read', async (t) => {
  const cases = [
    ...KINDS.flatMap((kind) => CONDITIONS.map((condition) => [kind, condition] as const)),
    ...HARD.flatMap(([kind, condition]) => (kind === undefined ? [] : [[kind, condition] as const])),
  ];
  let right = 0;
  for (const [kind, [what, change]] of cases) {
    const [format, text, expected = text] = kind;
    const { codes } = (await read(change(await codeOf(kind)), { kind: 'codes' })) as CodesReading;
    const isRight = codes.length === 1 && codes[0]?.text === expected;
    right += Number(isRight);
    if (!isRight) t.comment(`${format}, ${what}: ${JSON.stringify(codes)}`);
  }
  t.equal(cases.length, 30);
  t.ok(right >= MIN_CODES_RIGHT, `${right} of ${cases.length}`);
});

// needs: pixels
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import t from 'tap';
import { prepareZXingModule, writeBarcode } from 'zxing-wasm/writer';
import { openTestProviders, type TestCall } from './harness.ts';

const { run, models, logged } = openTestProviders(t, { SANDBOX_MODELS: 'off' });

const writer = await readFile(fileURLToPath(import.meta.resolve('zxing-wasm/writer/zxing_writer.wasm')));
prepareZXingModule({ overrides: { wasmBinary: new Uint8Array(writer).buffer } });

interface Placed {
  text: string;
  x: number;
  y: number;
}

/** What a local model found in a picture. */
async function found(id: string, input: Uint8Array<ArrayBuffer>, signal?: AbortSignal) {
  const schema = models.models.find((model) => model.id === id)?.answerSchema ?? {};
  const call: TestCall = { op: 'analyze', model: id, schema, input };
  const outcome = await run(call, signal);
  if (outcome.kind !== 'json') throw new Error(`${JSON.stringify(outcome)} ${logged()}`);
  return outcome.output as { text: string; lines: Placed[]; codes: Placed[] };
}

/** Black letters on white. */
async function page(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const letters = await sharp({ text: { text, font: 'sans 40', width: 700, dpi: 72, rgba: true } })
    .png()
    .toBuffer();
  const whole = sharp({ create: { width: 800, height: 300, channels: 3, background: '#ffffff' } });
  return new Uint8Array(
    await whole
      .composite([{ input: letters, left: 50, top: 60 }])
      .png()
      .toBuffer(),
  );
}

async function codeOf(text: string, format: 'QRCode' | 'EAN13'): Promise<Buffer> {
  const { image } = await writeBarcode(text, { format, scale: 4 });
  if (image === null) throw new Error('no code was drawn');
  return Buffer.from(await image.arrayBuffer());
}

t.test('writing is read with its lines, where they stand', async (t) => {
  const read = await found('local-text', await page('Darkroom develops\npictures at 4711 Elm'));
  t.match(read, { width: 800, height: 300, text: /Darkroom develops\s+pictures at 4711 Elm/ });
  t.equal(read.lines.length, 2);
  t.ok(
    read.lines.every(({ x, y }) => x >= 45 && x < 70 && y > 50 && y < 250),
    JSON.stringify(read.lines),
  );
});

t.test('a picture without writing or codes has none, and is no failure', async (t) => {
  const plain = sharp({ create: { width: 90, height: 60, channels: 3, background: '#d0d0ff' } });
  const input = new Uint8Array(await plain.png().toBuffer());
  t.match(await found('local-text', input.slice()), { text: '', lines: [] });
  t.match(await found('local-codes', input), { codes: [] });
});

t.test('codes are read, each with its kind and place', async (t) => {
  const whole = sharp({ create: { width: 1000, height: 500, channels: 3, background: '#ffffff' } });
  const both = whole.composite([
    { input: await codeOf('https://example.test/a?b=1', 'QRCode'), left: 40, top: 60 },
    { input: await codeOf('4006381333931', 'EAN13'), left: 480, top: 100 },
  ]);
  const { codes } = await found('local-codes', new Uint8Array(await both.webp().toBuffer()));
  t.strictSame(codes.map(({ text }) => text).sort(), ['4006381333931', 'https://example.test/a?b=1']);
  const place = codes.find(({ text }) => text.startsWith('https'))?.x ?? 0;
  t.ok(place > 40 && place < 140, String(place));
});

t.test(
  'a reader that is no longer waited for is ended, and the next picture is read all the same',
  async (t) => {
    const ending = new AbortController();
    const read = found('local-text', await page('A long page '.repeat(12)), ending.signal);
    setTimeout(() => ending.abort(new Error('enough')), 20);
    await t.rejects(read, { message: 'enough' });
    t.match(await found('local-text', await page('Still here')), { text: /Still here/ });
  },
);

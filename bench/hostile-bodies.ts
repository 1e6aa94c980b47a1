import sharp from 'sharp';
import type { SentBytes } from './api.ts';

/** Calls whose bodies are the attack: forms of many pictures or parts, and pages. */

export interface AttackCall {
  path: string;
  body: object | SentBytes;
}

/** Returns a function that gives the calls one after the other, and then again from the first. */
export function cycleThrough(calls: readonly AttackCall[]): () => AttackCall {
  let sent = 0;
  return () => calls[sent++ % calls.length] as AttackCall;
}

const repeat = <T>(count: number, of: (index: number) => T) =>
  Array.from({ length: count }, (_, at) => of(at));

async function formCall(path: string, form: FormData): Promise<AttackCall> {
  const sent = new Response(form);
  const type = sent.headers.get('content-type') ?? '';
  return { path, body: { type, bytes: new Uint8Array(await sent.arrayBuffer()) } };
}

/** 20 outputs of a PNG of 49 megapixels, and 20 layers of that size on it. */
export async function manyPictures(photo: Buffer): Promise<() => AttackCall> {
  const flat = sharp(photo).resize(7_000, 7_000, { fit: 'fill', kernel: 'nearest' }).threshold(128);
  const bytes = new Blob([new Uint8Array(await flat.png().toBuffer())], { type: 'image/png' });
  const outputs = repeat(20, (at) => ({ name: `o${at}`, op: 'resize', parameters: { width: 3_000 + at } }));
  const steps = repeat(20, () => ({ op: 'overlay', parameters: { opacity: 0.5 } }));
  const forms = [
    { work: { outputs }, files: ['file'] },
    { work: { steps }, files: ['file', ...repeat(20, (at) => (at === 0 ? 'layer' : `layer${at + 1}`))] },
  ];
  const calls = forms.map(({ work, files }) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(work)) form.set(name, JSON.stringify(value));
    for (const name of files) form.set(name, bytes, 'flat.png');
    return formCall('/images/transform', form);
  });
  return cycleThrough(await Promise.all(calls));
}

const FORM_PARTS = 10_000;

/** Forms of 10,000 fields, of 10,000 files that are skipped, and of 10,000 files that are kept. */
export async function manyParts(): Promise<() => AttackCall> {
  const [fields, others, files] = [new FormData(), new FormData(), new FormData()];
  for (let at = 0; at < FORM_PARTS; at += 1) {
    fields.append(`field${at}`, 'x');
    others.append(`layer${at}`, new Blob(['x']), 'x.png');
    files.append('file', new Blob(['x']), 'x.png');
  }
  const path = '/images/transform?op=grayscale';
  return cycleThrough([
    await formCall(path, fields),
    await formCall(path, others),
    await formCall('/assets/upload', files),
  ]);
}

/** Bodies of up to 8 MB in turn, which are refused before parsing, after parsing, and as late as possible. */
export function largeBodies(): () => AttackCall {
  const names = (count: number) => Object.fromEntries(repeat(count, (at) => [`name${at}`, at]));
  const priced = '/jobs?dryRun=true';
  const calls = [
    [priced, { op: 'resize', parameters: names(350_000) }],
    [
      priced,
      {
        op: 'render_template',
        templateId: 'builtin-template-quote',
        items: repeat(200_000, () => ({ a: 1 })),
      },
    ],
    [priced, { steps: repeat(150_000, () => ({ op: 'x' })) }],
    [priced, { op: 'resize', parameters: { note: 'x'.repeat(7_900_000) } }],
    [priced, { op: 'resize', assetIds: repeat(200_000, (at) => `ast_${at}`) }],
    ['/images/render', { templateId: 'builtin-template-quote', data: names(15_000) }],
    ['/presets', { name: 'x', steps: repeat(150_000, () => ({ op: 'x' })) }],
  ].map(
    ([path, body]): AttackCall => ({
      path: path as string,
      body: { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) },
    }),
  );
  return cycleThrough(calls);
}

/**
 * Jobs of a free account with 200 credits that are near the limits: 100 rows of 79 kB, 100 items of 20 variants, and
 * steps of 500 kB, the models among which cost nothing because they reject.
 */
export function largestJobs(assetId: string): object[] {
  const text = (bytes: number) => 'x'.repeat(bytes);
  const variants = repeat(20, (at) => ({ name: `${at}${text(90)}`, parameters: { width: 100 + at } }));
  const prompt = `[sandbox:wait=20000] [sandbox:reject] ${text(31_000)}`;
  return [
    {
      op: 'render_template',
      templateId: 'builtin-template-quote',
      items: repeat(100, (at) => ({ quote: `${at} ${text(79_000)}` })),
    },
    { op: 'resize', assetIds: repeat(5, () => assetId), variants },
    { steps: repeat(16, () => ({ op: 'edit', model: 'sandbox-image', prompt })), assetIds: [assetId] },
  ];
}

const MAX_HTML_BYTES = 256 * 1024;
const ENDLESS_SCRIPT = '<script>for (;;) document.body.append("x");</script>';
const NETWORK_ELEMENTS = `<meta http-equiv="refresh" content="0; url=http://127.0.0.1/"><link rel="stylesheet" href="http://127.0.0.1/a.css">
<img src="http://169.254.169.254/latest"><img src="file:///etc/passwd"><iframe src="/api/v1/assets"></iframe>
<object data="https://a.example/a.svg"></object><video src="https://a.example/a.mp4" autoplay></video>`;
const NETWORK_STYLE = `<style>@import "http://127.0.0.1/b.css"; @font-face { font-family: a; src: url(http://127.0.0.1/a.woff2); }
body * { animation: a 1ms infinite alternate; will-change: transform; }
@keyframes a { to { transform: rotate(1turn) scale(9); } }
div { display: grid; grid-template-columns: repeat(auto-fill, minmax(1px, 1fr)); filter: blur(40px); backdrop-filter: blur(40px); }
p::before { content: counter(a, lower-roman); counter-increment: a 999999; } body { columns: 999; font: 9999px a; }</style>`;

/**
 * Pages of the maximum length. Each contains everything that the sandbox of pages must block, and much that is slow to
 * lay out.
 */
export function trickyPages(): () => AttackCall {
  const head = NETWORK_ELEMENTS + NETWORK_STYLE + ENDLESS_SCRIPT;
  const fillers = [
    '<div>',
    '<p style="mask: linear-gradient(red, blue)">x</p>',
    '<table><tr><td rowspan="65534" colspan="1000">',
    '<svg><use href="#a"/><g id="a"><use href="#a"/></g></svg>',
  ];
  return cycleThrough(
    fillers.map((filler) => {
      const room = MAX_HTML_BYTES - Buffer.byteLength(head);
      const html = head + filler.repeat(Math.floor(room / filler.length));
      return { path: '/images/render', body: { html, width: 4_096, height: 4_096 } };
    }),
  );
}

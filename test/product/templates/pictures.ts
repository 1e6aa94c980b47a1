import sharp from 'sharp';
import type { Answer, TestServer } from '../../support/harness.ts';

/** A template with a fixed row, whose picture is kept. */
export interface Picture {
  /** Its reference is called so. */
  name: string;
  /** An own template, created before it is drawn; absent: the built-in of this name. */
  template?: { name: string; html: string; css: string; width: number; height: number };
  size: readonly [width: number, height: number];
  row: Record<string, string>;
}

/** What stands for an asset's id until the asset is uploaded. */
const ASSET = 'ASSET';

const HILLS =
  dataAddress(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 600" width="400" height="600">
  <rect width="400" height="600" fill="#f6c177"/><circle cx="270" cy="180" r="70" fill="#eb6f5c"/>
  <path d="M0 380 140 240 400 460V600H0z" fill="#5b7f95"/><path d="M0 470 260 340 400 420V600H0z" fill="#2f4858"/></svg>`);
const FACE =
  dataAddress(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="200" height="200">
  <rect width="100" height="100" fill="#c9d8e2"/><circle cx="50" cy="40" r="20" fill="#8a5a44"/><path d="M10 100a40 36 0 0 1 80 0z" fill="#34495e"/></svg>`);
const LAMP =
  dataAddress(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" width="600" height="600">
  <path d="M90 40h120l50 110H40z" fill="#e0a526"/><path d="M140 150h20v100h-20z" fill="#444"/><ellipse cx="150" cy="262" rx="70" ry="16" fill="#222"/></svg>`);
/** Red, lime, blue and yellow, a quarter each. */
const QUARTERS = Uint8Array.of(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 0);

export const PICTURES: readonly Picture[] = [
  {
    name: 'contact-sheet',
    size: [1600, 1200],
    row: {
      title: 'Proofs of the week',
      background: '#f4f1ea',
      ...Object.fromEntries(
        [HILLS, FACE, LAMP, LAMP, HILLS].flatMap((image, index) => [
          [`image${index + 1}`, image],
          [`caption${index + 1}`, `No. ${index + 1}`],
        ]),
      ),
    },
  },
  {
    name: 'social-card',
    size: [1200, 630],
    row: {
      eyebrow: 'Field notes',
      title: 'How light becomes a picture',
      subtitle: 'Lenses, shutters & film, told from the dark side of the camera.',
      author: 'Ada Lindqvist',
      site: 'darkroom.example',
      image: HILLS,
    },
  },
  {
    name: 'quote',
    size: [1080, 1080],
    row: {
      quote: 'A photograph is a secret about a secret. The more it tells you, the less you know.',
      author: 'Diane Arbus',
      role: 'Photographer',
      portrait: FACE,
      accent: '#8c2f39',
    },
  },
  {
    name: 'product-banner',
    size: [1600, 640],
    row: {
      brand: 'Lumen & Co.',
      name: 'The reading lamp',
      tagline: 'Warm light, a heavy foot, and nothing that can break.',
      callToAction: 'Shop now',
      price: '€ 89',
      oldPrice: '€ 120',
      badge: '-25 %',
      image: LAMP,
    },
  },
  {
    name: 'certificate',
    size: [1754, 1240],
    row: {
      issuer: 'Academy of Printing',
      title: 'Certificate of Achievement',
      recipient: 'Grace Østergård',
      reason: 'for completing the course in silver gelatin printing with distinction',
      date: '14 March 2025',
      signatory: 'Prof. Henri Moreau',
      signatoryRole: 'Director',
    },
  },
  {
    name: 'own-page',
    size: [800, 500],
    template: {
      name: 'Everything that a page may hold',
      width: 800,
      height: 500,
      html: `<main><h1>{{ title }}</h1><p>{{ text }}</p><b>{{ emoji }}</b>
        <img class="asset" src="asset://{{ asset }}"><img class="data" src="{{ face }}"><hr></main>`,
      css: `body { margin: 0 }
        main { position: relative; width: 800px; height: 500px; background: linear-gradient(135deg, #ffd6a5, #9bf6ff) }
        main > * { position: absolute; margin: 0; left: 50px }
        h1 { top: 40px; font: bold 54px "DejaVu Serif"; font-family: "DejaVu Serif"; color: #14213d }
        p { top: 130px; width: 640px; font-size: 28px; font-family: "DejaVu Sans"; color: #333 }
        b { top: 260px; font-size: 120px; font-family: "Noto Color Emoji" }
        img { top: 260px; width: 160px; height: 160px }
        .asset { left: 320px } .data { left: 540px; border-radius: 50% }
        hr { top: 450px; width: 700px; height: 20px; border: 0; background: linear-gradient(90deg, #000, #fff) }`,
    },
    row: {
      title: 'Fonts, light & colour',
      text: 'A sans serif in two lines, with Ünïcödé and <brackets> that stay what they are.',
      emoji: '🍎',
      asset: ASSET,
      face: FACE,
    },
  },
];

/** Draws a picture through the interface, after what it stands on: an own template, an asset. */
export async function draw(
  server: TestServer,
  key: string,
  { name, template, row }: Picture,
  changes: Record<string, string> = {},
): Promise<Answer> {
  const data: Record<string, string> = { ...row, ...changes };
  for (const [variable, value] of Object.entries(data))
    if (value === ASSET) data[variable] = await uploadQuarters(server, key);
  const templateId =
    template === undefined
      ? `builtin-template-${name}`
      : made(await server.call('/templates', { key, json: template })).id;
  return server.call('/images/render', { key, json: { templateId, data } });
}

async function uploadQuarters(server: TestServer, key: string): Promise<string> {
  const pixels = sharp(QUARTERS, { raw: { width: 2, height: 2, channels: 3 } });
  const body = new Uint8Array(await pixels.resize(160, 160, { kernel: 'nearest' }).png().toBuffer());
  return made(await server.call('/assets/upload', { key, body, type: 'image/png' })).id;
}

function made({ status, json }: Answer): { id: string } {
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(json)}`);
  return json.data;
}

function dataAddress(svg: string): string {
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}

/** A picture of the gallery: one call of the service, and the answer that is kept. */
export interface Scene {
  /** The kept answer: a file in `pictures/`. */
  picture: string;
  /** What of the catalogue it shows. */
  op?: string;
  preset?: string;
  template?: string;
  /** The picture before: a file in `sources/`; absent where a template is drawn. */
  source?: string;
  call: Call;
  /** One sentence that says what is to be seen. */
  caption: string;
}

/**
 * POST to a path of the interface. Without `json`, the body is the source. In `json`, `{name}` stands for the id of the
 * source of this name, uploaded as an asset. The text that /images/read-text reads is shown as boxes over the source.
 */
export interface Call {
  path: '/images/transform' | '/images/render' | '/images/read-text';
  query?: Readonly<Record<string, string | number>>;
  json?: Readonly<Record<string, unknown>>;
}

const EYES = [{ x: 112, y: 190, width: 146, height: 58 }];

/** Every op that answers a picture, each built-in preset and each built-in template has at least one. */
export const SCENES: readonly Scene[] = [
  op('resize', 'resize.jpg', 'macaws.jpg', { width: 200 }, 'It is 200 px wide, and its height follows.'),
  op(
    'crop',
    'crop.jpg',
    'hibiscus.jpg',
    { aspect: '9:16', focalX: 0.54 },
    'It has the shape of a telephone, around the flower.',
  ),
  op(
    'thumbnail',
    'thumbnail.jpg',
    'mustang.jpg',
    { size: 160 },
    'A square of 160 px lies around what draws the eye.',
  ),
  op(
    'rotate',
    'rotate.jpg',
    'mustang.jpg',
    { angle: -12, background: '#f6efe2' },
    'It is turned by 12 degrees, and no corner is cut.',
  ),
  op(
    'flip',
    'flip.jpg',
    'mustang.jpg',
    { axis: 'horizontal' },
    'Left is right, as the letters on the engine show.',
  ),
  op('trim', 'trim.png', 'lamp.svg', { threshold: 10 }, 'The empty edges around the lamp are gone.'),
  op(
    'pad',
    'pad.jpg',
    'mustang.jpg',
    { top: 20, left: 20, right: 20, bottom: 76, background: '#f3ead9' },
    'The canvas grows, more below than elsewhere.',
  ),
  op(
    'border',
    'border.webp',
    'hat.jpg',
    { width: 14, color: '#b3202a', radius: 36, format: 'webp' },
    'It has a red frame with round corners.',
  ),
  op(
    'round_corners',
    'round-corners.webp',
    'hibiscus.jpg',
    { radius: 48, format: 'webp' },
    'Its corners are round and transparent.',
  ),
  op(
    'convert',
    'convert.png',
    'hibiscus.jpg',
    { format: 'png', palette: 'true', colors: 8 },
    'It is a PNG with a palette of eight colours.',
  ),
  op(
    'compress',
    'compress.webp',
    'macaws.jpg',
    { maxBytes: 25_000, format: 'webp' },
    'It is a WebP of at most 25,000 bytes, where the original has 115,000.',
  ),
  op('blur', 'blur.jpg', 'house.jpg', { sigma: 5 }, 'Everything is soft.'),
  op('sharpen', 'sharpen.jpg', 'hat.jpg', { sigma: 2 }, 'Hair and straw have crisper edges.'),
  op('median', 'median.jpg', 'house.jpg', { size: 7 }, 'Grains and thin lines are gone, and the edges stay.'),
  op('pixelate', 'pixelate.jpg', 'hat.jpg', { size: 16 }, 'It is a mosaic of blocks of 16 px.'),
  op('grayscale', 'grayscale.jpg', 'mustang.jpg', {}, 'Its colours are gone.'),
  op('negate', 'negate.jpg', 'hibiscus.jpg', {}, 'Every colour is its opposite.'),
  op('sepia', 'sepia.jpg', 'mustang.jpg', {}, 'It has the brown of an old print.'),
  op(
    'normalize',
    'normalize.jpg',
    'hibiscus.jpg',
    { lower: 1, upper: 99 },
    'Its tones are stretched over the whole range from black to white.',
  ),
  op(
    'adjust',
    'adjust.jpg',
    'hibiscus.jpg',
    { brightness: 1.2, saturation: 1.5 },
    'It is a fifth brighter, and its colours are half as strong again.',
  ),
  op('tint', 'tint.jpg', 'mustang.jpg', { color: '#ff8800' }, 'It is drawn in the shades of one colour.'),
  op(
    'duotone',
    'duotone.jpg',
    'mustang.jpg',
    { dark: '#1b1464', light: '#ffe26a' },
    'Dark tones are violet, and light ones yellow.',
  ),
  op(
    'threshold',
    'threshold.png',
    'hat.jpg',
    { value: 110, format: 'png' },
    'Only black and white are left.',
  ),
  op(
    'redact',
    'redact.jpg',
    'hat.jpg',
    { regions: JSON.stringify(EYES) },
    'The eyes are covered, and what lay there is gone from the file.',
  ),
  op(
    'flatten',
    'flatten.png',
    'lamp.svg',
    { background: '#cfe3dc' },
    'The transparent ground has become a colour.',
  ),
  op(
    'remove_alpha',
    'remove-alpha.png',
    'lamp.svg',
    {},
    'The transparency is dropped without a mixing of colours.',
  ),
  op(
    'alpha',
    'alpha.webp',
    'hibiscus.jpg',
    { opacity: 0.4, format: 'webp' },
    'It lets 60 percent of what lies below shine through.',
  ),
  op(
    'text',
    'text.jpg',
    'hibiscus.jpg',
    { text: '© Island Press', font: 'DejaVu Sans', size: '6%', position: 'southwest' },
    'A line is written into a corner; its height is a share of the width.',
  ),
  op(
    'extract_frame',
    'extract-frame.gif',
    'moon.gif',
    { frame: 7 },
    'It is the eighth frame of the animation.',
  ),
  op(
    'extract_channel',
    'extract-channel.jpg',
    'hat.jpg',
    { channel: 'red' },
    'It is the red channel alone, in which the red hat is light.',
  ),
  op(
    'placeholder',
    'placeholder.webp',
    'hibiscus.jpg',
    { kind: 'blur', format: 'webp' },
    'It is 32 px wide, for a page to show while the picture loads.',
  ),
  {
    picture: 'overlay.jpg',
    op: 'overlay',
    source: 'mustang.jpg',
    call: {
      path: '/images/transform',
      json: {
        assetId: '{mustang.jpg}',
        steps: [
          {
            op: 'overlay',
            parameters: { layerAssetId: '{logo.png}', position: 'northeast', scale: 0.2, margin: '4%' },
          },
        ],
      },
    },
    caption: 'A logo is laid over it, at a fifth of its width and with a margin.',
  },
  {
    picture: 'read-text.webp',
    op: 'read_text',
    source: 'receipt.png',
    call: { path: '/images/read-text' },
    caption: 'Each box is a line that was read, with its text and its place.',
  },
  preset(
    'web-optimized',
    'web-optimized.webp',
    'macaws.jpg',
    'It is a WebP for a page, without metadata, and no wider than 1920 px.',
  ),
  preset(
    'avatar',
    'avatar.webp',
    'macaws.jpg',
    'It is round, 256 px wide, and lies around what draws the eye.',
  ),
  preset(
    'product-shot',
    'product-shot.jpg',
    'lamp.svg',
    'The product is centred on white, with an even margin.',
  ),
  preset(
    'thumbnail-set',
    'thumbnail-set.webp',
    'house.jpg',
    'A square of 320 px, as every picture of a set gets.',
  ),
  preset(
    'print-ready',
    'print-ready.jpg',
    'hat.jpg',
    'It is sharpened for paper, with its full colour resolution and its rights fields.',
  ),
  preset(
    'privacy-strip',
    'privacy-strip.jpg',
    'house.jpg',
    'The pixels are the same; place, camera and times are gone.',
  ),
  template(
    'social-card',
    {
      eyebrow: 'Field notes',
      title: 'How light becomes a picture',
      subtitle: 'Lenses, shutters & film, told from the dark side of the camera.',
      author: 'Ada Lindqvist',
      site: 'darkroom.example',
      image: 'asset://{hibiscus.jpg}',
    },
    'The picture of a shared link.',
  ),
  template(
    'quote',
    {
      quote: 'Wait for the light. It is the only thing in the picture that you cannot move.',
      author: 'Ada Lindqvist',
      role: 'Photographer',
      portrait: 'asset://{hat.jpg}',
      accent: '#8c2f39',
    },
    'A quotation with a portrait.',
  ),
  template(
    'product-banner',
    {
      brand: 'Lumen & Co.',
      name: 'The reading lamp',
      tagline: 'Warm light, a heavy foot, and nothing that can break.',
      callToAction: 'Shop now',
      price: '€ 89',
      oldPrice: '€ 120',
      badge: '-25 %',
      image: 'asset://{lamp.svg}',
    },
    'A banner for one product.',
  ),
  template(
    'certificate',
    {
      issuer: 'Academy of Printing',
      title: 'Certificate of Achievement',
      recipient: 'Grace Østergård',
      reason: 'for completing the course in silver gelatin printing with distinction',
      date: '14 March 2025',
      signatory: 'Prof. Henri Moreau',
      signatoryRole: 'Director',
    },
    'A certificate in the shape of A4.',
  ),
  template(
    'contact-sheet',
    {
      title: 'Proofs of the week',
      background: '#f4f1ea',
      ...sheetOf(['macaws.jpg', 'hibiscus.jpg', 'mustang.jpg', 'hat.jpg', 'house.jpg', 'lamp.svg']),
    },
    'Six pictures on one sheet, each shown whole.',
  ),
  {
    picture: 'render-html.webp',
    op: 'render_template',
    call: {
      path: '/images/render',
      json: {
        html: '<img src="asset://{macaws.jpg}"><h1>{{ city }}</h1><p>{{ weather }}</p><b>{{ degrees }}°</b>',
        css: `body { margin: 0; font-family: "DejaVu Sans"; color: #fff }
          img, h1, p, b { position: absolute; margin: 0; text-shadow: 0 1px 8px #0009 }
          img { width: 480px; height: 320px; object-fit: cover; filter: brightness(0.6) saturate(1.2) }
          h1 { left: 28px; bottom: 60px; font-size: 34px } p { left: 30px; bottom: 30px; font-size: 17px }
          b { right: 26px; bottom: 24px; font-size: 76px; font-weight: 400 }`,
        width: 480,
        height: 320,
        data: { city: 'Manaus', weather: 'Clear, light wind', degrees: 31 },
        format: 'webp',
      },
    },
    caption: 'HTML and CSS of the call itself become a picture; no template is stored.',
  },
];

/** The call as one line to read: its path, and its query. Of that only # is encoded, because it would end the query. */
export function lineOf({ path, query = {} }: Call): string {
  const fields = Object.entries(query).map(([name, value]) => `${name}=${value}`.replaceAll('#', '%23'));
  return fields.length === 0 ? path : `${path}?${fields.join('&')}`;
}

function op(
  name: string,
  picture: string,
  source: string,
  parameters: Readonly<Record<string, string | number>>,
  caption: string,
): Scene {
  const call = { path: '/images/transform', query: { op: name, ...parameters } } as const;
  return { picture, op: name, source, call, caption };
}

function preset(name: string, picture: string, source: string, caption: string): Scene {
  const id = `builtin-${name}`;
  return { picture, preset: id, source, call: { path: '/images/transform', query: { preset: id } }, caption };
}

function template(name: string, data: Readonly<Record<string, string>>, caption: string): Scene {
  const call = { path: '/images/render', json: { templateId: name, data, format: 'webp' } } as const;
  return {
    picture: `${name}.webp`,
    op: 'render_template',
    template: `builtin-template-${name}`,
    call,
    caption,
  };
}

/** The fields of a contact sheet of these sources. */
function sheetOf(sources: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    sources.flatMap((source, index) => [
      [`image${index + 1}`, `asset://{${source}}`],
      [`caption${index + 1}`, source],
    ]),
  );
}

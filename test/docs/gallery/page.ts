import { join } from 'node:path';
import sharp from 'sharp';
import { type Call, lineOf, SCENES, type Scene } from '../../../docs/gallery/scenes.ts';
import { GALLERY } from './studio.ts';

const MAX_WIDTH_PX = 320;

/** The page of the gallery, `docs/gallery/README.md`. */
export async function writtenPage(): Promise<string> {
  const isPreset = ({ preset }: Scene) => preset !== undefined;
  const isDrawn = ({ op }: Scene) => op === 'render_template';
  return [
    '# Gallery',
    '',
    'Each picture was made by the call above it, and `test/docs/gallery/gallery.test.ts` makes it again. `npm run gallery` writes the',
    'pictures and this page from `docs/gallery/scenes.ts`. [SOURCES.md](sources/SOURCES.md) names the authors and licences of the pictures before.',
    '',
    '## Ops',
    '',
    ...(await shown(SCENES.filter((scene) => !isPreset(scene) && !isDrawn(scene)))),
    '## Presets',
    '',
    ...(await shown(SCENES.filter(isPreset))),
    '## Templates and HTML',
    '',
    ...(await shown(SCENES.filter(isDrawn))),
  ].join('\n');
}

/** Each scene with its call, and the pictures before and after side by side. */
async function shown(scenes: readonly Scene[]): Promise<string[]> {
  const parts = scenes.map(async ({ op, preset, template, source, picture, call, caption }) => {
    const before = source === undefined ? [] : [await imageOf(`sources/${source}`, 'Before')];
    const after = await imageOf(`pictures/${picture}`, 'After');
    const told = `\`POST ${lineOf(call)}\`${bodyOf(call)}`;
    return [`### ${preset ?? template ?? op}`, '', `${caption}<br>${told}`, '', ...before, after, ''];
  });
  return (await Promise.all(parts)).flat();
}

/** The JSON of a call; that of a long page or row is left to the table of scenes. */
function bodyOf({ json }: Call): string {
  if (json === undefined || 'html' in json) return '';
  return `<br>\`${JSON.stringify(json)}\``;
}

/** Large pictures and drawings are shown in one width, smaller pictures as they are. */
async function imageOf(file: string, alt: string): Promise<string> {
  const { width } = file.endsWith('.svg')
    ? { width: MAX_WIDTH_PX }
    : await sharp(join(GALLERY, file)).metadata();
  return `<img src="${file}" alt="${alt}" width="${Math.min(width, MAX_WIDTH_PX)}">`;
}

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { BUILT_IN_TEMPLATES } from '../../../src/product/templates/builtins/index.ts';
import { type Comparison, comparePictures } from '../../support/comparison.ts';
import { PICTURES } from './pictures.ts';

/**
 * The kept pictures. They are small: what antialiasing and a browser's release change is lost on the way down,
 * what a template, a font or a missing image changes is not.
 */
const FOLDER = join(import.meta.dirname, 'references');
const FONTS = join(FOLDER, 'fonts.json');
const WIDTH = 600;

/** Which font each family of the templates resolves to, by its name and version. */
type Fonts = Record<string, string>;

/** Keeps a drawn picture as the reference of this name. */
export async function keep(name: string, png: Uint8Array): Promise<void> {
  const file = await sharp(png)
    .resize(WIDTH)
    .flatten({ background: 'white' })
    .png({ palette: true, quality: 85, dither: 0, effort: 10 })
    .toBuffer();
  writeFileSync(fileOf(name), file);
}

/** Compares a drawn picture with the reference of this name, both small. */
export async function compare(name: string, png: Uint8Array): Promise<Comparison> {
  const small = (picture: Sharp) => picture.resize(WIDTH).flatten({ background: 'white' });
  return comparePictures(small(sharp(png)), small(sharp(fileOf(name))));
}

/** Keeps which fonts the references were drawn with. */
export function keepFonts(): void {
  writeFileSync(FONTS, `${JSON.stringify(fontsHere(), undefined, 2)}\n`);
}

/** What this machine's fonts have otherwise than those of the references, as sentences; none: they are the same. */
export function fontDifferences(): string[] {
  const here = fontsHere();
  const kept = JSON.parse(readFileSync(FONTS, 'utf8')) as Fonts;
  return [...new Set([...Object.keys(here), ...Object.keys(kept)])]
    .filter((family) => here[family] !== kept[family])
    .map((family) => `"${family}" is ${here[family] ?? 'unused'}, and was ${kept[family] ?? 'unused'}`);
}

/** Asks fontconfig, as the browser does. */
function fontsHere(): Fonts {
  return Object.fromEntries(families().map((family) => [family, fontOf(family)]));
}

/** Every family that a style sheet of the pictures names, in order. */
function families(): string[] {
  const sheets = [...BUILT_IN_TEMPLATES, ...PICTURES.flatMap(({ template }) => template ?? [])].map(
    ({ css }) => css,
  );
  const lists = sheets.flatMap((css) =>
    [...css.matchAll(/font-family:([^;}]+)/g)].map(([, list]) => list ?? ''),
  );
  const names = lists.flatMap((list) => list.split(',')).map((name) => name.trim().replaceAll('"', ''));
  return [...new Set(names)].sort();
}

function fontOf(family: string): string {
  try {
    return execFileSync('fc-match', ['-f', '%{family[0]} %{fontversion}', family], { encoding: 'utf8' });
  } catch {
    return 'unknown, for lack of fc-match';
  }
}

function fileOf(name: string): string {
  return join(FOLDER, `${name}.png`);
}

import { readdir, stat } from 'node:fs/promises';
import { join, parse, relative, resolve, sep } from 'node:path';
import type { ImageInput } from '../bodies.ts';
import { imageMediaTypeOfName, openFile } from '../runtime.ts';
import { UsageError } from './exit-codes.ts';

/** An image that a command works on. */
export interface InputImage {
  /** The name of the image, as it was typed. */
  name: string;
  /** The path of the output without its extension, relative to the output folder. */
  stem: string;
  /**
   * The size and the modification time of a file, by which a changed file is recognised; absent if the input is not a
   * file.
   */
  version?: string;
  open(): Promise<ImageInput>;
}

const STDIN_ARGUMENT = '-';
const HTTP_ADDRESS_PATTERN = /^https?:\/\//i;
const ASSET_ID_PATTERN = /^ast_\w+$/;

/**
 * The images to which the arguments refer: files, folders (with all images below them), `-` for stdin, URLs, and asset
 * ids.
 * @param output the folder for the results. It is skipped if it lies within a folder of images.
 * @throws UsageError for a file that does not exist, or a folder without an image.
 */
export async function findInputs(
  args: readonly string[],
  stdin: AsyncIterable<Uint8Array>,
  output?: string,
): Promise<{ inputs: InputImage[]; hasFolder: boolean }> {
  const inputs: InputImage[] = [];
  let hasFolder = false;
  for (const arg of args) {
    if (arg === STDIN_ARGUMENT) inputs.push(stdinInput(stdin));
    else if (HTTP_ADDRESS_PATTERN.test(arg)) inputs.push(addressInput(arg));
    else if (ASSET_ID_PATTERN.test(arg))
      inputs.push({ name: arg, stem: arg, open: async () => ({ assetId: arg }) });
    else {
      const found = await stat(arg).catch(() => null);
      if (found === null) throw missingFileError(arg, inputs.length > 0);
      hasFolder ||= found.isDirectory();
      inputs.push(
        ...(found.isDirectory() ? await filesBelow(arg, output) : [await fileInput(arg, parse(arg).base)]),
      );
    }
  }
  return { inputs: withDistinctStems(inputs), hasFolder };
}

/**
 * The error for a file that does not exist.
 * @param isLater whether the path comes after an image. If so, the user may have meant it as the output.
 */
function missingFileError(path: string, isLater: boolean): UsageError {
  return new UsageError(`There is no file ${path}${isLater ? ': name an output with -o' : ''}.`);
}

/** Stdin as an input. All of it is read first, so that a failed call can be repeated. */
function stdinInput(stdin: AsyncIterable<Uint8Array>): InputImage {
  return {
    name: STDIN_ARGUMENT,
    stem: 'stdin',
    async open() {
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
  };
}

function addressInput(url: string): InputImage {
  const { name } = parse(new URL(url).pathname);
  return { name: url, stem: name || 'image', open: async () => ({ url }) };
}

async function filesBelow(folder: string, output = folder): Promise<InputImage[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const made = relative(resolve(folder), resolve(output)) + sep;
  const images = names
    .filter((name) => imageMediaTypeOfName(name) !== undefined && !name.startsWith(made))
    .sort();
  if (images.length === 0) throw new UsageError(`There is no image in ${folder}.`);
  return Promise.all(images.map((name) => fileInput(join(folder, name), name)));
}

/**
 * A file as an input. If the file cannot be examined, for example because it is a dangling link, opening it fails
 * later.
 */
async function fileInput(path: string, name: string): Promise<InputImage> {
  const found = await stat(path).catch(() => null);
  const { dir, name: base } = parse(name);
  return {
    name: relative('.', path) || path,
    stem: join(dir, base),
    ...(found && { version: `${found.size} ${Math.round(found.mtimeMs)}` }),
    open: () => openFile(path),
  };
}

/**
 * Gives the inputs different output names. If two inputs such as a.jpg and a.png would get the same name, their
 * extensions stay part of it. Names that are still equal get a number.
 */
function withDistinctStems(inputs: InputImage[]): InputImage[] {
  const wholeStem = ({ stem, name }: InputImage) => stem + parse(name).ext;
  const renamed = renameRepeated(inputs, wholeStem);
  return renameRepeated(renamed, ({ stem }, index) => `${stem}-${index + 1}`);
}

function renameRepeated(
  inputs: InputImage[],
  rename: (input: InputImage, index: number) => string,
): InputImage[] {
  const counts = new Map<string, number>();
  for (const { stem } of inputs) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  return inputs.map((input, index) =>
    (counts.get(input.stem) ?? 0) > 1 ? { ...input, stem: rename(input, index) } : input,
  );
}

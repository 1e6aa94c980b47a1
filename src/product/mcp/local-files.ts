import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { LRUCache } from 'lru-cache';
import { type ApiError, invalidParamError } from '../../platform/http/errors/errors.ts';
import { MAX_UPLOAD_BYTES } from '../assets/limits.ts';
import { imageFileOf, type LocalFiles } from './inputs.ts';
import type { PublicInterface } from './public-interface.ts';

const MAX_CACHED = 1_000;

/**
 * Uploads files of this machine. An unchanged file is not uploaded again, because the tools of one task often name the
 * same file.
 */
export class UploadedFiles implements LocalFiles {
  /** Asset ids by the path, the size and the modification time of a file. */
  readonly #uploaded = new LRUCache<string, string>({ max: MAX_CACHED });

  async upload(path: string, argument: string, service: PublicInterface): Promise<string> {
    const whole = resolve(path);
    const { size, mtimeMs } = await checkFile(whole, path, argument);
    const version = `${whole}\n${size}\n${mtimeMs}`;
    const known = this.#uploaded.get(version);
    if (known !== undefined) return known;
    const form = new FormData();
    form.append('file', imageFileOf(await readFile(whole)), basename(whole));
    const { data } = await service.call<{ id: string }>('POST', '/assets/upload', { form });
    this.#uploaded.set(version, data.id);
    return data.id;
  }
}

/** @throws ApiError invalid_param for a path that is not a file, or for a file that is too large. */
async function checkFile(whole: string, path: string, argument: string) {
  const facts = await stat(whole).catch(() => null);
  if (facts === null) throw noFile(argument, `There is no file ${path} in ${process.cwd()}`);
  if (!facts.isFile()) throw noFile(argument, `${path} is not a file`);
  if (facts.size > MAX_UPLOAD_BYTES) throw noFile(argument, `${path} is over ${MAX_UPLOAD_BYTES} bytes`);
  return facts;
}

function noFile(argument: string, problem: string): ApiError {
  return invalidParamError(argument, `${problem}: send the path of an image, an asset id or an http(s) URL.`);
}

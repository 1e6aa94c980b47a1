import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Scene } from '../../../docs/gallery/scenes.ts';
import type { Answer, TestServer } from '../../support/harness.ts';
import { typeOf } from '../../support/images.ts';

export const GALLERY = join(import.meta.dirname, '../../../docs/gallery');

/** Where a source's id stands in the JSON of a call. */
const SOURCE = /\{([\w-]+\.\w+)\}/g;

interface Line {
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Makes the pictures of the gallery by the calls that are told beside them. */
export class Studio {
  readonly #server: Pick<TestServer, 'call'>;
  readonly #key: string;
  /** Ids of the sources that were uploaded. */
  readonly #assets = new Map<string, string>();

  constructor(server: Pick<TestServer, 'call'>, key: string) {
    this.#server = server;
    this.#key = key;
  }

  /** @throws Error when a call is refused, with the message of the refusal. */
  async take(scene: Scene): Promise<Buffer> {
    const answer = await this.#send(scene);
    if (scene.call.path !== '/images/read-text') return answer.bytes;
    return this.#drawBoxes(scene.source ?? '', answer.json.data.lines);
  }

  async #send({ source = '', call: { path, query = {}, json } }: Scene): Promise<Answer> {
    const fields = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
    const address = `${path}?${new URLSearchParams(fields)}`;
    if (json !== undefined) return this.#call(address, { json: await this.#withIds(json) });
    return this.#call(address, { body: sourceOf(source), type: typeOf(source) });
  }

  async #call(path: string, options: Parameters<TestServer['call']>[1] = {}): Promise<Answer> {
    const answer = await this.#server.call(path, { key: this.#key, ...options });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.json?.error?.message}`);
    return answer;
  }

  /** The body with the ids of the sources that it names. */
  async #withIds(json: object): Promise<unknown> {
    const text = JSON.stringify(json);
    for (const [, name = ''] of text.matchAll(SOURCE)) await this.#upload(name);
    return JSON.parse(text.replaceAll(SOURCE, (_, name: string) => this.#assets.get(name) ?? ''));
  }

  async #upload(name: string): Promise<string> {
    const known = this.#assets.get(name);
    if (known !== undefined) return known;
    const sent = { body: sourceOf(name), type: typeOf(name) };
    const id: string = (await this.#call('/assets/upload', sent)).json.data.id;
    this.#assets.set(name, id);
    return id;
  }

  /** The source with a box around each line that was read. */
  async #drawBoxes(source: string, lines: readonly Line[]): Promise<Buffer> {
    const { width, height } = await sharp(sourceOf(source)).metadata();
    const boxes = lines.map(
      ({ x, y, width, height }) =>
        `<i style="left:${x - 7}px;top:${y - 6}px;width:${width + 10}px;height:${height + 8}px"></i>`,
    );
    const json = {
      html: `<img src="asset://${await this.#upload(source)}">${boxes.join('')}`,
      css: `body { margin: 0 } img, i { position: absolute } img { left: 0; top: 0 }
        i { border: 2px solid #e5484d; border-radius: 4px; background: #e5484d22 }`,
      ...{ width, height, format: 'webp' },
    };
    return (await this.#call('/images/render', { json })).bytes;
  }
}

function sourceOf(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(GALLERY, 'sources', name)));
}

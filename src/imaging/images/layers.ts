import type { Pass, RasterInput } from '../../../workers/protocol.ts';
import type { LayerHeaders } from './estimates/following.ts';
import type { LayerFile, Layers } from './image-call.ts';
import type { Source } from './source.ts';
import type { DrawnTimes } from './vector.ts';

/** Only the first frame of a second picture is read. */
const FIRST_FRAME: Pass = { decode: { frame: 'first' }, steps: [], encode: { format: 'png' } };

/** The second pictures of a call, whose work waits for its slot. */
export class OpenedLayers {
  readonly #layers: readonly { id: string; source: Source }[];

  private constructor(layers: readonly { id: string; source: Source }[]) {
    this.#layers = layers;
  }

  /**
   * @param read reads the header of a file, or draws it.
   * @throws what `read` throws.
   */
  static async open(
    layers: Layers,
    read: (file: LayerFile, passes: readonly Pass[]) => Promise<Source>,
  ): Promise<OpenedLayers> {
    const opened: { id: string; source: Source }[] = [];
    for (const [id, file] of Object.entries(layers))
      opened.push({ id, source: await read(file, [FIRST_FRAME]) });
    return new OpenedLayers(opened);
  }

  get headers(): LayerHeaders {
    return Object.fromEntries(this.#layers.map(({ id, source }) => [id, source.header]));
  }

  /** Memory of them while their call waits, in bytes. */
  get heldBytes(): number {
    return this.#layers.reduce((sum, { source }) => sum + source.heldBytes, 0);
  }

  get drawn(): DrawnTimes[] {
    return this.#layers.flatMap(({ source }) => source.drawn);
  }

  /**
   * The files, as a task takes them. Those in a store are read only now.
   * @throws what the reading of a stored file throws.
   */
  async read(): Promise<Record<string, RasterInput>> {
    const rasters: Record<string, RasterInput> = {};
    for (const { id, source } of this.#layers) rasters[id] = (await source.open()).file;
    return rasters;
  }
}

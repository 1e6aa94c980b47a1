import type { Pass, Raster } from '../../../workers/protocol.ts';
import { withParam } from '../../platform/http/errors/with-param.ts';
import type { LayerHeaders } from './estimates/following.ts';
import type { LayerFile, Layers } from './image-call.ts';
import type { Source } from './source.ts';

/** Only the first frame of a second picture is read. */
const FIRST_FRAME: Pass = { decode: { frame: 'first' }, steps: [], encode: { format: 'png' } };

interface OpenedLayer {
  id: string;
  param: string | undefined;
  source: Source;
}

/** The second pictures of a call, whose work waits for its slot. */
export class OpenedLayers {
  readonly #layers: readonly OpenedLayer[];

  private constructor(layers: readonly OpenedLayer[]) {
    this.#layers = layers;
  }

  /**
   * @param read reads the header of a file, or draws it.
   * @throws what `read` throws, on the field of the picture.
   */
  static async open(
    layers: Layers,
    read: (file: LayerFile, passes: readonly Pass[]) => Promise<Source>,
  ): Promise<OpenedLayers> {
    const opened: OpenedLayer[] = [];
    for (const [id, file] of Object.entries(layers)) {
      const { param } = file;
      opened.push({ id, param, source: await underParam(param, () => read(file, [FIRST_FRAME])) });
    }
    return new OpenedLayers(opened);
  }

  get headers(): LayerHeaders {
    return Object.fromEntries(this.#layers.map(({ id, source }) => [id, source.header]));
  }

  /** Memory of them while their call waits, in bytes. */
  get heldBytes(): number {
    return this.#layers.reduce((sum, { source }) => sum + source.heldBytes, 0);
  }

  /** Their wait for the rasterizer, in milliseconds. */
  get queueMs(): number {
    return this.#layers.reduce((sum, { source }) => sum + source.queueMs, 0);
  }

  /**
   * The files, as a task takes them. Those in a store are read only now.
   * @throws as `open`.
   */
  async read(): Promise<Record<string, Raster>> {
    const rasters: Record<string, Raster> = {};
    for (const { id, param, source } of this.#layers)
      rasters[id] = (await underParam(param, async () => source.open())).file;
    return rasters;
  }
}

async function underParam<T>(param: string | undefined, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw param === undefined ? error : withParam(error, param);
  }
}

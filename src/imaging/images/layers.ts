import type { ImagePass, RasterInput } from '../../../workers/protocol.ts';
import type { LayerHeaders } from './estimates/following.ts';
import type { LayerFile, LayerFiles } from './image-call.ts';
import type { ImageSourceFile } from './source.ts';
import type { DrawingTimes } from './vector.ts';

/** Only the first frame of a second picture is read. */
const FIRST_FRAME: ImagePass = { decode: { frame: 'first' }, steps: [], encode: { format: 'png' } };

/** The second pictures of a call, while its work waits for a slot. */
export class OpenedLayers {
  readonly #layers: readonly { id: string; source: ImageSourceFile }[];

  private constructor(layers: readonly { id: string; source: ImageSourceFile }[]) {
    this.#layers = layers;
  }

  /**
   * @param read reads the header of a file, or draws it if it is a drawing.
   * @throws what `read` throws.
   */
  static async open(
    layers: LayerFiles,
    read: (file: LayerFile, passes: readonly ImagePass[]) => Promise<ImageSourceFile>,
  ): Promise<OpenedLayers> {
    const opened: { id: string; source: ImageSourceFile }[] = [];
    for (const [id, file] of Object.entries(layers))
      opened.push({ id, source: await read(file, [FIRST_FRAME]) });
    return new OpenedLayers(opened);
  }

  get headers(): LayerHeaders {
    return Object.fromEntries(this.#layers.map(({ id, source }) => [id, source.header]));
  }

  /** The bytes that these pictures hold while their call waits. */
  get heldBytes(): number {
    return this.#layers.reduce((sum, { source }) => sum + source.heldBytes, 0);
  }

  get drawn(): DrawingTimes[] {
    return this.#layers.flatMap(({ source }) => source.drawn);
  }

  /**
   * The files in the form of a task. Stored files are read only now.
   * @throws what the reading of a stored file throws.
   */
  async read(): Promise<Record<string, RasterInput>> {
    const rasters: Record<string, RasterInput> = {};
    for (const { id, source } of this.#layers) rasters[id] = (await source.open()).file;
    return rasters;
  }
}

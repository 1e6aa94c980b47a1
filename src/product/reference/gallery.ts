import { lineOf, SCENES, type Scene } from '../../../docs/gallery/scenes.ts';
import type { StaticFiles } from '../../platform/http/static/files.ts';
import type { PagePicture, PagePictures } from '../../platform/pages/page.ts';

const FOLDER = new URL('../../../docs/gallery/', import.meta.url);

/** The scenes of the gallery that show an op. */
const OF_OPS = SCENES.filter(({ op }) => op !== undefined);

/** The files of those scenes, each once. */
export const GALLERY_FILES: readonly URL[] = [...new Set(OF_OPS.flatMap(filesOf))].map(
  (path) => new URL(path, FOLDER),
);

/** Pictures of what an op does: a pair for each of its scenes. */
export function galleryPicturesOf(op: string, files: StaticFiles): PagePictures[] {
  return OF_OPS.filter((scene) => scene.op === op).map(({ source, picture, caption, call }) => {
    const { query } = call;
    const after = query === undefined ? caption : `${caption} \`${lineOf(call)}\``;
    const before: PagePicture[] =
      source === undefined
        ? []
        : [{ label: 'Before', address: files.addressFor(source), alt: `The picture before ${op}` }];
    return {
      kind: 'pictures',
      pictures: [
        ...before,
        { label: after, address: files.addressFor(picture), alt: `The picture after ${op}` },
      ],
    };
  });
}

/** The files of a scene, as paths within the gallery. */
function filesOf({ source, picture }: Scene): string[] {
  return [...(source === undefined ? [] : [`sources/${source}`]), `pictures/${picture}`];
}

import { defineSetting } from './operation.ts';
import { choice } from './parameter.ts';

export const keepMetadata = defineSetting({
  description: 'Sets which metadata the result carries.',
  parameters: {
    metadata: choice(
      ['strip', 'keep', 'copyright'],
      'Nothing, all of EXIF, XMP, IPTC (in jpeg and tiff) and the ICC profile, or the rights fields alone.',
      { default: 'keep' },
    ),
  },
  settings: (params) => ({ encode: params }),
});

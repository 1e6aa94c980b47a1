import { defineSettingOperation } from './operation.ts';
import { choiceParameter } from './parameter.ts';

export const keepMetadataOperation = defineSettingOperation({
  description: 'Sets which metadata the result carries.',
  parameters: {
    metadata: choiceParameter(
      ['strip', 'keep', 'copyright'],
      'Nothing, all of EXIF, XMP, IPTC (in jpeg and tiff) and the ICC profile, or the rights fields alone.',
      { default: 'keep' },
    ),
  },
  settings: (params) => ({ encode: params }),
});

// needs: pixels, alone
import sharp from 'sharp';
import t from 'tap';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { staysFlat } from '../growth.ts';
import { made, passOf } from './passes.ts';

sharp.concurrency(1);
sharp.cache(false);

/** Which no encoder makes small. */
const noise = await sharp({
  create: {
    width: 512,
    height: 512,
    channels: 3,
    background: '#808080',
    noise: { type: 'gaussian', mean: 128, sigma: 60 },
  },
})
  .png({ compressionLevel: 0 })
  .toBuffer();

staysFlat(t, 'a large file', 150, () => made(noise, passOf([], { format: 'png', effort: 0 })));
staysFlat(t, 'a search for a setting', 20, () =>
  made(noise, passOf([], { format: 'jpeg', target: { minSsim: 0.9 } })),
);
staysFlat(t, 'steps that need pixels', 30, () =>
  made(noise, passOf([['trim'], ['roundCorners', { radius: 9 }]], { format: 'png', effort: 0 })),
);
staysFlat(t, 'a description', 25, () => describeImage(new Uint8Array(noise)));

// needs: pixels, alone
import t from 'tap';
import { rasterizeSvg } from '../../../workers/vector/rasterize.ts';
import { staysFlat } from '../growth.ts';

const drawing = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512"/>');

staysFlat(t, 'a drawing', 400, async () => {
  const drawn = await rasterizeSvg({ input: drawing, size: { density: 96 }, maxPixels: 1_000_000 });
  if (!('pixels' in drawn)) t.fail(drawn.message);
});

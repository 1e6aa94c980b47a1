// needs: server
import t from 'tap';
import { openCalls, pictureOf, refusalOf } from './calls.ts';

const calls = await openCalls(t);

/** An AVIF made by avifenc: 16 red columns and 16 blue ones, of which its clean aperture shows the blue ones. */
const HALF_SHOWN = Buffer.from(
  'AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUEAAAEbbWV0YQAAAAAAAAAoaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAAAGxp' +
    'YmF2aWYAAAAADnBpdG0AAAAAAAEAAAAeaWxvYwAAAABEAAABAAEAAAABAAABQwAAACwAAAAoaWluZgAAAAAAAQAAABppbmZlAgAAAAAB' +
    'AABhdjAxQ29sb3IAAAAAk2lwcnAAAABzaXBjbwAAABRpc3BlAAAAAAAAACAAAAAQAAAAEHBpeGkAAAAAAwgICAAAAAxhdjFDgSAAAAAA' +
    'ABNjb2xybmNseAABAA0ABoAAAAAoY2xhcAAAABAAAAABAAAAEAAAAAEAAAAIAAAAAQAAAAAAAAABAAAAGGlwbWEAAAAAAAAAAQABBQEC' +
    'gwSFAAAANG1kYXQSAAoIOBD/7KAhoNIyHhFAAABAALUMTP+hfF3RrZZzMWgwqsCaQArl7+SZ8g==',
  'base64',
);

t.test('an AVIF with a clean aperture has the size of what it shows', async (t) => {
  const transform = (query: Record<string, unknown>) => calls.transform(query, HALF_SHOWN, 'image/avif');
  const shown = await pictureOf(await transform({ op: 'convert', format: 'png' }));
  t.same([shown.width, shown.height], [16, 16]);
  const [red, green, blue] = shown.at(0, 0);
  t.ok(red < 3 && green < 3 && blue > 252, `blue: ${shown.at(0, 0)}`);
  t.match((await calls.metadata(HALF_SHOWN, 'image/avif')).json.data.image, { width: 16, height: 16 });
  for (const dryRun of [false, true]) {
    const wide = await transform({ op: 'resize', width: 24, format: 'png', dryRun });
    t.match(wide.headers.get('x-service-warnings'), 'not_enlarged:16', `dryRun=${dryRun}`);
    const beyond = await transform({ op: 'crop', x: 20, y: 0, width: 8, height: 8, dryRun });
    t.match(refusalOf(beyond), { code: 'invalid_param', param: 'x' }, `dryRun=${dryRun}`);
  }
});

// needs: pixels
import t from 'tap';
import { BLACK, drawn, passOf, type Raster, RED, rasterOf, refused, WHITE } from '../passes.ts';
import { four } from './rows.ts';

t.test('a second asset is laid over, joined or taken as transparency', async (t) => {
  const layers = { logo: await drawn(4, 4, () => [0, 0, 0, 255]), mask: await drawn(2, 1, (x) => [x * 255]) };
  const over = (params: object): Promise<Raster> =>
    rasterOf(four, [['composite', { layerAssetId: 'logo', ...params }]], { layers });
  t.same((await over({ position: 'northwest' })).at(3, 3), BLACK);
  t.same((await over({ position: 'northwest' })).at(4, 4), RED);
  t.same((await over({})).at(39, 19), BLACK, 'southeast by default');
  t.same((await over({ x: -2, y: -2 })).at(1, 1), BLACK);
  t.same((await over({ x: -2, y: -2 })).at(2, 2), RED);
  t.same((await over({ x: 100, y: 100 })).at(39, 19), WHITE, 'beside the picture');
  t.same(
    (await over({ position: 'northwest', scale: 0.5 })).at(19, 19),
    BLACK,
    'half as wide as the picture',
  );
  const [red = 0] = (await over({ position: 'northwest', opacity: 0.5 })).at(0, 0);
  t.ok(Math.abs(red - 127) <= 2, `half of it shines through: ${red}`);
  t.same((await over({ tile: true })).at(17, 11), BLACK);
  t.same((await over({ tile: true })).at(0, 0), BLACK);
  const masked = await rasterOf(four, [['joinChannel', { assetId: 'mask' }]], { layers });
  t.equal(masked.at(0, 0)[3], 0);
  t.same(masked.at(39, 19), WHITE);
  const joined = await rasterOf(four, [['boolean', { assetId: 'logo', operator: 'and' }]], { layers });
  t.same(joined.at(39, 19), BLACK);
  t.match(await refused(four, passOf([['composite', { layerAssetId: 'gone' }]])), {
    param: 'steps[0].params.layerAssetId',
  });
});

// needs: pixels
import t from 'tap';
import type { RasterInput } from '../../../../workers/protocol.ts';
import { BLACK, drawn, passOf, type Raster, RED, rasterOf, refused, WHITE } from '../passes.ts';
import { four } from './rows.ts';

const RAW = { width: 2, height: 3, channels: 4 } as const;

const layers: Record<string, RasterInput> = {
  logo: { input: new Uint8Array(await drawn(4, 4, () => [0, 0, 0, 255])) },
  mask: { input: new Uint8Array(await drawn(2, 1, (x) => [x * 255])) },
  tall: { input: new Uint8Array(await drawn(1, 2_000, () => [0, 0, 0, 255])) },
  broken: { input: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]) },
  pixels: { input: Uint8Array.from({ length: 2 * 3 * 4 }, (_, at) => (at % 4 === 3 ? 255 : 0)), raw: RAW },
};
const over = (params: object): Promise<Raster> =>
  rasterOf(four, [['composite', { layerAssetId: 'logo', ...params }]], { layers });

t.test('a second asset is laid over, joined or taken as transparency', async (t) => {
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
});

t.test('a margin keeps a layer from the edges of its position', async (t) => {
  /** The upper left corner of the layer, which is black and 4 × 4, in the picture of 40 × 20. */
  const cornerOf = async (params: object) => {
    const { at } = await over(params);
    const isBlack = (x: number, y: number) =>
      at(x, y)
        .slice(0, 3)
        .every((value) => value === 0);
    for (let y = 0; y < 20; y++)
      for (let x = 0; x < 40; x++) if (isBlack(x, y) && isBlack(x + 3, y + 3)) return [x, y];
    return null;
  };
  for (const [params, corner] of [
    [{}, [36, 16]],
    [{ margin: 3 }, [33, 13]],
    [{ margin: '10%' }, [34, 14]],
    [{ margin: 3, position: 'northwest' }, [3, 3]],
    [{ margin: 3, position: 'south' }, [18, 13]],
    [{ margin: 3, position: 'center' }, [18, 8]],
    [{ margin: 0, position: 'northeast' }, [36, 0]],
  ] as const)
    t.same(await cornerOf(params), corner, JSON.stringify(params));
});

t.test('a second picture that cannot be laid over is refused on its parameter', async (t) => {
  const rows: Array<[params: Record<string, unknown>, param: string, message: RegExp]> = [
    [{ layerAssetId: 'gone' }, 'layerAssetId', /not loaded/],
    [{ layerAssetId: 'broken' }, 'layerAssetId', /cannot be decoded/],
    [{ layerAssetId: 'tall', scale: 1 }, 'scale', /40 × 80000/],
  ];
  for (const [params, param, message] of rows)
    t.match(await refused(four, passOf([['composite', params]]), { layers }), {
      param: `steps[0].params.${param}`,
      message,
    });
});

t.test('the pixels of a drawing are laid over as a file is', async (t) => {
  const { at } = await over({ layerAssetId: 'pixels', position: 'northwest' });
  t.same(at(1, 2), BLACK);
  t.same(at(2, 2), RED);
  t.same(at(1, 3), RED);
});

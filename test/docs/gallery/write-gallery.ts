import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { SCENES } from '../../../docs/gallery/scenes.ts';
import { startServer } from '../../support/harness.ts';
import { writtenPage } from './page.ts';
import { GALLERY, Studio } from './studio.ts';

/** `npm run gallery`: makes every picture again and keeps it, with the page. Look at each before you commit it. */
const server = await startServer(t);
const { key } = await server.account({ credits: 1_000 });
const studio = new Studio(server, key);
const folder = join(GALLERY, 'pictures');
for (const scene of SCENES) {
  const bytes = await studio.take(scene);
  writeFileSync(join(folder, scene.picture), bytes);
  t.comment(`${scene.picture}: ${bytes.length} bytes`);
}
for (const name of readdirSync(folder))
  if (!SCENES.some(({ picture }) => picture === name)) rmSync(join(folder, name));
writeFileSync(join(GALLERY, 'README.md'), await writtenPage());
t.end();

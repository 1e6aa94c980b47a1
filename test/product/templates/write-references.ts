import t from 'tap';
import { startServer } from '../../support/harness.ts';
import { draw, PICTURES } from './pictures.ts';
import { keep, keepFonts } from './references.ts';

/** `npm run references`: draws every picture again and keeps it. Look at each before you commit it. */
const server = await startServer(t);
const { key } = await server.account();
for (const picture of PICTURES) {
  const { status, bytes } = await draw(server, key, picture);
  if (status !== 200) throw new Error(`${picture.name}: ${status} ${bytes}`);
  await keep(picture.name, bytes);
  t.comment(`${picture.name} is kept`);
}
keepFonts();
t.end();

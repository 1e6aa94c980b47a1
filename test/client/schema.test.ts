// needs: server
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ERROR_CODES } from '../../src/platform/http/errors/errors.ts';
import { TRANSFORM_OPS } from '../../src/product/transforms/transform-schema.ts';
import { sharedServer } from '../support/harness.ts';
import { schemaSource } from './schema-source.ts';

const FILE = join(import.meta.dirname, '../../src/client/schema.ts');

t.test('the types of the client are those of the interface', async (t) => {
  const server = await sharedServer();
  const { json: document } = await server.call('//openapi.json');
  const source = schemaSource(document);
  if (process.env.WRITE_CLIENT_TYPES === 'yes') writeFileSync(FILE, source);
  t.equal(readFileSync(FILE, 'utf8'), source, 'src/client/schema.ts is old: npm run client:types');
  for (const { op } of TRANSFORM_OPS) t.match(source, new RegExp(`^  ${op}: `, 'm'), `${op} is an op`);
  for (const code of Object.keys(ERROR_CODES)) t.match(source, `"${code}"`, `${code} is a code`);
  t.notMatch(source, /\bany\b;/);
});

// needs: server
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ERROR_CODES } from '../../src/platform/http/errors/errors.ts';
import { TRANSFORM_OPS } from '../../src/product/transforms/transform-schema.ts';
import { sharedServer } from '../support/harness.ts';
import { operatorSchemaSource, schemaSource } from './schema-source.ts';

const SOURCES = join(import.meta.dirname, '../../src');
const CLIENT_FILE = 'client/schema.ts';
const OPERATOR_FILE = 'product/console/browser/operator-schema.ts';

/** Compares a generated file with its source, after it was written if that is asked for. */
function checkGenerated(t: Test, file: string, source: string): void {
  const path = join(SOURCES, file);
  if (process.env.WRITE_CLIENT_TYPES === 'yes') writeFileSync(path, source);
  t.equal(readFileSync(path, 'utf8'), source, `src/${file} is old: npm run client:types`);
}

t.test("the types of the client and of the operator's screens are those of the interface", async (t) => {
  const server = await sharedServer();
  const { json: document } = await server.call('//openapi.json');
  const source = schemaSource(document);
  checkGenerated(t, CLIENT_FILE, source);
  checkGenerated(t, OPERATOR_FILE, operatorSchemaSource(document));
  for (const { op } of TRANSFORM_OPS) t.match(source, new RegExp(`^  ${op}: `, 'm'), `${op} is an op`);
  for (const code of Object.keys(ERROR_CODES)) t.match(source, `"${code}"`, `${code} is a code`);
  t.notMatch(source, /\bany\b;/);
});

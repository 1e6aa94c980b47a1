// needs: nothing
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type TSchema, Type as TypeBox } from '@sinclair/typebox';
import { Ajv } from 'ajv';
import t from 'tap';
import { OPERATIONS } from '../../../workers/image/operations/index.ts';
import { Type } from '../../../workers/image/operations/schema.ts';
import { drawn, made, passOf } from './passes.ts';

const FOLDER = new URL('../../../workers/image/operations/', import.meta.url);
t.test('every operation that a file makes is in the registry, under its name', async (t) => {
  const files = readdirSync(FOLDER).filter((file) => file !== 'index.ts');
  const exports = await Promise.all(files.map((file) => import(new URL(file, FOLDER).href)));
  const isOperation = (value: unknown) =>
    ['step', 'setting'].includes((value as { kind?: string })?.kind ?? '');
  const named = exports.flatMap((exported) =>
    Object.entries(exported).filter(([, value]) => isOperation(value)),
  );
  t.same(named.map(([name]) => name).sort(), Object.keys(OPERATIONS).sort());
  for (const [name, operation] of named)
    t.equal(OPERATIONS[name as keyof typeof OPERATIONS], operation, name);
});

t.test('every argument says what it is, and nothing undeclared is let in', (t) => {
  const ajv = new Ajv({ strict: true, strictTypes: false, formats: { 'css-color': true } });
  for (const [name, { description, parameters }] of Object.entries(OPERATIONS)) {
    t.ok(description.endsWith('.'), `${name}: ${description}`);
    t.equal(parameters.additionalProperties, false, name);
    for (const [key, schema] of Object.entries(parameters.properties as Record<string, TSchema>)) {
      t.ok((schema.description?.length ?? 0) > 4, `${name}.${key}`);
    }
    t.ok(ajv.compile(parameters), `${name} compiles`);
  }
  t.end();
});

t.test('the schemas of parameters are those that TypeBox makes', (t) => {
  const schemaBy = (type: typeof Type) =>
    type.Object(
      {
        list: type.Array(type.Number({ minimum: 0 }), { maxItems: 3 }),
        flag: type.Optional(type.Boolean({ default: true })),
        either: type.Union([type.Literal('first'), type.Integer({ minimum: 0 })], { description: 'One.' }),
        word: type.Unsafe<'a' | 'b'>({ type: 'string', enum: ['a', 'b'] }),
        text: type.String({ pattern: '^a' }),
        none: type.Optional(type.Object({ left: type.Optional(type.Number()) })),
      },
      { additionalProperties: false },
    );
  const [ours, theirs] = [schemaBy(Type), schemaBy(TypeBox as unknown as typeof Type)];
  t.equal(JSON.stringify(ours), JSON.stringify(theirs), 'in the same order');
  // Marks are symbols, which JSON leaves out.
  const marksIn = (value: object): unknown[] => [
    ...Object.getOwnPropertySymbols(value).map((mark) => [mark, Reflect.get(value, mark)]),
    ...Object.values(value).flatMap((inner) => (typeof inner === 'object' ? marksIn(inner) : [])),
  ];
  t.strictSame(marksIn(ours), marksIn(theirs));
  t.equal(marksIn(ours).length, 14);
  t.end();
});

t.test('schemas are read without loading the codec', (t) => {
  const script = `await import(${JSON.stringify(new URL('index.ts', FOLDER).href)});
    process.stdout.write(String(process.report.getReport().sharedObjects.some((name) => name.includes('vips'))))`;
  t.equal(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }),
    'false',
  );
  t.end();
});

t.test('the size that is told beforehand is the size that comes out', async (t) => {
  const input = await drawn(37, 23, (x, y) => [x * 5, y * 9, 0]);
  const table: [keyof typeof OPERATIONS, Record<string, unknown>][] = [
    ['resize', { width: 20 }],
    ['resize', { width: 100, height: 31, fit: 'cover' }],
    ['resize', { width: 100, height: 31, fit: 'contain', enlarge: true }],
    ['resize', { width: 100, height: 31, fit: 'outside', enlarge: true }],
    ['extract', { width: 5, height: 6 }],
    ['crop', { aspect: '3:2' }],
    ['rotate', { angle: 90 }],
    ['rotate', { angle: 33 }],
    ['affine', { matrix: [1, 0.5, 0.3, 2] }],
    ['extend', { left: 3, bottom: 2 }],
    ['border', { width: 4 }],
    ['placeholder', { kind: 'blur' }],
    ['negate', {}],
  ];
  for (const [name, params] of table) {
    const operation = OPERATIONS[name];
    if (operation.kind !== 'step') throw new Error(`${name} is no step`);
    const told = operation.size({ width: 37, height: 23 }, params);
    const { width, height } = await made(input, passOf([[name, params]]));
    const off = Math.max(Math.abs(told.width - width), Math.abs(told.height - height));
    t.ok(
      off <= (name === 'affine' || params.angle === 33 ? 2 : 0),
      `${name}: ${width} x ${height}, told ${told.width} x ${told.height}`,
    );
  }
});

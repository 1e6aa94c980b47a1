// needs: nothing
import t from 'tap';
import { longFunctions } from '../support/long-functions.ts';
import { misnamedBounds, misnamedFunctions } from '../support/naming.ts';

t.test('a bound by another word than MAX_ or MIN_ is named', async (t) => {
  const bounds = [
    ...[
      'LONGEST',
      'DEEPEST',
      'MOST_ROWS',
      'LEAST_BYTES',
      'SURE_LEAST',
      'LARGEST_DROPPED_BYTES',
      'LOWEST_RATE',
    ],
    ...['NAME_MAX', 'WAIT_MAX_MS', 'EDGE_MIN', 'ROW_LIMIT', 'EDGE_LIMITS_PX', 'LIMIT', 'LIMIT_MS', 'LIMITS'],
  ];
  for (const name of bounds) {
    for (const line of [
      `const ${name} = 5;`,
      `  export const ${name}: number = 5;`,
      `  static readonly #${name} = 5;`,
    ])
      t.match(misnamedBounds(`\n${line}`), [{ line: 2, sentence: new RegExp(`^${name} is a bound`) }], line);
  }
  const others = [
    'MAX_ROWS',
    'MIN_EDGE_PX',
    'ALMOST',
    'LIMIT_OFFSET',
    'LEASTWAYS',
    'limit',
    'MAXIMUM',
    'UNLIMITED',
  ];
  for (const name of others) t.same(misnamedBounds(`const ${name} = 5;`), [], name);
  t.same(misnamedBounds('refuse(ROW_LIMIT);'), [], 'a use is named where it is declared');
});

t.test('a projection that waits or throws is named, whatever its form', async (t) => {
  const wrong: [name: string, source: string][] = [
    ['async function', 'export async function partOf(key: string) {\n  return read(key);\n}'],
    ['returns a promise', 'function partOf(\n  key: string,\n): Promise<Part> {\n  return read(key);\n}'],
    [
      'throws',
      "function partOf(key: string): Part {\n  if (key === '')\n    throw new Error('x');\n\n  return key;\n}",
    ],
    [
      'throws below many arguments',
      'function partOf(\n  key: string,\n): Part {\n  throw new Error(key);\n}',
    ],
    ['async arrow', '  const partOf = async (key: string) => read(key);'],
    ['throwing arrow', '  const partOf = (key: string) => {\n    throw new Error(key);\n  };'],
    ['method', '  async partOf(key: string): Promise<Part> {\n    return read(key);\n  }'],
    ['throwing method', '  partOf(key: string): Part {\n    throw new Error(key);\n  }'],
    ['generic', 'function partOf<T>(key: T): T {\n  throw new Error();\n}'],
  ];
  for (const [name, source] of wrong)
    t.match(misnamedFunctions(source), [{ line: 1, sentence: /^partOf/ }], name);
  const right: [name: string, source: string][] = [
    [
      'a projection',
      'function partOf(key: string): Part {\n  return key;\n}\nfunction check(): void {\n  throw x;\n}',
    ],
    ['a verb', 'async function readPart(key: string) {\n  return read(key);\n}'],
    ['a call', '  partOf(key).catch(() => null);\n  throw new Error();'],
    ['a promise that is no function', '  const partOf = known.get(key);\n  throw new Error();'],
    ['a field of a type', 'interface Parts {\n  partOf: (key: string) => Promise<Part>;\n}'],
  ];
  for (const [name, source] of right) t.same(misnamedFunctions(source), [], name);
});

t.test('a function with too many lines is named, whatever its form', async (t) => {
  const body = '  read();\n  read();\n  read();';
  const heads: [name: string, source: string][] = [
    ['open', `export async function open(key: string): Promise<Part> {\n${body}\n}`],
    ['open', `export function open(\n  key: string,\n): Part {\n${body}\n}`],
    ['open', `function open({\n  key,\n}: Options): Part {\n${body}\n}`],
    ['open', `const open = async (key: string) => {\n${body}\n};`],
    ['open', `  async open(key: string): Promise<Part> {\n${body}\n  }`],
    ['open', `  readonly open = (key: string) => {\n${body}\n  };`],
    ['open', `  async *#open(): AsyncGenerator<Part> {\n${body}\n  }`],
    ['an arrow function', `  async (request, reply) => {\n${body}\n  },`],
  ];
  for (const [name, source] of heads) t.match(longFunctions(`\n${source}\n`, 4), [{ name, line: 2 }], source);
  for (const [, source] of heads) t.same(longFunctions(source, 8), [], 'short enough');
  const others = [
    `if (\n  isOpen(key)\n) {\n${body}\n}`,
    `for (const key of keys()) {\n${body}\n}`,
    `} catch (error) {\n${body}\n}`,
    `export class Part extends partOf(key) {\n${body}\n}`,
    `const part = {\n${body}\n};`,
  ];
  for (const source of others) t.same(longFunctions(source, 2), [], source);
});

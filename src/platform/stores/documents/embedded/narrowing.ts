import type { SQLInputValue } from 'node:sqlite';
import { isOperators } from '../filter.ts';
import type { Filter, Sort } from '../port.ts';
import { keyOfValue } from './keys.ts';
import { quoted, type Shape } from './shape.ts';

/** The part of a filter that SQL can express. Every document that the filter matches is among the rows. */
interface Narrowing {
  /** A condition over the columns. */
  where: string;
  params: SQLInputValue[];
  /** Whether the rows are exactly the matches, so that nothing has to be evaluated. */
  exact: boolean;
}

const UNRESTRICTED: Narrowing = { where: 'TRUE', params: [], exact: false };

export function narrow(filter: Filter, shape: Shape): Narrowing {
  return allOf(Object.entries(filter).map(([name, condition]) => narrowPart(name, condition, shape)));
}

function narrowPart(name: string, condition: unknown, shape: Shape): Narrowing {
  if (name === '$and') return allOf((condition as Filter[]).map((part) => narrow(part, shape)));
  if (name === '$or') return anyOf((condition as Filter[]).map((part) => narrow(part, shape)));
  if (name.startsWith('$')) return UNRESTRICTED;
  const operators = isOperators(condition) ? condition : { $eq: condition };
  return allOf(Object.keys(operators).map((operator) => narrowField(name, operator, operators, shape)));
}

function narrowField(
  field: string,
  operator: string,
  operators: Record<string, unknown>,
  shape: Shape,
): Narrowing {
  const column = shape.keys.get(field);
  const presence = shape.presences.get(field);
  const operand = operators[operator];
  if (operator === '$exists') {
    return presence === undefined ? UNRESTRICTED : exactly(`${quoted(presence)} = ?`, operand ? 1 : 0);
  }
  const key = column === undefined ? UNRESTRICTED : narrowKey(quoted(column), operator, operators);
  // This condition is added even if the key implies it, because SQLite needs it to use a partial index.
  return presence !== undefined && impliesPresence(operator, operand)
    ? allOf([exactly(`${quoted(presence)} = 1`), key])
    : key;
}

function impliesPresence(operator: string, operand: unknown): boolean {
  if (operator === '$in') return !(operand as unknown[]).includes(null);
  return ['$eq', '$gt', '$gte', '$lt', '$lte'].includes(operator) && operand !== null;
}

function narrowKey(column: string, operator: string, operators: Record<string, unknown>): Narrowing {
  const operand = operators[operator];
  if (operator === '$in' || operator === '$nin') return membership(column, operator, operand as unknown[]);
  const key = keyOfValue(operand);
  if (key === undefined) return UNRESTRICTED;
  if (operator === '$eq') return exactly(`${column} = ?`, key);
  if (operator === '$ne') return exactly(`${column} <> ?`, key);
  return range(column, operator, operators);
}

function membership(column: string, operator: '$in' | '$nin', operand: unknown[]): Narrowing {
  if (!operand.every((one) => typeof one === 'string' || typeof one === 'number')) return UNRESTRICTED;
  // With a single value, SQLite can use the order of the index; with a list it cannot.
  const [only] = operand;
  if (operand.length === 1 && only !== undefined)
    return exactly(`${column} ${operator === '$in' ? '=' : '<>'} ?`, only);
  return exactly(
    `${column} ${operator === '$in' ? 'IN' : 'NOT IN'} (SELECT value FROM json_each(?))`,
    JSON.stringify(operand),
  );
}

const SIGNS = new Map(Object.entries({ $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' }));

/** As with MongoDB, numbers are compared only with numbers, and text with text. */
function range(column: string, operator: string, operators: Record<string, unknown>): Narrowing {
  const operand = operators[operator];
  const sign = SIGNS.get(operator);
  if (sign === undefined || (typeof operand !== 'number' && typeof operand !== 'string')) return UNRESTRICTED;
  const fromBelow = sign.startsWith('>');
  const opposite = fromBelow ? ['$lt', '$lte'] : ['$gt', '$gte'];
  // SQLite searches an index between one bound on each side, and chooses one of two by itself. So the bound of the type
  // is added only if the filter has none.
  if (opposite.some((other) => typeof operators[other] === typeof operand))
    return exactly(`${column} ${sign} ?`, operand);
  const [least, most] = typeof operand === 'number' ? ['> -9e999', "< ''"] : [">= ''", "< x''"];
  return exactly(`${column} ${sign} ? AND ${column} ${fromBelow ? most : least}`, operand);
}

function exactly(where: string, ...params: SQLInputValue[]): Narrowing {
  return { where, params, exact: true };
}

function allOf(parts: Narrowing[]): Narrowing {
  const restricting = parts.filter((part) => part.where !== UNRESTRICTED.where);
  return {
    where: restricting.map((part) => part.where).join(' AND ') || UNRESTRICTED.where,
    params: restricting.flatMap((part) => part.params),
    exact: parts.every((part) => part.exact),
  };
}

function anyOf(parts: Narrowing[]): Narrowing {
  return {
    where: `(${parts.map((part) => `(${part.where})`).join(' OR ')})`,
    params: parts.flatMap((part) => part.params),
    exact: parts.every((part) => part.exact),
  };
}

/** The ORDER BY of a sort, or nothing. A field without a column is read from the JSON text. */
export function orderBy(sort: Sort, shape: Shape): string {
  const terms = sort.map(([field, direction]) => {
    const column = shape.keys.get(field);
    const value = column === undefined ? keyInText(field) : quoted(column);
    return `${value} ${direction === -1 ? 'DESC' : 'ASC'}`;
  });
  return terms.length === 0 ? '' : `ORDER BY ${terms.join(', ')}`;
}

/** The sort key of a field without a column, as SQL. Lists and objects sort as their text. */
function keyInText(field: string): string {
  const names = field.split('.').map((name) => `."${name}"`);
  const at = `body, '$${names.join('').replaceAll("'", "''")}'`;
  return `CASE json_type(${at}) WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE json_extract(${at}) END`;
}

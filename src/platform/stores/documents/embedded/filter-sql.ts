import type { SQLInputValue } from 'node:sqlite';
import { type DocumentFilter, type FindOptions, isOperatorCondition, type SortOrder } from '../port.ts';
import { type IndexKey, indexKeyOfValue } from './fields.ts';
import { LIMIT_OFFSET_CLAUSE, quotedIdentifier, type TableShape } from './shape.ts';

/** A part of an SQL statement, with its parameters in the order of their question marks. */
interface SqlFragment {
  sql: string;
  params: SQLInputValue[];
}

/** Where a filter finds its fields: in a document, or in an entry of a list. Only a document has columns. */
interface FieldSource {
  /** The path of a field in the JSON text of the row, as an SQL expression. */
  pathOf(field: string): string;
  columnOf(field: string): string | undefined;
  presenceOf(field: string): string | undefined;
  /** The number of lists that contain the entry; 0 for a document. */
  depth: number;
}

/** The statement that reads the rows of a filter. */
export function selectStatement(
  columns: string,
  filter: DocumentFilter,
  { sort = [], skip = 0, limit = -1 }: Omit<FindOptions, 'fields'>,
  shape: TableShape,
): SqlFragment {
  const { sql, params } = filterCondition(filter, shape);
  const rows = `SELECT ${columns} FROM ${quotedIdentifier(shape.table)} WHERE ${sql}`;
  return {
    sql: `${rows} ${orderByClause(sort, shape)} ${LIMIT_OFFSET_CLAUSE}`,
    params: [...params, limit, skip],
  };
}

/**
 * Converts a filter to an SQL condition over the columns of its indexed fields, and over the JSON text for other
 * fields.
 * @throws TypeError for an operator that DocumentFilter does not have, or an operand that it does not accept.
 */
export function filterCondition(filter: DocumentFilter, shape: TableShape): SqlFragment {
  return compileFilter(filter, {
    pathOf: (field) => sqlLiteral(`$${toJsonPath(field)}`),
    columnOf: (field) => shape.keys.get(field),
    presenceOf: (field) => shape.presences.get(field),
    depth: 0,
  });
}

/** The ORDER BY clause of a sort; empty without one. */
export function orderByClause(sort: SortOrder, shape: TableShape): string {
  const terms = sort.map(([field, direction]) => {
    const column = shape.keys.get(field);
    const key =
      column === undefined ? keyExpression(sqlLiteral(`$${toJsonPath(field)}`)) : quotedIdentifier(column);
    return `${key} ${direction === -1 ? 'DESC' : 'ASC'}`;
  });
  return terms.length === 0 ? '' : `ORDER BY ${terms.join(', ')}`;
}

function compileFilter(filter: DocumentFilter, source: FieldSource): SqlFragment {
  const parts = Object.entries(filter).map(([name, condition]) => compileCondition(name, condition, source));
  return joinFragments(parts, 'AND');
}

function compileCondition(name: string, condition: unknown, source: FieldSource): SqlFragment {
  if (name === '$and' || name === '$or') {
    const parts = (condition as DocumentFilter[]).map((part) => compileFilter(part, source));
    return joinFragments(parts, name === '$and' ? 'AND' : 'OR');
  }
  if (name === '$expr') return compileComparison(condition as Record<string, unknown>, source);
  if (name.startsWith('$')) throw new TypeError(`There is no filter operator ${name}.`);
  return compileFieldOperators(name, isOperatorCondition(condition) ? condition : { $eq: condition }, source);
}

function compileFieldOperators(
  field: string,
  operators: Record<string, unknown>,
  source: FieldSource,
): SqlFragment {
  const parts = Object.entries(operators).map(([operator, operand]) => {
    const path = source.pathOf(field);
    const presence = source.presenceOf(field);
    if (operator === '$exists') {
      if (presence !== undefined)
        return { sql: `${quotedIdentifier(presence)} = ?`, params: [operand ? 1 : 0] };
      return { sql: `json_type(body, ${path}) IS ${operand ? 'NOT NULL' : 'NULL'}`, params: [] };
    }
    if (operator === '$not') {
      const { sql, params } = compileFieldOperators(field, operand as Record<string, unknown>, source);
      return { sql: `NOT (${sql})`, params };
    }
    if (operator === '$elemMatch') return compileElemMatch(path, operand as DocumentFilter, source);
    const column = source.columnOf(field);
    const expression = column === undefined ? keyExpression(path) : quotedIdentifier(column);
    const key = compileKeyOperator(expression, operator, operators);
    // This condition is added even if the key implies it, because SQLite needs it to use a partial index.
    const isPresent = presence !== undefined && operator !== '$ne' && operand !== null;
    return isPresent ? { sql: `${quotedIdentifier(presence)} = 1 AND ${key.sql}`, params: key.params } : key;
  });
  return joinFragments(parts, 'AND');
}

/**
 * The condition that some entry of the list at a path matches a filter. The filter has conditions for the fields of the
 * entry, or operators for the entry itself, such as `{$eq: 'a'}`.
 */
function compileElemMatch(path: string, filter: DocumentFilter, { depth }: FieldSource): SqlFragment {
  const entry = `entry${depth}`;
  const within: FieldSource = {
    pathOf: (field) => `${entry}.fullkey${field === '' ? '' : ` || ${sqlLiteral(toJsonPath(field))}`}`,
    columnOf: () => undefined,
    presenceOf: () => undefined,
    depth: depth + 1,
  };
  const isOfFields = !isOperatorCondition(filter);
  const { sql, params } = isOfFields
    ? compileFilter(filter, within)
    : compileFieldOperators('', filter, within);
  const matching = isOfFields ? `${entry}.type IS 'object' AND ${sql}` : sql;
  const entries = `SELECT 1 FROM json_each(body, ${path}) AS ${entry}`;
  return { sql: `(json_type(body, ${path}) IS 'array' AND EXISTS (${entries} WHERE ${matching}))`, params };
}

const COMPARISON_SIGNS = new Map(Object.entries({ $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' }));

/** The condition that a key, in a column or computed, fulfils one operator of its field. */
function compileKeyOperator(key: string, operator: string, operators: Record<string, unknown>): SqlFragment {
  const operand = operators[operator];
  if (operator === '$in') return compileKeyIn(key, operand);
  const sign = COMPARISON_SIGNS.get(operator);
  if (sign !== undefined) return compileKeyRange(key, operator, sign, operators);
  if (operator !== '$eq' && operator !== '$ne')
    throw new TypeError(`There is no filter operator ${operator}.`);
  const value = indexKeyOfValue(operand);
  if (value === undefined) throw new TypeError(`${operator} takes text, a number, true, false or null.`);
  return { sql: `${key} ${operator === '$eq' ? '=' : '<>'} ?`, params: [value] };
}

function compileKeyIn(key: string, operand: unknown): SqlFragment {
  if (!Array.isArray(operand) || !operand.every((one) => typeof one === 'string' || typeof one === 'number'))
    throw new TypeError('$in takes a list of texts and numbers.');
  // With a single value, SQLite can use the order of the index; with a list it cannot.
  if (operand.length === 1) return { sql: `${key} = ?`, params: [operand[0] as IndexKey] };
  return { sql: `${key} IN (SELECT value FROM json_each(?))`, params: [JSON.stringify(operand)] };
}

/**
 * The condition that a key is in a range. As in MongoDB, numbers are compared only with numbers, and text only with
 * text.
 */
function compileKeyRange(
  key: string,
  operator: string,
  sign: string,
  operators: Record<string, unknown>,
): SqlFragment {
  const operand = operators[operator];
  if (typeof operand !== 'number' && typeof operand !== 'string')
    throw new TypeError(`${operator} takes text or a number.`);
  const isLowerBound = sign.startsWith('>');
  const opposite = isLowerBound ? ['$lt', '$lte'] : ['$gt', '$gte'];
  // SQLite uses at most one bound on each side of an index, and chooses among several by itself. The bound of the type
  // is therefore added only if the filter has no bound on that side.
  if (opposite.some((other) => typeof operators[other] === typeof operand))
    return { sql: `${key} ${sign} ?`, params: [operand] };
  const [least, most] = typeof operand === 'number' ? ['> -9e999', "< ''"] : [">= ''", "< x''"];
  return { sql: `${key} ${sign} ? AND ${key} ${isLowerBound ? most : least}`, params: [operand] };
}

/**
 * The condition that compares two sums of numbers and fields, as in `{$gte: [{$subtract: ['$balance', '$held']}, 5]}`.
 */
function compileComparison(expression: Record<string, unknown>, source: FieldSource): SqlFragment {
  const [operator = '', ...others] = Object.keys(expression);
  const sign = COMPARISON_SIGNS.get(operator);
  if (sign === undefined || others.length > 0)
    throw new TypeError('$expr takes one of $gt, $gte, $lt and $lte.');
  const parts = (expression[operator] as unknown[]).map((operand) => compileSum(operand, source));
  const { sql, params } = joinFragments(parts, sign);
  return { sql: `(${sql}) IS TRUE`, params };
}

const SUM_SIGNS = new Map(Object.entries({ $add: '+', $subtract: '-' }));

function compileSum(operand: unknown, source: FieldSource): SqlFragment {
  if (typeof operand === 'number') return { sql: '?', params: [operand] };
  if (typeof operand === 'string' && operand.startsWith('$'))
    return { sql: `json_extract(body, ${source.pathOf(operand.slice(1))})`, params: [] };
  const [[operator, operands] = ['', []]] = Object.entries((operand ?? {}) as Record<string, unknown[]>);
  const sign = SUM_SIGNS.get(operator);
  if (sign === undefined) throw new TypeError('A sum of $expr is a number, a field, $add or $subtract.');
  const parts = operands.map((part) => compileSum(part, source));
  return joinFragments(parts, sign);
}

function joinFragments(parts: SqlFragment[], operator: string): SqlFragment {
  if (parts.length === 0) return { sql: operator === 'OR' ? 'FALSE' : 'TRUE', params: [] };
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  // AND binds more closely than OR, so only an OR needs parentheses.
  const sql = parts.map((part) => part.sql).join(` ${operator} `);
  return { sql: operator === 'AND' ? sql : `(${sql})`, params: parts.flatMap((part) => part.params) };
}

/**
 * The expression for the key of a field without a column. As in a column, null and missing values have one key, which
 * no JSON number equals. Lists and objects have a key that no operand has, and come last.
 */
function keyExpression(path: string): string {
  const read = `json_extract(body, ${path})`;
  const specialCases = `WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' WHEN 'array' THEN x'02' WHEN 'object' THEN x'02'`;
  return `coalesce(CASE json_type(body, ${path}) ${specialCases} ELSE ${read} END, -9e999)`;
}

/** The JSON path of a dotted field within its parent. */
function toJsonPath(field: string): string {
  if (field.includes('"')) throw new TypeError(`${field} is not the name of a field.`);
  return field
    .split('.')
    .map((name) => `."${name}"`)
    .join('');
}

function sqlLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

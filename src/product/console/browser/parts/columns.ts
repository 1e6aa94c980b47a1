import { html } from '../html.ts';
import type { Column } from './table.ts';
import { Count, Id, Status, Time } from './values.ts';

/** The look of a column. It overrides the defaults of the columns that most tables have. */
type ColumnLook = Partial<Pick<Column<never>, 'isNumber' | 'isWide' | 'width'>>;

export function idColumn<Row extends { id: string }>(look: ColumnLook = {}): Column<Row> {
  const of = ({ id }: Row) => html`<${Id} id=${id} />`;
  return { name: 'id', title: 'Id', isWide: true, width: '13em', of, ...look };
}

/** @param name the field with the instant. */
export function timeColumn<Row>(name: keyof Row & string, title: string, look: ColumnLook = {}): Column<Row> {
  const of = (row: Row) => html`<${Time} at=${row[name]} />`;
  return { name, title, isWide: true, width: '14em', of, ...look };
}

/** @param name the field with the number. */
export function countColumn<Row>(
  name: keyof Row & string,
  title: string,
  look: ColumnLook = {},
): Column<Row> {
  const of = (row: Row) => html`<${Count} value=${row[name]} />`;
  return { name, title, isNumber: true, isWide: true, of, ...look };
}

export function statusColumn<Row extends { status: string }>(look: ColumnLook = {}): Column<Row> {
  const of = ({ status }: Row) => html`<${Status} status=${status} />`;
  return { name: 'status', title: 'Status', width: '9.5em', of, ...look };
}

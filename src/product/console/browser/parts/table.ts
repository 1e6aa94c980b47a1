import { html, type RefObject, useEffect, useRef, useState, type View } from '../html.ts';
import { navigate } from '../router.ts';
import { Empty, ErrorBox, Placeholder } from './page.ts';

export interface Column<Row> {
  /** The title, which no other column of the table has. */
  title: string;
  of: (row: Row) => View;
  /** Whether the values are numbers, which are aligned to the right. */
  isNumber?: boolean;
  /** Whether screens below 800 px leave out the column. */
  isHiddenWhenNarrow?: boolean;
  /** The width of the column in CSS, such as `9em`. Columns without one share the rest. */
  width?: string;
}

interface TableProps<Row> {
  /** The accessible name of the table. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Returns the address that the first column of a row links to. */
  hrefOf?: (row: Row) => string;
  /** The keys of the selected rows. With `onSelect`, each row has a checkbox. */
  selected?: ReadonlySet<string>;
  onSelect?: (selected: ReadonlySet<string>) => void;
  /** The total number of rows, if not all are loaded yet. */
  total?: number | undefined;
  hasMore?: boolean;
  more?: () => void;
  isLoading?: boolean;
  /** The error of the last load. */
  error?: unknown;
  reload?: () => void;
  /** Shown if there are no rows. */
  empty?: View;
}

const ROW_HEIGHT_PX = 36;
/** The number of rows that are drawn above and below the visible ones, so that scrolling shows no gap. */
const OVERSCAN_ROWS = 12;
const INITIALLY_DRAWN_ROWS = 60;
const PAGE_KEY_ROWS = 10;

/**
 * A table of rows. If there are no rows, it says why: they are still being loaded, they could not be loaded, or there
 * are none.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { rows, isLoading, error, reload, empty = html`<${Empty} title="Nothing yet" />` } = props;
  return html`
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${rows.length === 0 ? (isLoading ? html`<${Placeholder} />` : error === undefined && empty) : html`<${VirtualRows} ...${props} />`}
  `;
}

/**
 * Rows of equal height. Only the rows in view are drawn, so that a list of a hundred thousand rows scrolls as fast as a
 * short one. The arrow keys, Home and End move between rows, Enter opens a row, and Space selects it.
 */
function VirtualRows<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, hrefOf, selected, onSelect, total = rows.length } = props;
  const box = useRef<HTMLDivElement>(null);
  const { first, last, updateRowsInView } = useRowsInView(box, props);
  const [active, setActive] = useState(0);
  const choose = (row: Row) => {
    const changed = new Set(selected);
    if (!changed.delete(keyOf(row))) changed.add(keyOf(row));
    onSelect?.(changed);
  };
  const open = (row: Row) => hrefOf !== undefined && navigate(hrefOf(row));
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[active];
    if (event.target !== event.currentTarget || row === undefined) return;
    const next = rowForKey(event.key, active, rows.length);
    if (next !== undefined) {
      setActive(next);
      scrollToRow(box.current, next);
    } else if (event.key === 'Enter' && hrefOf !== undefined) open(row);
    else if (event.key === ' ' && onSelect !== undefined) choose(row);
    else return;
    event.preventDefault();
  };
  const gapView = (count: number) =>
    count > 0 &&
    html`<tr class="gap" aria-hidden="true" style=${{ height: `${count * ROW_HEIGHT_PX}px` }}></tr>`;
  return html`
    <div
      class="table-box"
      ref=${box}
      tabindex="0"
      role="group"
      aria-label=${`${label}, ${total} rows`}
      onScroll=${updateRowsInView}
      onKeyDown=${onKeyDown}
    >
      <table class="rows" aria-label=${label} aria-rowcount=${total + 1}>
        <${TableHead} ...${props} />
        <tbody>
          ${gapView(first)}
          ${rows.slice(first, last).map((row, index) => {
            const at = first + index;
            return html`<${TableRow}
              key=${keyOf(row)}
              columns=${columns}
              row=${row}
              name=${keyOf(row)}
              href=${hrefOf?.(row)}
              index=${at}
              isActive=${at === active}
              isChosen=${onSelect && selected?.has(keyOf(row)) === true}
              onChoose=${() => choose(row)}
              onOpen=${() => open(row)}
              onActive=${() => setActive(at)}
            />`;
          })}
          ${gapView(rows.length - last)}
        </tbody>
      </table>
    </div>
  `;
}

function TableHead<Row>({ columns, rows, keyOf, selected, onSelect }: TableProps<Row>) {
  const isEveryChosen = selected !== undefined && rows.every((row) => selected.has(keyOf(row)));
  const chooseAll = () => onSelect?.(new Set(isEveryChosen ? [] : rows.map(keyOf)));
  return html`<thead>
    <tr aria-rowindex="1">
      ${
        onSelect &&
        html`<th class="box-column">
          <input type="checkbox" aria-label="Choose all rows" checked=${isEveryChosen} onChange=${chooseAll} />
        </th>`
      }
      ${columns.map(
        ({ title, isNumber, isHiddenWhenNarrow, width }) => html`<th
          key=${title}
          scope="col"
          class=${columnClassOf(isNumber, isHiddenWhenNarrow)}
          style=${width === undefined ? {} : { width }}
        >
          ${title}
        </th>`,
      )}
    </tr>
  </thead>`;
}

interface TableRowProps<Row> {
  columns: readonly Column<Row>[];
  row: Row;
  /** The name of the row in the label of its checkbox. */
  name: string;
  href: string | undefined;
  index: number;
  isActive: boolean;
  /** Undefined if the rows of the table cannot be selected. */
  isChosen: boolean | undefined;
  onChoose: () => void;
  onOpen: () => void;
  onActive: () => void;
}

function TableRow<Row>(props: TableRowProps<Row>) {
  const { columns, row, name, href, index, isActive, isChosen, onChoose, onOpen, onActive } = props;
  const onClick = (event: MouseEvent) => {
    onActive();
    if (isOnRow(event)) onOpen();
  };
  return html`<tr
    aria-rowindex=${index + 2}
    aria-selected=${isChosen === undefined ? undefined : String(isChosen)}
    class=${`${isActive ? 'active' : ''}${href === undefined ? '' : ' leads'}`}
    onClick=${onClick}
  >
    ${
      isChosen !== undefined &&
      html`<td class="box-column">
        <input type="checkbox" aria-label=${`Choose ${name}`} checked=${isChosen} onChange=${onChoose} />
      </td>`
    }
    ${columns.map(
      (
        column,
        at,
      ) => html`<td key=${column.title} class=${columnClassOf(column.isNumber, column.isHiddenWhenNarrow)}>
        ${at === 0 && href !== undefined ? html`<a href=${href}>${column.of(row)}</a>` : column.of(row)}
      </td>`,
    )}
  </tr>`;
}

/** Determines which rows are in view and must be drawn. Loads more rows when the last ones come into view. */
function useRowsInView<Row>(
  box: RefObject<HTMLDivElement | null>,
  { rows, hasMore, isLoading, more }: TableProps<Row>,
) {
  const [view, setView] = useState({ first: 0, last: INITIALLY_DRAWN_ROWS });
  const updateRowsInView = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const first = Math.max(0, Math.floor(scrollTop / ROW_HEIGHT_PX) - OVERSCAN_ROWS);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_HEIGHT_PX) + OVERSCAN_ROWS;
    setView((known) => (known.first === first && known.last === last ? known : { first, last }));
  };
  useEffect(updateRowsInView, [rows.length]);
  useEffect(() => {
    if (hasMore && !isLoading && view.last + OVERSCAN_ROWS > rows.length) more?.();
  }, [view.last, rows.length, hasMore, isLoading]);
  const first = Math.min(view.first, Math.max(0, rows.length - 1));
  return { first, last: Math.min(rows.length, view.last), updateRowsInView };
}

/** The index of the row that a key moves to; undefined for any other key. */
function rowForKey(key: string, active: number, count: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ...{ ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: count - 1 },
    ...{ PageDown: active + PAGE_KEY_ROWS, PageUp: active - PAGE_KEY_ROWS },
  };
  const row = moves[key];
  return row === undefined ? undefined : Math.max(0, Math.min(count - 1, row));
}

function scrollToRow(box: HTMLElement | null, row: number): void {
  const { scrollTop = 0, clientHeight = 0 } = box ?? {};
  // When the user scrolls up, the row above must be visible as well, because the table's head covers the first visible
  // row.
  const [top, bottom] = [row * ROW_HEIGHT_PX, (row + 2) * ROW_HEIGHT_PX];
  if (top < scrollTop) box?.scrollTo({ top });
  else if (bottom > scrollTop + clientHeight) box?.scrollTo({ top: bottom - clientHeight });
}

function columnClassOf(isNumber = false, isHiddenWhenNarrow = false): string | undefined {
  const names = [...(isNumber ? ['number'] : []), ...(isHiddenWhenNarrow ? ['wide'] : [])];
  return names.length === 0 ? undefined : names.join(' ');
}

/** Whether a click was meant for the row: not for a control in it, and not for selecting text. */
function isOnRow({ target }: MouseEvent): boolean {
  const isOnControl = target instanceof Element && target.closest('a, button, input, summary') !== null;
  return !isOnControl && getSelection()?.isCollapsed !== false;
}

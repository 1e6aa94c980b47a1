import { html, useEffect, useRef, useState, type View } from '../html.ts';
import { navigate } from '../router.ts';
import { Empty, Waiting } from './states.ts';

export interface Column<Row> {
  /** Distinguishes it from the others. */
  name: string;
  title: string;
  of: (row: Row) => View;
  /** Whether it is set to the right. */
  isNumber?: boolean;
  /** Whether a screen below 800 px leaves it out. */
  isWide?: boolean;
  /** Its width in CSS, such as `9em`; columns without one share the rest. */
  width?: string;
}

interface TableProps<Row> {
  /** What it lists, for those who do not see it. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** Where a row leads: its first column becomes the link. */
  hrefOf?: (row: Row) => string;
  /** The keys of the rows that are chosen; with `onSelect`, each row has a box. */
  selected?: ReadonlySet<string>;
  onSelect?: (selected: ReadonlySet<string>) => void;
  /** How many rows there are in all, if more than are read. */
  total?: number | undefined;
  hasMore?: boolean;
  more?: () => void;
  isLoading?: boolean;
  /** Shown if there are no rows. */
  empty?: View;
}

const ROW_PX = 36;
/** The rows that are drawn above and below those in view. */
const SPARE_ROWS = 12;

/**
 * A list of rows of one height. Only those in view are drawn, so that a hundred thousand scroll like ten. Arrows, Home
 * and End go through the rows, Enter opens one, Space chooses it.
 */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, hrefOf, selected, onSelect, total, hasMore, more, isLoading } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ first: 0, last: 60 });
  const [active, setActive] = useState(0);

  const look = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - SPARE_ROWS);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_PX) + SPARE_ROWS;
    setView((known) => (known.first === first && known.last === last ? known : { first, last }));
  };
  useEffect(look, [rows.length]);
  useEffect(() => {
    if (hasMore && !isLoading && view.last + SPARE_ROWS > rows.length) more?.();
  }, [view.last, rows.length, hasMore, isLoading]);

  if (rows.length === 0)
    return isLoading ? html`<${Waiting} />` : (props.empty ?? html`<${Empty} title="Nothing yet" />`);

  const choose = (key: string) => {
    const next = new Set(selected);
    if (!next.delete(key)) next.add(key);
    onSelect?.(next);
  };
  const goTo = (index: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    setActive(next);
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    // The head of the table covers the first row of what is in view.
    const [top, bottom] = [next * ROW_PX, (next + 2) * ROW_PX];
    if (top < scrollTop) box.current?.scrollTo({ top });
    else if (bottom > scrollTop + clientHeight) box.current?.scrollTo({ top: bottom - clientHeight });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[active];
    if (event.target !== event.currentTarget || row === undefined) return;
    const moves: Readonly<Record<string, number>> = {
      ...{ ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: rows.length - 1 },
      ...{ PageDown: active + 10, PageUp: active - 10 },
    };
    const move = moves[event.key];
    if (move !== undefined) goTo(move);
    else if (event.key === 'Enter' && hrefOf !== undefined) navigate(hrefOf(row));
    else if (event.key === ' ' && onSelect !== undefined) choose(keyOf(row));
    else return;
    event.preventDefault();
  };

  const first = Math.min(view.first, Math.max(0, rows.length - 1));
  const last = Math.min(rows.length, view.last);
  const shown = rows.slice(first, last);
  const isEveryChosen = selected !== undefined && rows.every((row) => selected.has(keyOf(row)));
  return html`
    <div
      class="table-box"
      ref=${box}
      tabindex="0"
      role="group"
      aria-label=${`${label}, ${total ?? rows.length} rows`}
      onScroll=${look}
      onKeyDown=${onKeyDown}
    >
      <table class="rows" aria-label=${label} aria-rowcount=${(total ?? rows.length) + 1}>
        <thead>
          <tr aria-rowindex="1">
            ${
              onSelect &&
              html`<th class="box-column">
              <input
                type="checkbox"
                aria-label="Choose all rows"
                checked=${isEveryChosen}
                onChange=${() => onSelect(new Set(isEveryChosen ? [] : rows.map(keyOf)))}
              />
            </th>`
            }
            ${columns.map(
              ({ name, title, isNumber, isWide, width }) => html`<th
                key=${name}
                scope="col"
                class=${classOf(isNumber, isWide)}
                style=${width === undefined ? {} : { width }}
              >
                ${title}
              </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${first > 0 && html`<tr class="gap" aria-hidden="true" style=${{ height: `${first * ROW_PX}px` }}></tr>`}
          ${shown.map((row, index) => {
            const key = keyOf(row);
            const at = first + index;
            const isChosen = selected?.has(key) ?? false;
            return html`<tr
              key=${key}
              aria-rowindex=${at + 2}
              aria-selected=${onSelect && (isChosen ? 'true' : 'false')}
              class=${`${at === active ? 'active' : ''}${hrefOf ? ' leads' : ''}`}
              onClick=${(event: MouseEvent) => {
                setActive(at);
                if (hrefOf !== undefined && isOnRow(event)) navigate(hrefOf(row));
              }}
            >
              ${
                onSelect &&
                html`<td class="box-column">
                <input
                  type="checkbox"
                  aria-label=${`Choose ${key}`}
                  checked=${isChosen}
                  onChange=${() => choose(key)}
                />
              </td>`
              }
              ${columns.map(
                (
                  { name, of, isNumber, isWide },
                  column,
                ) => html`<td key=${name} class=${classOf(isNumber, isWide)}>
                  ${column === 0 && hrefOf ? html`<a href=${hrefOf(row)}>${of(row)}</a>` : of(row)}
                </td>`,
              )}
            </tr>`;
          })}
          ${
            last < rows.length &&
            html`<tr class="gap" aria-hidden="true" style=${{ height: `${(rows.length - last) * ROW_PX}px` }}></tr>`
          }
        </tbody>
      </table>
    </div>
  `;
}

function classOf(isNumber = false, isWide = false): string | undefined {
  const names = [...(isNumber ? ['number'] : []), ...(isWide ? ['wide'] : [])];
  return names.length === 0 ? undefined : names.join(' ');
}

/** Whether a click was on the row itself, and did not select text. */
function isOnRow({ target }: MouseEvent): boolean {
  const isOnControl = target instanceof Element && target.closest('a, button, input, summary') !== null;
  return !isOnControl && getSelection()?.isCollapsed !== false;
}

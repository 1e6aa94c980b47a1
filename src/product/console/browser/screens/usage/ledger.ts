import type { LedgerEntry } from '../../../../../client/schema.ts';
import { html } from '../../html.ts';
import { countColumn, timeColumn } from '../../parts/columns.ts';
import { Facts } from '../../parts/page.ts';
import { usePages, useReading } from '../../parts/reading.ts';
import { Empty, ErrorBox } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { Count, countText, Id, Status } from '../../parts/values.ts';
import { api } from '../../session.ts';

/** The balance, and each movement of it. */
export function Ledger() {
  const credits = useReading((signal) => api.usage.credits({ signal }), []);
  const list = usePages<LedgerEntry>((signal) => api.usage.ledger({ signal }), []);
  return html`
    ${
      credits.data &&
      html`<${Facts}
        of=${[
          ['Balance', html`<${Count} value=${credits.data.balance} />`],
          ['Held by running jobs', html`<${Count} value=${credits.data.held} />`],
          ['Available', html`<${Count} value=${credits.data.available} />`],
        ]}
      />`
    }
    <${ErrorBox} error=${credits.error} onRetry=${credits.reload} />
    <${Table}
      label="Movements of credits"
      columns=${COLUMNS}
      ...${list}
      keyOf=${({ id }: LedgerEntry) => id}
      empty=${html`<${Empty} title="No movements yet" text="Jobs of models are charged in credits; the operator grants them." />`}
    />
  `;
}

const TONES: Readonly<Record<string, string>> = { grant: 'good', charge: 'quiet', overage: 'warn' };

const COLUMNS: readonly Column<LedgerEntry>[] = [
  {
    name: 'type',
    title: 'Movement',
    width: '8.5em',
    of: ({ type }) => html`<${Status} status=${type} tone=${TONES[type] ?? 'quiet'} />`,
  },
  {
    name: 'credits',
    title: 'Credits',
    isNumber: true,
    width: '8.5em',
    of: ({ credits, held }) => html`<span class="figure">${signed(credits || held)}</span>`,
  },
  countColumn('balanceAfter', 'Balance after', { width: '11em' }),
  { name: 'note', title: 'Note', isWide: true, of: ({ note }) => note },
  {
    name: 'job',
    title: 'Job',
    isWide: true,
    width: '13em',
    of: ({ jobId }) => jobId && html`<${Id} id=${jobId} to=${`/console/jobs/${jobId}`} />`,
  },
  timeColumn('createdAt', 'At', { isWide: false }),
];

function signed(value: number): string {
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${countText(Math.abs(value))}`;
}

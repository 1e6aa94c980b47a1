import type { LedgerEntry } from '../../../../../client/schema.ts';
import { html } from '../../html.ts';
import { Facts } from '../../parts/page.ts';
import { usePages, useReading } from '../../parts/reading.ts';
import { Empty, ErrorBox } from '../../parts/states.ts';
import { Table } from '../../parts/table.ts';
import { Count, countText, Id, Status, Time } from '../../parts/values.ts';
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
    <${ErrorBox} error=${credits.error ?? list.error} onRetry=${list.reload} />
    <${Table}
      label="Movements of credits"
      columns=${COLUMNS}
      rows=${list.rows}
      keyOf=${({ id }: LedgerEntry) => id}
      total=${list.total}
      hasMore=${list.hasMore}
      onMore=${list.more}
      isLoading=${list.isLoading}
      empty=${html`<${Empty} title="No movements yet" text="Jobs of models are charged in credits; the operator grants them." />`}
    />
  `;
}

const TONES: Readonly<Record<string, string>> = { grant: 'good', charge: 'quiet', overage: 'warn' };

const COLUMNS = [
  {
    name: 'type',
    title: 'Movement',
    width: '7.5em',
    of: ({ type }: LedgerEntry) => html`<${Status} status=${type} tone=${TONES[type] ?? 'quiet'} />`,
  },
  {
    name: 'credits',
    title: 'Credits',
    isNumber: true,
    width: '6.5em',
    of: ({ credits, held }: LedgerEntry) => html`<span class="figure">${signed(credits || held)}</span>`,
  },
  {
    name: 'balance',
    title: 'Balance after',
    isNumber: true,
    isWide: true,
    width: '9.5em',
    of: ({ balanceAfter }: LedgerEntry) => html`<${Count} value=${balanceAfter} />`,
  },
  { name: 'note', title: 'Note', isWide: true, of: ({ note }: LedgerEntry) => note },
  {
    name: 'job',
    title: 'Job',
    isWide: true,
    width: '13em',
    of: ({ jobId }: LedgerEntry) => jobId && html`<${Id} id=${jobId} to=${`/console/jobs/${jobId}`} />`,
  },
  {
    name: 'at',
    title: 'At',
    width: '14em',
    of: ({ createdAt }: LedgerEntry) => html`<${Time} at=${createdAt} />`,
  },
];

function signed(value: number): string {
  return value > 0 ? `+${countText(value)}` : countText(value);
}

import type { TemplateSummary } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { h, html } from '../html.ts';
import { Filters, idColumn, savedItemFilters, timeColumn } from '../parts/lists.ts';
import { Empty, NotLoadedPage, Page } from '../parts/page.ts';
import { useLoad, usePages } from '../parts/reading.ts';
import { type Column, Table } from '../parts/table.ts';
import { Status } from '../parts/values.ts';
import { type ScreenProps, useQuery } from '../router.ts';
import { TemplateEditor } from '../saved/template-editor.ts';
import { TemplateVersions } from '../saved/template-versions.ts';

/** The screen of templates. It shows their list, an editor, or versions side by side. */
export default function TemplatesScreen({ rest }: ScreenProps) {
  const [id = '', part] = rest.split('/');
  if (id === '') return html`<${TemplateList} />`;
  if (id === 'new') return html`<${TemplateEditor} key="new" />`;
  return html`<${TemplateById} key=${rest} id=${decodeURIComponent(id)} part=${part} />`;
}

const TEMPLATE_COLUMNS: readonly Column<TemplateSummary>[] = [
  { title: 'Name', of: ({ name }) => name },
  idColumn({ width: '20em' }),
  {
    title: 'Size',
    of: ({ width, height }) => `${width} × ${height}`,
    isNumber: true,
    width: 'min(10.5em, 24vw)',
  },
  {
    title: 'Variables',
    of: ({ variables }) => variables.length,
    isNumber: true,
    isHiddenWhenNarrow: true,
    width: '8.5em',
  },
  {
    title: 'Version',
    of: ({ version, builtIn }) => (builtIn ? html`<${Status} status="built in" />` : version),
    isNumber: true,
    width: '8.5em',
  },
  timeColumn('updatedAt', 'Saved', { width: '16em' }),
];

function TemplateList() {
  const [filters, setFilters] = useQuery({ search: '', from: '' });
  const from = filters.from === 'user' || filters.from === 'builtin' ? { filter: filters.from } : {};
  const list = usePages(
    (signal) => api.templates.list(from as { filter?: 'user' | 'builtin' }, { signal }),
    [filters.from],
  );
  const words = filters.search.toLowerCase();
  const rows = list.rows.filter(({ name, id }) => `${name} ${id}`.toLowerCase().includes(words));
  return html`<${Page}
    title="Templates"
    lead="Pages of HTML and CSS with placeholders, which are drawn as pictures."
    actions=${html`<a class="button primary" href="/console/templates/new">New template</a>`}
  >
    <${Filters}
      fields=${savedItemFilters('Search by name or id')}
      values=${filters}
      onChange=${setFilters}
    />
    ${h(Table<TemplateSummary>, {
      label: 'Templates',
      columns: TEMPLATE_COLUMNS,
      ...list,
      rows,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => `/console/templates/${id}`,
      empty: html`<${Empty}
        title="No template here"
        text="Open one of the service and save it under a name of your own, or begin a new one."
        action=${html`<a class="button" href="/console/templates/new">New template</a>`}
      />`,
    })}
  <//>`;
}

function TemplateById({ id, part }: { id: string; part: string | undefined }) {
  const { data, error, reload } = useLoad((signal) => api.templates.get(id, { signal }), [id]);
  const above = { title: 'Templates', path: '/console/templates' };
  if (data === undefined)
    return html`<${NotLoadedPage} title="Template" above=${above} error=${error} reload=${reload} />`;
  if (part === 'versions') return html`<${TemplateVersions} template=${data} />`;
  return html`<${TemplateEditor} template=${data} onSaved=${reload} />`;
}

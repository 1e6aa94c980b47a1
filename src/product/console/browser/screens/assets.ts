import type { QueryOf } from '../../../../client/calls.ts';
import type { AssetCollection, ListedAsset } from '../../../../client/schema.ts';
import { api } from '../api.ts';
import { html, useEffect, useRef, useState } from '../html.ts';
import { useBulkAction } from '../parts/bulk.ts';
import { Button } from '../parts/controls.ts';
import { Filters, ListCount, withoutEmptyFilters } from '../parts/lists.ts';
import { askToConfirm, toast } from '../parts/overlays.ts';
import { Empty, ErrorBox, Page, Placeholder } from '../parts/page.ts';
import { type PagedList, useLoad, usePages } from '../parts/reading.ts';
import { copyText, countText } from '../parts/values.ts';
import { navigate, type ScreenProps, useQuery } from '../router.ts';
import { ASSETS_PATH, AssetPage, Tile } from './assets/asset.ts';
import { DropZone } from './assets/uploads.ts';

const NO_FILTERS = { id: '', collection: '', status: '', origin: '', jobId: '', similarTo: '' };
type AssetListFilters = typeof NO_FILTERS;

/** The screen of the account's images. It shows all images, or one. */
export default function AssetsScreen({ rest }: ScreenProps) {
  if (rest === '') return html`<${AssetGrid} />`;
  return html`<${AssetPage} key=${rest} assetId=${decodeURIComponent(rest)} />`;
}

function AssetGrid() {
  const [filters, setFilters] = useQuery(NO_FILTERS);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const query = assetListQueryOf(filters);
  const list = usePages<ListedAsset>((signal) => api.assets.list(query, { signal }), [query]);
  const collections = useLoad((signal) => api.request('GET', '/collections', { signal }), []);
  const isFiltered = Object.keys(query).length > 0;
  const reload = () => {
    list.reload();
    collections.reload();
  };
  const choose = (id: string, isChosen: boolean) =>
    setChosen(new Set(isChosen ? [...chosen, id] : [...chosen].filter((other) => other !== id)));

  return html`<${Page} title="Assets" lead="Images that this account keeps: uploads, and what its jobs made.">
    <${DropZone} collection=${filters.collection} onDone=${reload} />
    <${Filters}
      fields=${filterFieldsOf(collections.data ?? [], filters)}
      values=${filters}
      onChange=${(change: Partial<AssetListFilters>) => {
        setChosen(new Set());
        setFilters(change);
        if (change.id?.startsWith('ast_')) navigate(`${ASSETS_PATH}/${encodeURIComponent(change.id)}`);
      }}
    />
    ${
      filters.similarTo &&
      html`<p class="note">
        Those that look like <a href=${`${ASSETS_PATH}/${filters.similarTo}`}>one asset</a>, the nearest first.
        <${Button} kind="link" onClick=${() => setFilters({ similarTo: '' })}>Show all<//>
      </p>`
    }
    <${AssetGridActions} list=${list} chosen=${chosen} setChosen=${setChosen} onRemoved=${reload} />
    <${ErrorBox} error=${list.error} onRetry=${list.reload} />
    ${list.rows.length === 0 && list.isLoading && html`<${Placeholder} />`}
    ${
      list.rows.length === 0 &&
      !list.isLoading &&
      list.error === undefined &&
      (isFiltered
        ? html`<${Empty} title="No asset matches" text="Widen the filters, or take one away." />`
        : html`<${Empty} title="No assets yet" text="Drop an image on this page: jobs and templates use it by its id." />`)
    }
    <ul class="tiles" aria-label="Assets">
      ${list.rows.map(
        (asset) => html`<${Tile}
          key=${asset.id}
          asset=${asset}
          isChosen=${chosen.has(asset.id)}
          onChoose=${(isChosen: boolean) => choose(asset.id, isChosen)}
        />`,
      )}
    </ul>
    <${MoreAssets} ...${list} />
  <//>`;
}

interface GridActionsProps {
  list: PagedList<ListedAsset>;
  chosen: ReadonlySet<string>;
  setChosen: (chosen: ReadonlySet<string>) => void;
  onRemoved: () => void;
}

/** The number of assets, and the actions on the selected ones. */
function AssetGridActions({ list, chosen, setChosen, onRemoved }: GridActionsProps) {
  const bulk = useBulkAction();
  const removeChosen = async () => {
    const ids = [...chosen];
    const assets = `${countText(ids.length)} ${ids.length === 1 ? 'asset' : 'assets'}`;
    const isAgreed = await askToConfirm({
      title: `Delete ${assets}?`,
      text: 'Their bytes are gone for good, and so are the pictures that web pages show of them.',
      act: `Delete ${assets}`,
      isDangerous: true,
    });
    if (!isAgreed) return;
    await bulk.run<string>({
      title: 'Deleting assets',
      total: ids.length,
      rows: ids,
      nameOf: (id) => id,
      act: (id, signal) => api.assets.delete(id, { signal }),
      onEnd: () => {
        setChosen(new Set());
        onRemoved();
      },
    });
  };
  const copyIds = async () => {
    await copyText([...chosen].join('\n'));
    toast(`${countText(chosen.size)} ids are copied.`);
  };
  const chooseAll = () => setChosen(new Set(chosen.size > 0 ? [] : list.rows.map(({ id }) => id)));
  return html`
    <div class="list-head">
      <${ListCount} total=${list.total} nouns=${['asset', 'assets']} chosen=${chosen.size} />
      <span class="list-acts">
        ${
          list.rows.length > 0 &&
          html`<${Button} onClick=${chooseAll}>${chosen.size > 0 ? 'Choose none' : 'Choose all'}<//>`
        }
        <${Button} isDisabled=${chosen.size === 0} onClick=${copyIds}>Copy ids<//>
        <${Button} kind="danger" isDisabled=${chosen.size === 0 || bulk.isRunning} onClick=${removeChosen}>
          Delete chosen
        <//>
      </span>
    </div>
    ${bulk.view}
  `;
}

/** Reads the next page when the end of the list comes into view. */
function MoreAssets({ hasMore, isLoading, more, rows }: PagedList<ListedAsset>) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!hasMore || isLoading || end.current === null) return;
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && more(), {
      rootMargin: '600px',
    });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [hasMore, isLoading, rows.length]);
  return html`<div ref=${end} class="list-end">${hasMore && html`<${Button} onClick=${more}>Show more<//>`}</div>`;
}

/**
 * The query for the filters. A search for similar assets ignores all other filters, because the API does not combine
 * them.
 */
function assetListQueryOf({ id: _, ...filters }: AssetListFilters): QueryOf<'GET /assets'> {
  return filters.similarTo === '' ? withoutEmptyFilters(filters) : { similarTo: filters.similarTo };
}

const choiceOption = (value: string, label: string) => ({ value, label });
const ORIGIN_CHOICES = [
  choiceOption('', 'Anywhere'),
  choiceOption('upload', 'Uploads'),
  choiceOption('job', 'Jobs'),
];
const STATUS_CHOICES = [
  choiceOption('', 'Any'),
  choiceOption('DONE', 'Stored'),
  choiceOption('PENDING', 'Pending'),
  choiceOption('FAILED', 'Failed'),
];

function filterFieldsOf(collections: readonly AssetCollection[], { collection, jobId }: AssetListFilters) {
  const names = new Set([...collections.map(({ name }) => name), ...(collection === '' ? [] : [collection])]);
  return [
    { name: 'id', label: 'Open an asset by its id', kind: 'search', placeholder: 'ast_… opens it' },
    { name: 'collection', label: 'Collection', kind: 'choice', choices: [choiceOption('', 'All'), ...names] },
    { name: 'origin', label: 'From', kind: 'choice', choices: ORIGIN_CHOICES },
    { name: 'status', label: 'Status', kind: 'choice', choices: STATUS_CHOICES },
    ...(jobId === '' ? [] : [{ name: 'jobId', label: 'Job', kind: 'text' }]),
  ];
}

import type { Asset, ListedAsset } from '../../../../../client/schema.ts';
import { api } from '../../api.ts';
import { html } from '../../html.ts';
import { Button } from '../../parts/controls.ts';
import { toast } from '../../parts/overlays.ts';
import {
  Empty,
  ErrorBox,
  LabelledValues,
  NotLoadedPage,
  Page,
  Placeholder,
  Section,
} from '../../parts/page.ts';
import { Thumbnail } from '../../parts/pictures.ts';
import { useAction, useLoad } from '../../parts/reading.ts';
import { ByteSize, bytesText, Code, copyText, Id, Status, shortId, Time } from '../../parts/values.ts';
import { addressOf, navigate } from '../../router.ts';

export const ASSETS_PATH = '/console/assets';

const LINK_LIFE_SECONDS = 3_600;

/** The page of one asset: its picture, its facts, and similar assets. */
export function AssetPage({ assetId }: { assetId: string }) {
  const { data, error, reload } = useLoad((signal) => api.assets.get(assetId, { signal }), [assetId]);
  const above = { title: 'Assets', path: ASSETS_PATH };
  if (data === undefined)
    return html`<${NotLoadedPage} title="Asset" above=${above} error=${error} reload=${reload} />`;
  const { metadata = {}, name, status } = data;
  return html`<${Page} title=${name ?? 'Asset'} above=${above} actions=${html`<${AssetActions} asset=${data} />`}>
    <div class="asset">
      ${
        status === 'DONE' &&
        html`<div class="asset-picture" style=${{ backgroundColor: data.image?.dominantColor }}>
          <${Thumbnail} id=${assetId} edge=${256} alt=${name ?? 'The asset'} />
        </div>`
      }
      <${AssetFacts} asset=${data} />
    </div>
    ${data.image && html`<${NearDuplicates} assetId=${assetId} />`}
    ${
      Object.keys(metadata).length > 0 &&
      html`<${Section} title="Tags of the file">
        <${Code}
          samples=${Object.entries(metadata).map(([label, tags]) => ({ label, code: JSON.stringify(tags, null, 2) }))}
        />
      <//>`
    }
  <//>`;
}

function AssetFacts({
  asset: { id, status, image, collection, origin, jobId, createdAt, expiresAt },
}: {
  asset: Asset;
}) {
  return html`<${LabelledValues}
    of=${[
      ['Status', html`<${Status} status=${status} tone=${status === 'DONE' ? 'good' : undefined} />`],
      ['Id', html`<${Id} id=${id} />`],
      ['Size', image && `${image.width} × ${image.height} px`],
      ['File', image && html`${image.format}, <${ByteSize} value=${image.bytes} />`],
      ['Frames', image && image.frames > 1 ? String(image.frames) : undefined],
      [
        'Colours',
        image && html`<${Swatch} colour=${image.dominantColor} /> <${Swatch} colour=${image.averageColor} />`,
      ],
      [
        'Colour space',
        image && `${image.colorSpace}, ${image.bitDepth} bits${image.hasAlpha ? ', alpha' : ''}`,
      ],
      ['Collection', collection && html`<a href=${addressOf(ASSETS_PATH, { collection })}>${collection}</a>`],
      ['From', jobId ? html`job <${Id} id=${jobId} to=${`/console/jobs/${jobId}`} />` : origin],
      ['Stored', html`<${Time} at=${createdAt} />`],
      ['Kept until', expiresAt && html`<${Time} at=${expiresAt} />`],
      ['SHA-1', image && html`<${Id} id=${image.sha1} />`],
    ]}
  />`;
}

function Swatch({ colour }: { colour: string }) {
  return html`<span class="colour">
    <span class="swatch" style=${{ backgroundColor: colour }} aria-hidden="true"></span><code>${colour}</code>
  </span>`;
}

function AssetActions({ asset }: { asset: Asset }) {
  const { act, actIfConfirmed, isActing, error } = useAction();
  const createLink = async () => {
    const options = { expiresInSeconds: LINK_LIFE_SECONDS };
    return (await api.assets.link(asset.id, options)).url;
  };
  const download = () =>
    act(async () => {
      const { pathname, search } = new URL(await createLink());
      location.assign(`${pathname}${search}&download=true`);
    });
  const copy = () =>
    act(async () => {
      await copyText(await createLink());
      toast('The link is copied. It shows the picture to whoever has it, for an hour.');
    });
  const remove = () => {
    const text = 'Its bytes are gone for good, and so are the pictures that web pages show of it.';
    return actIfConfirmed({ title: 'Delete this asset?', text, act: 'Delete' }, async () => {
      await api.assets.delete(asset.id);
      toast('The asset is deleted.');
      navigate(ASSETS_PATH);
    });
  };
  const isThere = asset.status === 'DONE';
  return html`
    ${isThere && html`<${Button} isBusy=${isActing} onClick=${download}>Download<//>`}
    ${isThere && html`<${Button} isBusy=${isActing} onClick=${copy}>Copy a link<//>`}
    <${Button} kind="danger" isBusy=${isActing} onClick=${remove}>Delete<//>
    <${ErrorBox} error=${error} />
  `;
}

/** The assets that look similar to one asset. */
function NearDuplicates({ assetId }: { assetId: string }) {
  const read = (signal: AbortSignal) =>
    api.assets.list({ similarTo: assetId, perPage: 12 }, { signal }).first();
  const { data, error, isLoading, reload } = useLoad(read, [assetId]);
  const rows = data?.rows.filter(({ id }) => id !== assetId) ?? [];
  const all = addressOf(ASSETS_PATH, { similarTo: assetId });
  return html`<${Section}
    title="Near duplicates"
    actions=${rows.length > 0 && html`<a href=${all}>Show all in the grid</a>`}
  >
    <${ErrorBox} error=${error} onRetry=${reload} />
    ${isLoading && data === undefined && html`<${Placeholder} rows=${2} />`}
    ${data && rows.length === 0 && html`<${Empty} title="No other asset looks like this one" />`}
    <ul class="tiles">${rows.map((asset) => html`<${Tile} key=${asset.id} asset=${asset} />`)}</ul>
  <//>`;
}

interface TileProps {
  asset: ListedAsset;
  isChosen?: boolean;
  /** Called when the user selects the asset or removes it from the selection. If absent, it cannot be selected. */
  onChoose?: (isChosen: boolean) => void;
}

/** An asset in a grid. Its dominant colour fills the tile until the picture is loaded. */
export function Tile({ asset, isChosen = false, onChoose }: TileProps) {
  const { id, name, status, image, distance } = asset;
  const title = name ?? shortId(id);
  const facts = image
    ? `${image.width} × ${image.height}, ${image.format}, ${bytesText(image.bytes)}`
    : status.toLowerCase();
  return html`<li class=${isChosen ? 'tile chosen' : 'tile'}>
    <a href=${`${ASSETS_PATH}/${id}`} title=${title}>
      <span class="tile-picture" style=${image ? { backgroundColor: image.dominantColor } : {}}>
        ${status === 'DONE' && html`<${Thumbnail} id=${id} edge=${256} />`}
      </span>
      <span class="tile-name">${title}</span>
    </a>
    <span class="quiet tile-facts">${facts}</span>
    ${distance !== undefined && html`<span class="quiet tile-facts">${likenessText(distance)}</span>`}
    ${
      onChoose &&
      html`<input
        type="checkbox"
        class="tile-box"
        aria-label=${`Choose ${title}`}
        checked=${isChosen}
        onChange=${(event: Event) => onChoose((event.target as HTMLInputElement).checked)}
      />`
    }
  </li>`;
}

/**
 * Describes how similar two pictures are.
 * @param distance the number of bits in which their perceptual hashes differ.
 */
function likenessText(distance: number): string {
  return distance === 0 ? 'looks the same' : `differs in ${distance} of 64 bits`;
}

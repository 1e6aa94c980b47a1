import type { ListedAsset } from '../../../../../client/schema.ts';
import { html } from '../../html.ts';
import { Thumb } from '../../parts/thumb.ts';
import { bytesText, shortId } from '../../parts/values.ts';
import { ASSETS_PATH } from './paths.ts';

interface TileProps {
  asset: ListedAsset;
  isChosen?: boolean;
  /** Without it, the asset cannot be chosen. */
  onChoose?: (isChosen: boolean) => void;
}

/** An asset in a grid. Its colour fills its space until its picture is loaded. */
export function Tile({ asset, isChosen = false, onChoose }: TileProps) {
  const { id, name, status, image, distance } = asset;
  const title = name ?? shortId(id);
  const facts = image
    ? `${image.width} × ${image.height}, ${image.format}, ${bytesText(image.bytes)}`
    : status.toLowerCase();
  return html`<li class=${isChosen ? 'tile chosen' : 'tile'}>
    <a href=${`${ASSETS_PATH}/${id}`} title=${title}>
      <span class="tile-picture" style=${image ? { backgroundColor: image.dominantColor } : {}}>
        ${status === 'DONE' && html`<${Thumb} id=${id} edge=${256} />`}
      </span>
      <span class="tile-name">${title}</span>
    </a>
    <span class="quiet tile-facts">${facts}</span>
    ${distance !== undefined && html`<span class="quiet tile-facts">${likeness(distance)}</span>`}
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
 * The likeness as text.
 * @param distance number of bits in which the hashes of two pictures differ.
 */
function likeness(distance: number): string {
  return distance === 0 ? 'looks the same' : `differs in ${distance} of 64 bits`;
}

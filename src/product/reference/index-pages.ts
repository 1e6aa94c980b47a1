import {
  type Block,
  type Cards,
  type DocumentationPage,
  heading,
  link,
  list,
  type PagePictures,
  paragraph,
} from '../../platform/pages/page.ts';
import type { OpDefinition } from '../catalogue/schema.ts';
import { callSamples } from './call-samples.ts';
import { GUIDES } from './guides/index.ts';
import { opsByKind } from './op-kinds.ts';

/** The ops whose pictures the first page shows. */
const SHOWN_FIRST = ['thumbnail', 'redact', 'text', 'round_corners', 'duotone', 'render_template'];

/** The first page of the documentation. */
export function homePage(
  definitions: readonly OpDefinition[],
  picturesOf: (op: string) => readonly PagePictures[],
): DocumentationPage {
  const shown = SHOWN_FIRST.flatMap((name) => definitions.filter(({ op }) => op === name));
  return {
    title: 'Darkroom',
    lead: 'Send a picture, and get pixels, facts or a rendered template back, in milliseconds, while you wait. Jobs do the same over thousands.',
    blocks: [
      paragraph(
        'Every call carries `Authorization: ApiKey <key>`. A picture comes back as bytes; everything else is JSON with `success`, and a failure says how to fix the call. ',
        link('Begin with the first picture', '/docs/guides/first-picture'),
        '.',
      ),
      callSamples({
        method: 'POST',
        path: '/api/v1/images/transform',
        query: { op: 'resize', width: 800, format: 'webp' },
        needsKey: true,
        body: { file: 'photo.jpg', type: 'image/jpeg' },
        saves: 'photo.webp',
      }),
      heading('Guides'),
      {
        kind: 'cards',
        cards: Object.entries(GUIDES).map(([name, { title, lead }]) => ({
          title,
          text: lead,
          to: `/docs/guides/${name}`,
        })),
      },
      heading('What it does'),
      { kind: 'cards', cards: shown.map((definition) => cardOf(definition, picturesOf)) },
      paragraph(
        link('All ops', '/docs/ops'),
        ', each with its parameters, their bounds, and a form to try it.',
      ),
      heading('Reference'),
      {
        kind: 'cards',
        cards: [
          {
            title: 'Images',
            text: 'The endpoint that runs them, and every other one in the menu.',
            to: '/docs/transformImage',
          },
          {
            title: 'Errors',
            text: 'Each code of the closed set, and how to fix the call.',
            to: '/docs/errors',
          },
          {
            title: 'Guidelines for agents',
            text: 'The rules, and every op in a line: one text for a model.',
            to: '/docs/guidelines',
          },
        ],
      },
      heading('For programs'),
      list(
        [
          link('/openapi.json', '/openapi.json'),
          ' is the interface as OpenAPI 3.1. It is for openapi-typescript as it is; `?form=multipart` is for generators that read one media type per body, and `?ops=createJob,getJob` is a part of it.',
        ],
        [
          link('/llms.txt', '/llms.txt'),
          ' is the map for a language model, and ',
          link('/llms-full.txt', '/llms-full.txt'),
          ' is every guide and every op in one text.',
        ],
        'Each page is Markdown too: add `.md` to its address, or send `Accept: text/markdown`.',
      ),
    ],
  };
}

/** The page of all ops by kind, each with a picture if the gallery has one. */
export function opsPage(
  definitions: readonly OpDefinition[],
  picturesOf: (op: string) => readonly PagePictures[],
): DocumentationPage {
  return {
    title: 'Ops',
    lead: 'What the service does to a picture. One op per call, several as steps, or a job over thousands of pictures.',
    blocks: opsByKind(definitions).flatMap(({ title, definitions }): Block[] => [
      heading(title),
      { kind: 'cards', cards: definitions.map((definition) => cardOf(definition, picturesOf)) },
    ]),
  };
}

function cardOf(
  { op, description }: OpDefinition,
  picturesOf: (op: string) => readonly PagePictures[],
): Cards['cards'][number] {
  const picture = picturesOf(op)[0]?.pictures.at(-1);
  return { title: op, text: description, to: `/docs/ops/${op}`, ...(picture !== undefined && { picture }) };
}

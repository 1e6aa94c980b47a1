import {
  type CardsBlock,
  type DocumentationPage,
  headingBlock,
  listBlock,
  type PageBlock,
  type PagePictures,
  pageLink,
  paragraphBlock,
} from '../../platform/pages/page.ts';
import type { OpDefinition } from '../catalogue/schema.ts';
import { callSamplesBlock } from './call.ts';
import { GUIDE_PAGES } from './guides/index.ts';

/** The ops that the first page shows, with their pictures. */
const HOME_PAGE_OPS = ['thumbnail', 'redact', 'text', 'round_corners', 'duotone', 'render_template'];

export function documentationHomePage(
  definitions: readonly OpDefinition[],
  picturesOf: (op: string) => readonly PagePictures[],
): DocumentationPage {
  const shown = HOME_PAGE_OPS.flatMap((name) => definitions.filter(({ op }) => op === name));
  return {
    title: 'Darkroom',
    lead: 'Send a picture, and get pixels, facts or a rendered template back, in milliseconds, while you wait. Jobs do the same over thousands.',
    blocks: [
      paragraphBlock(
        'Every call carries `Authorization: ApiKey <key>`. A picture comes back as bytes; everything else is JSON with `success`, and a failure says how to fix the call. ',
        pageLink('Begin with the first picture', '/docs/guides/first-picture'),
        '.',
      ),
      callSamplesBlock({
        method: 'POST',
        path: '/api/v1/images/transform',
        query: { op: 'resize', width: 800, format: 'webp' },
        needsKey: true,
        body: { file: 'photo.jpg', type: 'image/jpeg' },
        saves: 'photo.webp',
      }),
      headingBlock('Guides'),
      {
        kind: 'cards',
        cards: Object.entries(GUIDE_PAGES).map(([name, { title, lead }]) => ({
          title,
          text: lead,
          to: `/docs/guides/${name}`,
        })),
      },
      headingBlock('What it does'),
      { kind: 'cards', cards: shown.map((definition) => opCard(definition, picturesOf)) },
      paragraphBlock(
        pageLink('All ops', '/docs/ops'),
        ', each with its parameters, their bounds, and a form to try it.',
      ),
      headingBlock('Reference'),
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
            title: 'Warnings',
            text: 'Each warning about a successful call, with its meaning and its remedy.',
            to: '/docs/warnings',
          },
          {
            title: 'Guidelines for agents',
            text: 'The rules, and every op in a line: one text for a model.',
            to: '/docs/guidelines',
          },
        ],
      },
      headingBlock('For programs'),
      listBlock(
        [
          pageLink('/openapi.json', '/openapi.json'),
          ' is the interface as OpenAPI 3.1. It is for openapi-typescript as it is; `?form=multipart` is for generators that read one media type per body, and `?ops=createJob,getJob` is a part of it.',
        ],
        [
          pageLink('/llms.txt', '/llms.txt'),
          ' is the map for a language model, and ',
          pageLink('/llms-full.txt', '/llms-full.txt'),
          ' is every guide and every op in one text.',
        ],
        'Each page is Markdown too: add `.md` to its address, or send `Accept: text/markdown`.',
      ),
    ],
  };
}

/** The page of all ops by group, each with a picture if the gallery has one. */
export function opsPage(
  definitions: readonly OpDefinition[],
  picturesOf: (op: string) => readonly PagePictures[],
): DocumentationPage {
  return {
    title: 'Ops',
    lead: 'What the service does to a picture. One op per call, several as steps, or a job over thousands of pictures.',
    blocks: opsByGroup(definitions).flatMap(({ title, definitions }): PageBlock[] => [
      headingBlock(title),
      { kind: 'cards', cards: definitions.map((definition) => opCard(definition, picturesOf)) },
    ]),
  };
}

function opCard(
  { op, description }: OpDefinition,
  picturesOf: (op: string) => readonly PagePictures[],
): CardsBlock['cards'][number] {
  const picture = picturesOf(op)[0]?.pictures.at(-1);
  return { title: op, text: description, to: `/docs/ops/${op}`, ...(picture !== undefined && { picture }) };
}

/** The groups in which pages list the ops. An op belongs to the first group whose function accepts it. */
const OP_GROUPS: readonly { title: string; includes: (definition: OpDefinition) => boolean }[] = [
  { title: 'Models', includes: ({ kind }) => kind === 'ai' },
  { title: 'Reading', includes: ({ produces }) => produces === 'json' },
  { title: 'Pictures', includes: () => true },
];

/** The ops by group. The groups that most readers need come first. */
export function opsByGroup(
  definitions: readonly OpDefinition[],
): { title: string; definitions: readonly OpDefinition[] }[] {
  const kindOf = (definition: OpDefinition) => OP_GROUPS.find(({ includes }) => includes(definition));
  return OP_GROUPS.toReversed().map((kind) => ({
    title: kind.title,
    definitions: definitions.filter((definition) => kindOf(definition) === kind),
  }));
}

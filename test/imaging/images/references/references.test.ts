// needs: pixels
import sharp from 'sharp';
import t, { type Test } from 'tap';
import { OPS, type OpName } from '../../../../src/product/catalogue/index.ts';
import { performCompareTask } from '../../../../workers/image/facts/compare.ts';
import { describeImage } from '../../../../workers/image/metadata/metadata.ts';
import { performTransformTask } from '../../../../workers/image/pipeline.ts';
import type { TargetSearchResult, TaskFailure } from '../../../../workers/protocol.ts';
import { raster } from '../../../workers/image/passes.ts';
import { type Fact, groups, inputOf, pixelsOf, readingsIn, taskOf } from './facts.ts';
import { assertInk } from './ink.ts';
import { pictureNamed } from './pictures.ts';

/** Where a PNG's header says how its pixels are stored. */
const BITS_AT = 24;
const COLOUR_TYPE_AT = 25;

for (const [group, facts] of groups()) {
  t.test(group, async (t) => {
    for (const fact of facts)
      await t.test(`${fact.op}, ${fact.name}, as by ${fact.by}`, (t) => holds(t, fact));
  });
}

t.test('every op that works on pixels by itself is held against another implementation', async (t) => {
  const held = new Set([...groups().values()].flat().map(({ op }) => op));
  // What is read from a picture is held against writers of text and codes in transforms/read.test.ts.
  const read: string[] = ['read_text', 'read_codes'];
  const ops = Object.values(OPS)
    .filter(({ runs }) => runs === 'pass' || runs === 'answer')
    .filter(({ op }) => !read.includes(op));
  t.same(
    ops.map(({ op }) => op as OpName).filter((op) => !held.has(op)),
    [],
  );
});

async function holds(t: Test, fact: Fact): Promise<void> {
  const { data, fields } = await answerTo(fact);
  assertFields(t, fact, fields);
  if (data === undefined) return;
  if (fact.bytes !== undefined) {
    const [fewest, most] = fact.bytes;
    t.ok(data.length >= fewest && data.length <= most, `${data.length} bytes for ${fewest} to ${most}`);
  }
  if (fact.stored !== undefined) t.same([data[COLOUR_TYPE_AT], data[BITS_AT]], fact.stored);
  if (fact.delays !== undefined) t.same((await sharp(data, { pages: -1 }).metadata()).delay, fact.delays);
  if (fact.pixels !== undefined) await assertPixels(t, fact, data);
  if (fact.ink !== undefined) assertInk(t, fact.ink, await raster(data));
}

interface Answer {
  /** The file that was made. */
  data?: Uint8Array;
  fields: Record<string, unknown>;
}

async function answerTo(fact: Fact): Promise<Answer> {
  const input = await inputOf(fact);
  if (fact.op === 'compare') {
    const other = new Uint8Array(await pictureNamed(fact.other ?? ['waves', 1, 1]));
    return {
      fields: {
        ...sound(await performCompareTask({ kind: 'compare', input, other, deadlineMs: Infinity }))
          .difference,
      },
    };
  }
  if (fact.op === 'read_metadata') return { fields: await describedIn(input) };
  const { data, achieved, hashes } = sound(await performTransformTask(await taskOf(fact)));
  // What a search says of itself, and what stands in the file.
  const fields: Partial<TargetSearchResult> & Record<string, unknown> = {
    ...(await tagsIn(data)),
    ...achieved,
    ...hashes,
  };
  return { data, fields };
}

function sound<R extends { kind: string }>(result: R | TaskFailure): R {
  if ('message' in result) throw new Error(result.message);
  return result;
}

async function describedIn(input: Uint8Array<ArrayBuffer>): Promise<Record<string, unknown>> {
  return { ...sound(await describeImage(input, undefined, readingsIn(input))).image };
}

async function tagsIn(data: Uint8Array<ArrayBuffer>): Promise<Record<string, unknown>> {
  return sound(await describeImage(data)).metadata.iptc ?? {};
}

function assertFields(
  t: Test,
  { fields = {}, apart = {}, least = {} }: Fact,
  answer: Record<string, unknown>,
): void {
  for (const [name, expected] of Object.entries(fields)) {
    const value = answer[name] ?? null;
    if (typeof expected !== 'number') t.equal(value, expected, name);
    else t.ok(Math.abs(Number(value) - expected) <= (apart[name] ?? 0), `${name} ${value} for ${expected}`);
  }
  for (const [name, lowest] of Object.entries(least))
    t.ok(Number(answer[name]) >= lowest, `${name} ${answer[name]}`);
}

async function assertPixels(t: Test, fact: Fact, file: Uint8Array): Promise<void> {
  const { size, within = 0 } = fact;
  const { width, height, at } = await raster(file);
  t.same([width, height], size);
  for (const { x, y, channels } of pixelsOf(fact)) {
    const made = at(x, y);
    const differences = channels.map((_, channel) => Math.abs(seen(channels, channel) - seen(made, channel)));
    t.ok(Math.max(...differences) <= within, `${x}, ${y}: ${made} for ${channels}`);
  }
}

/** A channel of a pixel, colours as far as they are opaque: what is clear has none. */
function seen(channels: number[], channel: number): number {
  const [value = 0, alpha = 255] = [channels[channel], channels[3]];
  return channel === 3 ? value : (value * alpha) / 255;
}

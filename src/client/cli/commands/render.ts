import { extname } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import type { RenderRequest } from '../../schema.ts';
import type { CliCommand } from '../context.ts';
import { EXIT_CODES, UsageError } from '../exit-codes.ts';
import { parseJsonOption, readNamedFile } from '../parameters.ts';
import { estimateText } from '../terminal.ts';

const RENDER_OPTIONS = {
  output: { type: 'string', short: 'o', default: '-' },
  template: { type: 'string', short: 't' },
  html: { type: 'string' },
  css: { type: 'string' },
  width: { type: 'string' },
  height: { type: 'string' },
  data: { type: 'string' },
  set: { type: 'string', multiple: true },
  format: { type: 'string' },
  quality: { type: 'string' },
  scale: { type: 'string' },
  'dry-run': { type: 'boolean' },
} as const;

const parseRenderOptions = (args: string[]) => parseArgs({ args, options: RENDER_OPTIONS }).values;
type ParsedRenderOptions = ReturnType<typeof parseRenderOptions>;

export const renderCommand: CliCommand = {
  usage: `darkroom render --template ID [--set NAME=VALUE …] [--data FILE.json|-] -o FILE
darkroom render --html FILE [--css FILE] --width PX --height PX [--set NAME=VALUE …] -o FILE

Draws a template, or HTML, with one row of data.

  -o, --output   a file, or - for stdout
  --format, --quality, --scale   of the picture; the name of the file says the format too
  --dry-run      tells what would be made, and what it would cost
`,
  async run(args, context) {
    const values = parseRenderOptions(args);
    const request = await readRenderRequest(values);
    const { terminal } = context;
    const { images } = await context.client();
    if (values['dry-run']) {
      const estimate = await images.estimateRender(request);
      terminal.writeResult({ estimate }, estimateText(estimate));
      return EXIT_CODES.done;
    }
    const { output } = values;
    terminal.refusePictureOnTerminal(output);
    const picture = await images.render(request);
    terminal.writeWarnings(picture.warnings);
    if (output === '-') {
      await terminal.writeBytes(await picture.bytes());
      return EXIT_CODES.done;
    }
    await picture.save(output);
    const { width, height, format, size, requestId } = picture;
    const facts = { output, width, height, format, bytes: size, requestId };
    terminal.writeResult(facts, `${output}  ${width}×${height}  ${size} bytes`);
    return EXIT_CODES.done;
  },
};

async function readRenderRequest(values: ParsedRenderOptions): Promise<RenderRequest> {
  const { template, html, css, output, format = extname(output).slice(1) || undefined } = values;
  if ((template === undefined) === (html === undefined))
    throw new UsageError('Say what to draw by one of --template and --html.');
  const fields = {
    templateId: template,
    html: html === undefined ? undefined : await readNamedFile('html', html),
    css: css === undefined ? undefined : await readNamedFile('css', css),
    width: parseNumberOption(values, 'width'),
    height: parseNumberOption(values, 'height'),
    quality: parseNumberOption(values, 'quality'),
    scale: parseNumberOption(values, 'scale'),
    format,
    data: await readDataRow(values),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function parseNumberOption(
  values: ParsedRenderOptions,
  name: 'width' | 'height' | 'quality' | 'scale',
): number | undefined {
  const given = values[name];
  if (given === undefined) return undefined;
  const value = Number(given);
  if (given.trim() === '' || !Number.isFinite(value)) throw new UsageError(`--${name} must be a number.`);
  return value;
}

/** Reads the row of data from --data. Values of --set replace those of the row. */
async function readDataRow({ data, set = [] }: ParsedRenderOptions): Promise<Record<string, unknown>> {
  const row =
    data === undefined
      ? {}
      : parseJsonOption('data', data === '-' ? await text(process.stdin) : await readNamedFile('data', data));
  if (typeof row !== 'object' || row === null || Array.isArray(row))
    throw new UsageError('--data must hold one JSON object.');
  const pairs = set.map((pair) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === undefined) throw new UsageError(`--set takes NAME=VALUE, not ${pair}.`);
    return [name, value];
  });
  return { ...row, ...Object.fromEntries(pairs) };
}

import type { Tool } from '../tool.ts';
import { compare } from './compare.ts';
import { facts } from './facts.ts';
import { job } from './job.ts';
import { look } from './look.ts';
import { ops } from './ops.ts';
import { presets } from './presets.ts';
import { render } from './render.ts';
import { run } from './run.ts';
import { ticket } from './ticket.ts';

/** Every tool, ordered by task. The order is fixed, because hosts and models cache the list. */
export const TOOLS: readonly Tool[] = [ops, run, look, facts, compare, render, job, presets, ticket];

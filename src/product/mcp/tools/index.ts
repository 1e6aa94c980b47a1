import type { Tool } from '../tool.ts';
import { compareTool } from './compare.ts';
import { factsTool } from './facts.ts';
import { jobTool } from './job.ts';
import { lookTool } from './look.ts';
import { opsTool } from './ops.ts';
import { presetsTool } from './presets.ts';
import { renderTool } from './render.ts';
import { runTool } from './run.ts';
import { ticketTool } from './ticket.ts';

/** Every tool, grouped by task. The order must stay the same, because hosts and models cache the list. */
export const TOOLS: readonly Tool[] = [
  opsTool,
  runTool,
  lookTool,
  factsTool,
  compareTool,
  renderTool,
  jobTool,
  presetsTool,
  ticketTool,
];

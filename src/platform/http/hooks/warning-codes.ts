import { readFileSync } from 'node:fs';
import { parsePage } from '../../pages/parse.ts';

/** The codes of warnings. The set is closed. */
export const WARNING_CODES = [
  'ignored_parameter',
  'did_you_mean',
  'clamped',
  'no_effect',
  'not_enlarged',
  'enlarge_ignored',
  'border_cut',
  'resize_shadowed',
  'format_shadowed',
  'metadata_dropped',
  'alpha_lost',
  'frames_lost',
  'pages_lost',
  'text_cut',
  'layer_cut',
  'layer_outside',
  'page_text_cut',
  'larger_than_input',
  'search_cut_short',
  'format_not_tried',
  'low_quality',
  'first_frame_compared',
  'missing_glyph',
  'font_replaced',
  'unknown_parameter',
  'unknown_collection',
  'unknown_variable',
  'empty_variable',
  'escaped_in_css',
  'blocked_resource',
  'missing_asset',
  'sandbox_model',
  'more',
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

/** The page of all warnings. Its table has a row for each code: an example, what happened, and what to do. */
export const WARNINGS_PAGE = parsePage(readFileSync(new URL('./warnings.md', import.meta.url), 'utf8'));

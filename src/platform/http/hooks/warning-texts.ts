interface WarningText {
  /** An entry of `X-Service-Warnings` with this code. */
  example: string;
  /** What happened, in one sentence. */
  meaning: string;
  /** What callers should do if they did not want this, in one sentence. */
  remedy: string;
}

/**
 * The warnings of the interface, by code. The documentation page about warnings and the description of their header are
 * made from these texts.
 */
export const WARNING_TEXTS = {
  ignored_parameter: {
    example: 'ignored_parameter:perpage',
    meaning: 'The endpoint does not read this field.',
    remedy: 'Send the field that `did_you_mean` names, or leave it out.',
  },
  did_you_mean: {
    example: 'did_you_mean:perPage',
    meaning: 'The field, with its value if there is one, that was probably meant by the entry before.',
    remedy: 'Send it in place of the one before.',
  },
  clamped: {
    example: 'clamped:wait',
    meaning: 'The value of this field is outside its bounds, and the nearest bound was taken.',
    remedy: 'Send a value within the bounds.',
  },
  no_effect: {
    example: 'no_effect:quality',
    meaning: 'This field, or a step if none is named, changes nothing in the result.',
    remedy: 'Leave it out, or send the format or the value with which it counts.',
  },
  not_enlarged: {
    example: 'not_enlarged:768',
    meaning: 'The picture was left smaller than asked for, this many pixels wide or high.',
    remedy: 'Send `enlarge=true`, or a larger picture.',
  },
  enlarge_ignored: {
    example: 'enlarge_ignored',
    meaning: 'A resize cannot reach its size, because a step before it made the picture smaller.',
    remedy: 'Send one resize, or `enlarge=true`.',
  },
  resize_shadowed: {
    example: 'resize_shadowed',
    meaning: 'A resize has no effect, because a later step sets the size again.',
    remedy: 'Leave out the first one.',
  },
  format_shadowed: {
    example: 'format_shadowed',
    meaning: 'A step sets the format, and a later one sets it again.',
    remedy: 'Set the format in the last step alone.',
  },
  metadata_dropped: {
    example: 'metadata_dropped',
    meaning: 'The metadata should be kept, but the format of the result cannot hold it.',
    remedy: 'Ask for another format than gif.',
  },
  alpha_lost: {
    example: 'alpha_lost',
    meaning: 'Transparent pixels were laid on white, because the format of the result has no transparency.',
    remedy: 'Ask for png, webp or avif, or send `background`.',
  },
  frames_lost: {
    example: 'frames_lost:379',
    meaning: 'The result shows the first frame of an animation, without this many others.',
    remedy: 'Ask for gif or webp and an op that keeps them, or choose one by `frame`.',
  },
  pages_lost: {
    example: 'pages_lost:3',
    meaning: 'The result shows the first page, or picture, of the file, without this many others.',
    remedy: 'Make one call for each, with its number from 0 in `frame`.',
  },
  text_cut: {
    example: 'text_cut:812x290',
    meaning: 'A part of the text of this many pixels lies outside of the picture.',
    remedy: 'Send a smaller `size`, less text, or another place.',
  },
  layer_cut: {
    example: 'layer_cut:1200x900',
    meaning: 'A part of the layer of this many pixels lies outside of the picture.',
    remedy: 'Send `scale`, or another place.',
  },
  layer_outside: {
    example: 'layer_outside:64x64',
    meaning: 'Nothing of the layer of this many pixels lies on the picture.',
    remedy: 'Send an `x` and a `y` within the picture, or a `position`.',
  },
  page_text_cut: {
    example: 'page_text_cut:The%20annual%20report',
    meaning: 'Text of the page that begins so is cut by its box, or by the edge of the picture.',
    remedy: 'Send less text, or give it a smaller font or a larger box.',
  },
  larger_than_input: {
    example: 'larger_than_input',
    meaning: 'The file of the result is larger than the one that was sent, and shows no more.',
    remedy: 'Use compress, or keep the file.',
  },
  search_cut_short: {
    example: 'search_cut_short',
    meaning:
      'A search for a size or a likeness had no time for all of its trials: this is the best file so far.',
    remedy: 'Send it as a job, or a smaller picture.',
  },
  format_not_tried: {
    example: 'format_not_tried:avif',
    meaning: 'There was no time to try this format of several.',
    remedy: 'Send it as a job, fewer formats, or a smaller picture.',
  },
  low_quality: {
    example: 'low_quality:fewer_frames',
    meaning: 'The file within `maxBytes` has a quality below 20, or fewer than 16 colours.',
    remedy: 'Allow more bytes, or send what is named: `fewer_frames` or a `smaller_picture`.',
  },
  first_frame_compared: {
    example: 'first_frame_compared',
    meaning: 'Of an animation, the first frame was compared.',
    remedy: 'Compare single frames: make each by `frame` first.',
  },
  missing_glyph: {
    example: 'missing_glyph:1F389',
    meaning: 'No font has this character, by its code point: a box, or nothing, was drawn.',
    remedy: 'Write it otherwise, or declare a font that has it in the page.',
  },
  font_replaced: {
    example: 'font_replaced:Inter',
    meaning: 'The service does not have this font family, and another was taken.',
    remedy: 'Take one of GET /api/v1/fonts, or declare it in the page.',
  },
  unknown_variable: {
    example: 'unknown_variable:titel',
    meaning: 'The row names a variable that the template does not have.',
    remedy: 'Correct its name.',
  },
  empty_variable: {
    example: 'empty_variable:subtitle',
    meaning: 'A placeholder stayed empty, because the row has no value for it.',
    remedy: 'Send a value, or declare the variable as optional.',
  },
  escaped_in_css: {
    example: 'escaped_in_css:font',
    meaning: 'The value of this variable stands in a style, where its escaped characters are not read.',
    remedy: 'Leave out quotes, `<` and `&`, or place it in an attribute.',
  },
  blocked_resource: {
    example: 'blocked_resource:https',
    meaning: 'The page names resources with this scheme, which are not loaded.',
    remedy: 'Upload them, and name them by `asset://<assetId>`, or write `data:` URIs.',
  },
  missing_asset: {
    example: 'missing_asset:ast_000000000000000000000000',
    meaning: 'The page names an asset that the account does not have.',
    remedy: 'Take an id of GET /api/v1/assets.',
  },
  sandbox_model: {
    example: 'sandbox_model:sandbox-image',
    meaning: 'A model of the sandbox made this: the result is invented.',
    remedy: 'Name a model of a provider, if GET /api/v1/ai-models lists one.',
  },
  more: {
    example: 'more:12',
    meaning: 'There are this many further warnings.',
    remedy: 'Mend those that are named, and send the call again.',
  },
} as const satisfies Record<string, WarningText>;

/** The code of a warning: one of a closed set. */
export type WarningCode = keyof typeof WARNING_TEXTS;
export const WARNING_CODES = Object.keys(WARNING_TEXTS) as WarningCode[];

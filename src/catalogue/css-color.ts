const HEX = /^#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i;
const NUMBER = '[+-]?(?:\\d+(?:\\.\\d+)?|\\.\\d+)';
const RGB = new RegExp(`^rgba?\\(${components(`${NUMBER}%?`, `${NUMBER}%?`)}\\)$`, 'i');
const HSL = new RegExp(`^hsla?\\(${components(`${NUMBER}(?:deg)?`, `${NUMBER}%`)}\\)$`, 'i');

/** The named colours of CSS Color Level 4, and `transparent`. */
const NAMES = new Set(
  `aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue blueviolet brown burlywood
  cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson cyan darkblue darkcyan darkgoldenrod darkgray
  darkgreen darkgrey darkkhaki darkmagenta darkolivegreen darkorange darkorchid darkred darksalmon darkseagreen
  darkslateblue darkslategray darkslategrey darkturquoise darkviolet deeppink deepskyblue dimgray dimgrey dodgerblue
  firebrick floralwhite forestgreen fuchsia gainsboro ghostwhite gold goldenrod gray green greenyellow grey honeydew
  hotpink indianred indigo ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
  lightgoldenrodyellow lightgray lightgreen lightgrey lightpink lightsalmon lightseagreen lightskyblue lightslategray
  lightslategrey lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine mediumblue
  mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen mediumturquoise mediumvioletred
  midnightblue mintcream mistyrose moccasin navajowhite navy oldlace olive olivedrab orange orangered orchid
  palegoldenrod palegreen paleturquoise palevioletred papayawhip peachpuff peru pink plum powderblue purple
  rebeccapurple red rosybrown royalblue saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue slateblue
  slategray slategrey snow springgreen steelblue tan teal thistle tomato transparent turquoise violet wheat white
  whitesmoke yellow yellowgreen`.split(/\s+/),
);

/** Whether the text is a colour: a CSS name, `#rgb[a]`, `#rrggbb[aa]`, rgb(), rgba(), hsl() or hsla(). */
export function isCssColor(text: string): boolean {
  return NAMES.has(text.toLowerCase()) || HEX.test(text) || RGB.test(text) || HSL.test(text);
}

/** `first, rest, rest[, alpha]` with commas, or `first rest rest[ / alpha]` with spaces. */
function components(first: string, rest: string): string {
  const alpha = `${NUMBER}%?`;
  const commas = `\\s*${first}(?:\\s*,\\s*${rest}){2}(?:\\s*,\\s*${alpha})?\\s*`;
  const spaces = `\\s*${first}(?:\\s+${rest}){2}(?:\\s*/\\s*${alpha})?\\s*`;
  return `(?:${commas}|${spaces})`;
}

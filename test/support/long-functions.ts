/** A function that is too long: where it begins, and how many lines it has. */
export interface LongFunction {
  name: string;
  line: number;
  lines: number;
}

/** The line that ends the head of a function, a method or an arrow function. */
const OPENS = /=> \{$|\)(?::.*)? \{$/;
/** The same line of a head that takes several lines. */
const ENDS_HEAD = /^ *[)}]/;
const BEGINS_HEAD = /[({<[]$/;
const OTHER_BLOCK = /^(?:\} )?(?:if|else|for|while|switch|catch|do|(?:export )?(?:abstract )?class)\b/;
const NAME =
  /^(?:(?:export|default|const|static|readonly|async|function|get|set) )*(?:function)?[*#]*([\w$]+)/;

/** The functions of a file that have more than so many lines, head and body, as the formatter lays them out. */
export function longFunctions(source: string, maxLines: number): LongFunction[] {
  const lines = source.split('\n');
  return lines.flatMap((text, index) => {
    if (!OPENS.test(text) || OTHER_BLOCK.test(text.trim())) return [];
    const indent = indentOf(text);
    const begin = ENDS_HEAD.test(text) ? beginOf(lines, index) : index;
    const head = (lines[begin] ?? '').trim();
    const end = lines.findIndex((line, at) => at > index && line.startsWith(`${indent}}`));
    const count = end - begin + 1;
    if (OTHER_BLOCK.test(head) || count <= maxLines) return [];
    return [{ name: nameIn(head), line: begin + 1, lines: count }];
  });
}

function nameIn(head: string): string {
  if (/^(?:async )?[(<]/.test(head)) return 'an arrow function';
  return NAME.exec(head)?.[1] ?? head;
}

/** The line where the head begins that ends in this one. */
function beginOf(lines: readonly string[], index: number): number {
  const indent = indentOf(lines[index] ?? '');
  return lines.findLastIndex(
    (line, at) => at < index && indentOf(line) === indent && BEGINS_HEAD.test(line) && !ENDS_HEAD.test(line),
  );
}

function indentOf(line: string): string {
  return /^ */.exec(line)?.[0] ?? '';
}

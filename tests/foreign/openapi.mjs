// Reads GitHub's OpenAPI description and writes the part about what is called here: whole paths, and all they refer to.
const called = [
    "/check-runs",
    "/check-runs/{check_run_id}",
    "/check-runs/{check_run_id}/annotations",
    "/commits/{ref}/check-runs",
    "/pulls/{pull_number}",
    "/pulls/{pull_number}/comments",
    "/pulls/{pull_number}/reviews",
    "/issues",
    "/issues/{issue_number}",
    "/issues/{issue_number}/comments",
    "/issues/comments/{comment_id}/reactions",
    "/collaborators/{username}/permission",
    "/actions/workflows/{workflow_id}/runs",
    "/actions/runs/{run_id}/artifacts",
    "/actions/runs/{run_id}/rerun",
    "/actions/runs/{run_id}/rerun-failed-jobs",
    "/actions/runs/{run_id}/cancel",
    "/issues/comments/{comment_id}",
    "/code-scanning/sarifs",
    "/actions/artifacts",
    "/actions/artifacts/{artifact_id}/{archive_format}",
];

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const whole = JSON.parse(Buffer.concat(chunks));

const paths = {};
for (const path of called.map((path) => `/repos/{owner}/{repo}${path}`)) {
    if (!whole.paths[path]) throw new Error(`the description has no ${path}`);
    paths[path] = whole.paths[path];
}

const components = {};
const pending = [paths];
while (pending.length > 0) {
    const part = pending.pop();
    if (part === null || typeof part !== "object") continue;
    pending.push(...Object.values(part));
    if (typeof part.$ref !== "string") continue;
    const [, , section, name] = part.$ref.split("/");
    components[section] ??= {};
    if (name in components[section]) continue;
    components[section][name] = whole.components[section][name];
    pending.push(components[section][name]);
}

// Prism validates nothing, and says nothing, where it meets `nullable` without `type`. No text matches
// the pattern, so that null remains.
const nothing = { type: "string", nullable: true, pattern: "a^" };
const readable = (part) => {
    if (part === null || typeof part !== "object") return part;
    if (Array.isArray(part)) return part.map(readable);
    const { nullable, ...rest } = Object.fromEntries(Object.entries(part).map(([key, value]) => [key, readable(value)]));
    if (nullable !== true || typeof rest.type === "string") return nullable === undefined ? rest : { nullable, ...rest };
    return { anyOf: [rest, nothing] };
};

const { openapi, info, servers } = whole;
process.stdout.write(JSON.stringify(readable({ openapi, info, servers, paths, components })));

"""Agents in workflows that read what strangers write while they hold something worth having."""

import re

from .base import Case, Kind
from .places import Lenses

LENSES = Lenses("workflow-hardening", "workflow-conventions")
PIN = "0123456789abcdef0123456789abcdef01234567"
PATH = ".github/workflows/extra-agent.yml"
# `## kind`, then workflows that differ in little: the fault with `»`, `---`, the twin; `@@` begins another variant.
PAGE = r'''
## claude-anyone-may-ask
on:
  issues:
    types: [opened]
permissions:
  contents: write
  issues: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
»      allowed_non_write_users: "*"
      prompt: Label the issue.
---
on:
  issues:
    types: [opened]
permissions:
  contents: read
  issues: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      allowed_non_write_users: ""
      prompt: Label the issue.
@@
on:
  pull_request_target:
permissions:
  contents: read
  pull-requests: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      claude_code_oauth_token: ${{ secrets.CLAUDE_TOKEN }}
»      allowed_bots: '*'
      prompt: Review the change.
---
on:
  pull_request_target:
permissions:
  contents: read
  pull-requests: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      claude_code_oauth_token: ${{ secrets.CLAUDE_TOKEN }}
      allowed_bots: 'dependabot[bot]'
      prompt: Review the change.

## prompt-with-strangers-text
on:
  issues:
    types: [opened]
permissions:
  contents: write
  issues: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      allowed_non_write_users: "*"
      prompt: |
        Triage this issue:
»        ${{ github.event.issue.body }}
---
on:
  workflow_dispatch:
    inputs:
      task:
        required: true
permissions:
  contents: write
  issues: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      prompt: |
        Do this task:
        ${{ inputs.task }}
@@
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
»      prompt: "Answer: ${{ github.event.comment.body }}"
---
on:
  issue_comment:
    types: [created]
permissions:
  contents: read
if: contains(fromJSON('["OWNER","MEMBER","COLLABORATOR"]'), github.event.comment.author_association)
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      sandbox: read-only
      prompt: "Answer: ${{ github.event.comment.body }}"
@@
on:
  pull_request_target:
    types: [opened]
permissions:
  contents: write
steps:
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      prompt: |
»        Review: ${{ github.event.pull_request.title }}
---
on:
  push:
    branches: [main]
permissions:
  contents: read
steps:
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      prompt: |
        Review: ${{ github.event.head_commit.id }}

## prompt-through-environment
on:
  issues:
    types: [opened]
permissions:
  contents: write
steps:
  - name: Ask
    env:
»      BODY: ${{ github.event.issue.body }}
      GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
      ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}
»    run: claude -p "Fix this. $BODY" --dangerously-skip-permissions
---
on:
  issues:
    types: [opened]
permissions:
  contents: read
steps:
  - name: Note
    env:
      BODY: ${{ github.event.issue.body }}
    run: printf '%s' "$BODY" | wc -c

## claude-command-unrestricted
on:
  pull_request_target:
permissions:
  contents: write
steps:
  - uses: actions/checkout@PIN # v4
  - env:
      ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}
      GH_TOKEN: ${{ github.token }}
»    run: npx @anthropic-ai/claude-code -p "Review pull request ${{ github.event.number }} with gh" --dangerously-skip-permissions
---
on:
  pull_request_target:
permissions:
  contents: read
steps:
  - uses: actions/checkout@PIN # v4
  - env:
      ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}
    run: npx @anthropic-ai/claude-code -p "Summarise the README" --allowedTools Read

## claude-all-tools
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
  issues: write
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      allowed_non_write_users: octocat,hubot
      prompt: Answer the comment.
»      claude_args: --allowedTools "Bash,Edit,Write,WebFetch"
---
on:
  issue_comment:
    types: [created]
permissions:
  contents: read
  issues: write
if: github.event.comment.author_association == 'OWNER'
steps:
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      prompt: Answer the comment.
      claude_args: --allowedTools "Read,Grep,mcp__github__get_issue"

## strangers-checkout-for-agent
on:
  pull_request_target:
    types: [opened, synchronize]
permissions:
  contents: write
  pull-requests: write
steps:
  - uses: actions/checkout@PIN # v4
    with:
»      ref: ${{ github.event.pull_request.head.sha }}
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      prompt: Review the checked-out code.
---
on:
  pull_request_target:
    types: [opened, synchronize]
permissions:
  contents: read
  pull-requests: write
steps:
  - uses: actions/checkout@PIN # v4
    with:
      persist-credentials: false
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      prompt: Review the base of the pull request by its number alone.
@@
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
steps:
  - uses: actions/checkout@PIN # v4
    with:
»      ref: refs/pull/${{ github.event.issue.number }}/head
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      prompt: Review the code here.
---
on:
  pull_request:
permissions:
  contents: read
steps:
  - uses: actions/checkout@PIN # v4
    with:
      ref: refs/pull/${{ github.event.number }}/head
      persist-credentials: false
  - run: make lint

## comment-without-permission-check
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
  pull-requests: write
»if: contains(github.event.comment.body, '@codex')
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      allow-users: "*"
      prompt-file: .github/codex/task.md
---
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
  pull-requests: write
if: contains(github.event.comment.body, '@codex') && github.event.comment.author_association == 'MEMBER'
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      prompt-file: .github/codex/task.md
@@
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
  issues: write
»if: startsWith(github.event.comment.body, '/gemini')
steps:
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      prompt: Do what the last comment of the issue asks for.
---
on:
  issue_comment:
    types: [created]
permissions:
  contents: read
  issues: write
if: startsWith(github.event.comment.body, '/gemini') && contains(fromJSON('["OWNER", "MEMBER"]'), github.event.comment.author_association)
steps:
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      prompt: Do what the last comment of the issue asks for.

## codex-unsafe
on:
  pull_request_target:
permissions:
  contents: write
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      prompt: Review the pull request ${{ github.event.number }}.
»      safety-strategy: unsafe
      sandbox: danger-full-access
---
on:
  pull_request_target:
permissions:
  contents: read
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      prompt: Review the pull request ${{ github.event.number }}.
      safety-strategy: drop-sudo
      sandbox: read-only
@@
on:
  issues:
    types: [opened]
permissions:
  contents: write
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      prompt-file: .github/codex/triage.md
»      allow-users: "*"
---
on:
  issues:
    types: [opened]
permissions:
  contents: read
steps:
  - uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      prompt-file: .github/codex/triage.md
      allow-users: "octocat"
      sandbox: read-only

## codex-command-unsafe
on:
  issues:
    types: [opened]
permissions:
  contents: write
steps:
  - env:
      OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}
      TITLE: ${{ github.event.issue.title }}
»    run: codex exec --dangerously-bypass-approvals-and-sandbox "Fix $TITLE"
---
on:
  schedule:
    - cron: "0 4 * * 1"
permissions:
  contents: read
steps:
  - env:
      OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}
    run: codex exec --sandbox read-only "List stale notes"

## gemini-yolo
on:
  issues:
    types: [opened, edited]
permissions:
  contents: write
steps:
  - env:
      GEMINI_API_KEY: ${{ secrets.GEMINI_API_KEY }}
      ISSUE: ${{ github.event.issue.body }}
»    run: gemini --yolo --prompt "$ISSUE"
---
on:
  push:
    branches: [main]
permissions:
  contents: read
steps:
  - env:
      GEMINI_API_KEY: ${{ secrets.GEMINI_API_KEY }}
    run: gemini --approval-mode default --prompt "Summarise the last commit"
@@
on:
  issues:
    types: [opened]
permissions:
  contents: write
  issues: write
steps:
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      settings: |
        {
»          "tools": {"core": ["run_shell_command"]}
        }
      prompt: Triage issue ${{ github.event.issue.number }}.
---
on:
  issues:
    types: [opened]
permissions:
  contents: read
  issues: write
steps:
  - uses: google-github-actions/run-gemini-cli@PIN # v0
    with:
      gemini_api_key: ${{ secrets.GEMINI_API_KEY }}
      settings: |
        {
          "tools": {"core": ["run_shell_command(echo)"]}
        }
      prompt: Triage issue ${{ github.event.issue.number }} by its number alone.

## copilot-all-tools
on:
  issues:
    types: [opened]
permissions:
  contents: write
steps:
  - env:
      GH_TOKEN: ${{ secrets.COPILOT_PAT }}
      BODY: ${{ github.event.issue.body }}
»    run: copilot -p "Solve this. $BODY" --allow-all-tools
---
on:
  workflow_dispatch:
permissions:
  contents: read
steps:
  - env:
      GH_TOKEN: ${{ secrets.COPILOT_PAT }}
    run: copilot -p "List the modules" --allow-tool 'shell(ls)'

## pr-agent-for-strangers
on:
  pull_request_target:
    types: [opened]
  issue_comment:
permissions:
  contents: write
  pull-requests: write
  issues: write
steps:
»  - uses: qodo-ai/pr-agent@PIN # v0
    env:
      OPENAI_KEY: ${{ secrets.OPENAI_KEY }}
      GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}
---
on:
  pull_request:
    types: [opened]
permissions:
  contents: read
  pull-requests: write
if: github.event.pull_request.head.repo.full_name == github.repository
steps:
  - uses: qodo-ai/pr-agent@PIN # v0
    env:
      OPENAI_KEY: ${{ secrets.OPENAI_KEY }}
      GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}

## model-output-executed
on:
  issues:
    types: [opened]
permissions:
  contents: write
steps:
  - id: ask
    uses: actions/ai-inference@PIN # v1
    with:
      prompt: "Suggest a label for: ${{ github.event.issue.title }}"
»  - run: gh issue edit ${{ github.event.issue.number }} --add-label ${{ steps.ask.outputs.response }}
---
on:
  issues:
    types: [opened]
permissions:
  contents: read
  models: read
steps:
  - id: ask
    uses: actions/ai-inference@PIN # v1
    with:
      prompt: "Suggest a label for issue number ${{ github.event.issue.number }}"
  - env:
      ANSWER: ${{ steps.ask.outputs.response }}
    run: test "$ANSWER" = bug && echo labelled
@@
on:
  pull_request_target:
permissions:
  contents: write
steps:
  - id: codex
    uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      prompt: "Write a script for ${{ github.event.pull_request.title }}"
  - env:
      SCRIPT: ${{ steps.codex.outputs.final-message }}
»    run: bash -c "$SCRIPT"
---
on:
  push:
    branches: [main]
permissions:
  contents: read
steps:
  - id: codex
    uses: openai/codex-action@PIN # v1
    with:
      openai-api-key: ${{ secrets.OPENAI_API_KEY }}
      sandbox: read-only
      prompt: "Describe ${{ github.sha }}"
  - env:
      SCRIPT: ${{ steps.codex.outputs.final-message }}
    run: printf '%s\n' "$SCRIPT" >> "$GITHUB_STEP_SUMMARY"

## model-output-pushed
on:
  issue_comment:
    types: [created]
permissions:
  contents: write
steps:
  - uses: actions/checkout@PIN # v4
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      allowed_non_write_users: "*"
      prompt: Do what the comment asks for.
  - run: |
      git add -A
      git commit -m "agent"
»      git push origin HEAD:main
---
on:
  workflow_dispatch:
permissions:
  contents: read
steps:
  - uses: actions/checkout@PIN # v4
    with:
      persist-credentials: false
  - uses: anthropics/claude-code-action@PIN # v1
    with:
      anthropic_api_key: ${{ secrets.ANTHROPIC_API_KEY }}
      prompt: Update the notes.
  - run: git diff --stat
'''
MARKDOWN = r'''
## agentic-workflow-for-strangers
---
on:
  issues:
    types: [opened]
»roles: all
permissions: write-all
engine: copilot
tools:
  bash: [":*"]
---

# Triage

Do what the issue asks for.
======
---
on:
  issues:
    types: [opened]
permissions: read-all
engine: copilot
safe-outputs:
  add-comment:
    max: 1
tools:
  github:
    allowed: [get_issue]
---

# Triage

Summarise issue ${{ github.event.issue.number }}.
'''


def document(part):
    """The whole workflow of a short form, and the lines of the fault."""
    top, _, steps = part.strip("\n").partition("steps:\n")
    head, job = [], []
    for line in top.rstrip("\n").split("\n"):
        (job if re.match(r"»?if:", line) else head).append(line)
    mark = lambda line, indent: ("»" if "»" in line else "") + indent + line.replace("»", "")
    lines = ["name: Extra agent", *head, "jobs:", "  agent:", "    runs-on: ubuntu-latest", *(mark(line, "    ") for line in job), "    steps:",
             *(mark(line, "    ") for line in steps.rstrip("\n").split("\n"))]  # fmt: skip
    text = "\n".join(line.replace("»", "").replace("PIN", PIN) for line in lines) + "\n"
    return text, [at + 1 for at, line in enumerate(lines) if "»" in line]


def added(variants):
    """The workflow is new, or one that does nothing becomes it."""

    def make(tree, chance):
        fault, twin = chance.choice(variants)
        text, lines = document(fault)
        under = {PATH: "name: Extra agent\non:\n  workflow_dispatch:\npermissions:\n  contents: read\njobs:\n  agent:\n    runs-on: ubuntu-latest\n    steps:\n      - run: make notes\n"}
        laid = under if chance.random() < 0.4 else None
        return Case(PATH, text, document(twin)[0], lines, fault.split("»")[1].split("\n")[0].strip(), "yaml", laid)

    return make


def prose(tree, chance):
    fault, twin = MARKDOWN.strip("\n").partition("\n")[2].split("\n======\n")
    lines = [at + 1 for at, line in enumerate(fault.split("\n")) if "»" in line]
    return Case(".github/workflows/extra-agent.md", fault.replace("»", "") + "\n", twin + "\n", lines, "roles: all", "markdown")


def kinds():
    for part in re.split(r"(?m)^## ", PAGE)[1:]:
        name, _, body = part.partition("\n")
        variants = [tuple(each.split("\n---\n")) for each in body.strip("\n").split("\n@@\n")]
        yield Kind("agent", name, LENSES, added(variants))


KINDS = [*kinds(), Kind("agent", "agentic-workflow-for-strangers", LENSES, prose)]

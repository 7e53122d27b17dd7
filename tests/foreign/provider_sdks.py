"""The providers' own SDKs hold our requests to their types, send the same, and read the answers of our tests.

    provider_sdks.py < [{"surface": …, "body": …, "answer": …}, …]

Prints a JSON list, an object for each: what the types say about the body, what the SDK sent when it was given the body's members as
arguments, what it read from the answer, and what both SDKs make of the schema in the body, whoever it is for. The server is on loopback
and ends with the program.
"""

import copy
import http.server
import json
import sys
import threading
import typing

import anthropic
import openai
import typing_extensions
from anthropic.types import Message, message_create_params
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat import ChatCompletion, completion_create_params
from openai.types.responses import Response, response_create_params

KEY = "local-key-of-a-test"
PARAMS = {
    "openai.responses": response_create_params.ResponseCreateParamsNonStreaming,
    "openai.chat": completion_create_params.CompletionCreateParamsNonStreaming,
    "anthropic.messages": message_create_params.MessageCreateParamsNonStreaming,
}
SCHEMAS = {
    "openai.responses": ("text", "format", "schema"),
    "openai.chat": ("response_format", "json_schema", "schema"),
    "anthropic.messages": ("output_config", "format", "schema"),
}
ANSWERS = {"openai.responses": Response, "openai.chat": ChatCompletion, "anthropic.messages": Message}


def faults(value, wanted, at=""):
    """Why a value is not of a type, as places; a dictionary may have no key that its type does not know."""
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is typing.Any or wanted is object:
        return []
    if origin in (typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired, typing.Annotated):
        return faults(value, arguments[0], at)
    if origin is typing.Literal:
        return [] if value in arguments else [f"{at}: {value!r} is none of {arguments}"]
    if typing_extensions.is_typeddict(wanted):
        if not isinstance(value, dict):
            return [f"{at}: no object"]
        hints = typing_extensions.get_type_hints(wanted, include_extras=True)
        found = [f"{at}/{key}: unknown" for key in value if key not in hints]
        found += [f"{at}/{key}: missing" for key in wanted.__required_keys__ if key not in value]
        return found + [fault for key in value if key in hints for fault in faults(value[key], hints[key], f"{at}/{key}")]
    if origin is typing.Union or type(wanted).__name__ == "UnionType":
        each = [faults(value, one, at) for one in arguments]
        return min(each, key=len) if all(each) else []
    if value is None or wanted is type(None):
        return [] if value is None and wanted in (None, type(None)) else [f"{at}: {value!r} is no {wanted}"]
    if origin is not None and isinstance(origin, type) and issubclass(origin, typing.Mapping):
        if not isinstance(value, dict):
            return [f"{at}: no object"]
        return [fault for key in value for fault in faults(value[key], arguments[1], f"{at}/{key}")]
    if origin is not None:
        if not isinstance(value, list):
            return [f"{at}: no list"]
        return [fault for index, one in enumerate(value) for fault in faults(one, arguments[0], f"{at}/{index}")]
    if wanted is float:
        return [] if isinstance(value, (int, float)) and not isinstance(value, bool) else [f"{at}: no number"]
    if wanted is int:
        return [] if isinstance(value, int) and not isinstance(value, bool) else [f"{at}: no integer"]
    return [] if isinstance(wanted, type) and isinstance(value, wanted) else [f"{at}: {value!r} is no {wanted}"]


def served(answer):
    """A server that gives one answer, and the list where requests go."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            names = ("authorization", "anthropic-version", "content-type")
            headers = {name: self.headers[name] for name in names if self.headers[name]}
            requests.append({"path": self.path, "headers": headers, "body": json.loads(body)})
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", requests


def read(surface, address, body):
    """The answer's text and tokens as the SDK understands them."""
    if surface == "anthropic.messages":
        client = anthropic.Anthropic(api_key=KEY, base_url=address, max_retries=0)
        answer = client.messages.create(**body)
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, answer.usage.input_tokens, answer.usage.output_tokens
    client = openai.OpenAI(api_key=KEY, base_url=f"{address}/v1", max_retries=0)
    if surface == "openai.chat":
        answer = client.chat.completions.create(**body)
        return answer.choices[0].message.content, answer.usage.prompt_tokens, answer.usage.completion_tokens
    answer = client.responses.create(**body)
    return answer.output_text, answer.usage.input_tokens, answer.usage.output_tokens


def adapted(surface, body):
    """The schema in a body as it would be if each SDK had made it: within what the API takes, and the rest in descriptions."""
    schema = body
    for member in SCHEMAS[surface]:
        schema = schema[member]
    strict = copy.deepcopy(schema)
    result = {"given": schema, "openai": _ensure_strict_json_schema(strict, path=(), root=strict), "anthropic": None}
    try:
        result["anthropic"] = anthropic.transform_schema(copy.deepcopy(schema))
    except (AssertionError, ValueError):
        pass
    return result


def judged(surface, body, answer):
    result = {"faults": faults(body, PARAMS[surface]), "sent": None, "read": None, "refused": None}
    result["schema"] = adapted(surface, body)
    address, requests = served(answer)
    try:
        result["read"] = read(surface, address, body)
        ANSWERS[surface].model_validate(answer, strict=True)
    except (TypeError, ValueError) as error:
        result["refused"] = str(error)[:300]
    if requests:
        result["sent"] = requests[0]
    return result


print(json.dumps([judged(**case) for case in json.load(sys.stdin)]))

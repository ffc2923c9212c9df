"""As much of JSON Schema as the schemas in `schemas/` need, so that an eval needs no package for it."""

import json
import re
from pathlib import Path

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "null": type(None)}


def mistakes(name: str, value) -> list[str]:
    """What in `value` breaks the schema `name`."""
    schema = json.loads((SCHEMAS / name).read_text())
    return list(_check(schema, value, schema, "$"))


def _check(schema: dict, value, root: dict, at: str):
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    unknown = set(schema) - {
        *("$schema", "$id", "$defs", "title", "description", "type", "enum", "oneOf", "pattern", "minimum"),
        *("properties", "required", "additionalProperties", "items"),
    }
    if unknown:
        raise NotImplementedError(f"{at}: {unknown}")
    types = schema.get("type")
    if types is not None:
        types = [types] if isinstance(types, str) else types
        fits = any(isinstance(value, TYPES[name]) and not (name == "integer" and isinstance(value, bool)) for name in types)
        if not fits:
            yield f"{at}: {value!r} is no {' or '.join(types)}"
            return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "oneOf" in schema and sum(not list(_check(one, value, root, at)) for one in schema["oneOf"]) != 1:
        yield f"{at}: {value!r} fits none or several forms"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and isinstance(value, int) and value < schema["minimum"]:
        yield f"{at}: {value} is too small"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value)
        if schema.get("additionalProperties") is False:
            yield from (f"{at}: {name} is not known" for name in value if name not in known)
        for name, part in value.items():
            if name in known:
                yield from _check(known[name], part, root, f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for index, part in enumerate(value):
            yield from _check(schema["items"], part, root, f"{at}[{index}]")

"""Describe the doctor's JSON for the programs that read it, as a JSON Schema.

It is made from the records themselves, so it cannot fall behind them.

Kind:    plumbing
Public:  VERSION, schema
Imports: facts, finding, rules and the standard library
"""

from __future__ import annotations

import dataclasses

__all__ = ["VERSION", "schema"]

# changes when a key changes its meaning or goes away; new keys do not change it
VERSION = 1

PLAIN = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "tuple": {"type": "array"},
    "Mapping": {"type": "object"},
    "None": {"type": "null"},
}
STATUSES = ["ok", "note", "warning", "problem", "unknown"]


def schema() -> dict:
    """Return the schema of what ``doctor --json`` prints."""
    from course_utils.doctor import facts, finding, rules

    records = [getattr(facts, name) for name in facts.__all__ if name != "gather"]
    records += [finding.Finding, rules.Verdict]
    described = {record.__name__: _record(record) for record in records}
    described["Finding"]["properties"]["status"] = {"enum": STATUSES}
    described["Finding"]["properties"]["stops"] = {"enum": ["", "course", "compile"]}
    described["Verdict"]["properties"]["code"] = {"enum": [0, 1, 2]}
    return {
        "title": "What the doctor found on one machine",
        "type": "object",
        "properties": {
            "schema": {"const": VERSION},
            "verdict": {"$ref": "#/$defs/Verdict"},
            "findings": {"type": "array", "items": {"$ref": "#/$defs/Finding"}},
            "facts": {"$ref": "#/$defs/Facts"},
        },
        "required": ["schema", "verdict", "findings", "facts"],
        "$defs": described,
    }


def _record(record):
    fields = dataclasses.fields(record)
    return {
        "type": "object",
        "description": record.__doc__.partition("\n\n")[0].replace("\n    ", " "),
        "properties": {field.name: _type(field.type) for field in fields},
        "required": [field.name for field in fields],
    }


def _type(written):
    # annotations are text here, such as "Machine | None"
    parts = [PLAIN.get(part.strip()) or _reference(part.strip()) for part in written.split("|")]
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def _reference(name):
    return {"$ref": f"#/$defs/{name}"}

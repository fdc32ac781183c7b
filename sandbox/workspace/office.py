"""A minimal spreadsheet and a minimal text document (ECMA-376, parts 1 and 2), for tools that read nothing else."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_MAIN = "http://schemas.openxmlformats.org"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "application/vnd.openxmlformats-officedocument"
_ROWS: tuple[tuple[str | int, ...], ...] = (("id", "name", "amount"), (1, "alpha", 10), (2, "beta", 20))


def spreadsheet() -> bytes:
    """A workbook with one sheet, ``Sheet1``, that holds a small table from A1 to C3."""
    cells = "".join(
        f'<row r="{number}">{"".join(_cell(value, f"{column}{number}") for column, value in zip("ABC", row, strict=True))}</row>'
        for number, row in enumerate(_ROWS, 1)
    )
    return _package(
        "xl/workbook.xml",
        f"{_OFFICE}.spreadsheetml.sheet.main+xml",
        {
            "xl/workbook.xml": f'<workbook xmlns="{_MAIN}/spreadsheetml/2006/main" xmlns:r="{_MAIN}/officeDocument/2006/relationships">'
            '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": _relations("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>',
        },
        {"xl/worksheets/sheet1.xml": f"{_OFFICE}.spreadsheetml.worksheet+xml"},
    )


def document() -> bytes:
    """A document of two paragraphs."""
    paragraphs = "".join(
        f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in ("A document about alpha.", "The end.")
    )
    body = (
        f'<w:document xmlns:w="{_MAIN}/wordprocessingml/2006/main"><w:body>{paragraphs}</w:body></w:document>'
    )
    return _package(
        "word/document.xml", f"{_OFFICE}.wordprocessingml.document.main+xml", {"word/document.xml": body}, {}
    )


def _cell(value: str | int, at: str) -> str:
    if isinstance(value, int):
        return f'<c r="{at}"><v>{value}</v></c>'
    return f'<c r="{at}" t="inlineStr"><is><t>{value}</t></is></c>'


def _relations(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_MAIN}/package/2006/relationships">'
        f'<Relationship Id="rId1" Type="{_MAIN}/officeDocument/2006/relationships/{kind}" Target="{target}"/></Relationships>'
    )


def _package(main: str, kind: str, parts: Mapping[str, str], kinds: Mapping[str, str]) -> bytes:
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{of}"/>' for name, of in {main: kind, **kinds}.items()
    )
    types = (
        f'<Types xmlns="{_MAIN}/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f"{overrides}</Types>"
    )
    whole = {"[Content_Types].xml": types, "_rels/.rels": _relations("officeDocument", main), **parts}
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, text in whole.items():
            # Without a date of its own an entry would carry the time of the run.
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), _HEAD + text)
    return target.getvalue()

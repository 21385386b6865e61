"""Plain libraries as tools: as they are where a library has types, else wrapped by one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import babel.dates
import babel.numbers
import dateparser
import dateutil.parser
import dateutil.rrule
import holidays
import icalendar
import jinja2
import jsonschema
import markdown
import networkx
import numpy
import openpyxl
import pandas
import phonenumbers
import pint
import pypdf
import qrcode
import rapidfuzz
import slugify
import sympy
import tomlkit
import yaml
from PIL import Image


def convert_units(value: float, unit: str, to: str) -> object:
    """Convert a quantity into another unit."""
    return pint.UnitRegistry().Quantity(value, unit).to(to)


def parse_units(text: str) -> object:
    """Read a quantity such as "3 km/h"."""
    return pint.UnitRegistry().parse_expression(text)


def parse_date(text: str, dayfirst: bool = False) -> datetime:
    """Read a date that somebody wrote."""
    return dateutil.parser.parse(text, dayfirst=dayfirst)


def recurring_dates(rule: str, start: datetime) -> list[datetime]:
    """List the dates of a recurrence rule (RFC 5545)."""
    return list(dateutil.rrule.rrulestr(rule, dtstart=start))


def words_to_date(
    text: str, language: Literal["en", "de", "fr"] = "en", zone: str = "UTC"
) -> datetime | None:
    """Read a date in words."""
    return dateparser.parse(text, languages=[language], settings={"TIMEZONE": zone})


def read_table(path: str) -> pandas.DataFrame:
    """Read a CSV file as a table."""
    return pandas.read_csv(path)


def describe_table(path: str, column: str) -> pandas.Series:
    """Describe a column of a CSV file."""
    return pandas.read_csv(path)[column].describe()


def table_rows(path: str, where: str) -> pandas.DataFrame:
    """Find rows of a CSV file by an expression such as "price > 3"."""
    return pandas.read_csv(path).query(where)


def solve_equations(matrix: list[list[float]], right: list[float]) -> numpy.ndarray:
    """Solve a system of linear equations."""
    return numpy.linalg.solve(matrix, right)


def percentile(values: list[float], percent: float) -> numpy.float64:
    """Find a percentile of numbers."""
    return numpy.percentile(values, percent)


def factor(expression: str) -> sympy.Expr:
    """Factor an expression."""
    return sympy.factor(expression)


def solve(equation: str, variable: str) -> list[Any]:
    """Solve an equation that is zero for a variable."""
    return sympy.solve(sympy.sympify(equation), sympy.Symbol(variable))


def read_phone(number: str, region: str) -> phonenumbers.PhoneNumber:
    """Read a phone number as dialled in a country."""
    return phonenumbers.parse(number, region)


def phone_format(number: str, style: Literal["E164", "RFC3966"]) -> str:
    """Spell a phone number in a standard way."""
    return phonenumbers.format_number(
        phonenumbers.parse(number), getattr(phonenumbers.PhoneNumberFormat, style)
    )


def money(amount: Decimal, currency: str, locale: str) -> str:
    """Spell an amount of money as people of a country do."""
    return babel.numbers.format_currency(amount, currency, locale=locale)


def date_words(day: date, locale: str, style: Literal["short", "medium", "long", "full"] = "long") -> str:
    """Spell a date as people of a country do."""
    return babel.dates.format_date(day, style, locale=locale)


def number_value(text: str, locale: str) -> Decimal:
    """Read a number as people of a country write it."""
    return babel.numbers.parse_decimal(text, locale=locale, strict=True)


def html(text: str, extensions: list[str] = []) -> str:  # noqa: B006 - as people write it
    """Make HTML of Markdown."""
    return markdown.markdown(text, extensions=extensions)


def fill_template(template: str, values: dict[str, str]) -> str:
    """Fill in a Jinja template."""
    return jinja2.Template(template, undefined=jinja2.StrictUndefined).render(values)


def shortest_way(roads: list[tuple[str, str]], start: str, end: str) -> list[str]:
    """Find the shortest way in a graph."""
    return networkx.shortest_path(networkx.Graph(roads), start, end)


def page_rank(links: list[tuple[str, str]], damping: float = 0.85) -> dict[str, float]:
    """Rank pages by the links between them."""
    return networkx.pagerank(networkx.DiGraph(links), alpha=damping)


def work_order(needs: list[tuple[str, str]]) -> object:
    """Order tasks so that each comes after what it needs."""
    return networkx.topological_sort(networkx.DiGraph(needs))


def hamming(one: str, other: str) -> int:
    """Count the places in which two texts differ."""
    return rapidfuzz.distance.Hamming.distance(one, other, pad=False)


def public_holidays(country: str, year: int) -> holidays.HolidayBase:
    """List the public holidays of a country."""
    return holidays.country_holidays(country, years=year)


def calendar_events(text: str) -> list[icalendar.Event]:
    """Read the events of a calendar in iCalendar form."""
    return icalendar.Calendar.from_ical(text).walk("VEVENT")


def qr_code(text: str, version: int | None = None) -> bytes:
    """Draw a QR code as PNG."""
    code = qrcode.QRCode(version)
    code.add_data(text)
    code.make(fit=version is None)
    code.make_image().save(drawn := io.BytesIO())
    return drawn.getvalue()


def qr_picture(text: str) -> object:
    """Draw a QR code."""
    return qrcode.make(text)


def pdf_pages(path: str) -> list[pypdf.PageObject]:
    """List the pages of a PDF file."""
    return list(pypdf.PdfReader(path).pages)


def pdf_facts(path: str) -> object:
    """Read what a PDF file says of itself."""
    return pypdf.PdfReader(path).metadata


def sheet_rows(path: str, sheet: str) -> list[tuple[Any, ...]]:
    """Read the rows of a sheet of an Excel file."""
    return list(openpyxl.load_workbook(path)[sheet].iter_rows(values_only=True))


def write_cell(path: str, cell: str, value: str | float) -> None:
    """Write a cell of an Excel file."""
    book = openpyxl.load_workbook(path)
    book.active[cell] = value
    book.save(path)


def read_yaml(text: str) -> object:
    """Read YAML."""
    return yaml.safe_load(text)


def read_toml(text: str) -> tomlkit.TOMLDocument:
    """Read TOML."""
    return tomlkit.parse(text)


def check_json(value: Any, schema: dict[str, Any]) -> None:
    """Check a value by a JSON schema."""
    jsonschema.validate(value, schema)


def thumbnail(path: str, width: int, height: int) -> Image.Image:
    """Make a picture smaller."""
    picture = Image.open(path)
    picture.thumbnail((width, height))
    return picture


def picture_colour(path: str, x: int, y: int) -> object:
    """Say which colour a point of a picture has."""
    return Image.open(path).getpixel((x, y))


def save_picture(path: str, colour: str) -> None:
    """Save a picture of one colour."""
    Image.new("RGB", (4, 4), colour).save(path)


def write_files(folder: Path) -> None:
    """Write the files that these tools read."""
    (folder / "fruit.csv").write_text("name,price,since\nfig,3.5,2026-01-02\nlime,,\n", "utf-8")
    book = openpyxl.Workbook()
    book.active.title = "Stock"
    book.active.append(["fig", 3, date(2026, 1, 2)])
    book.save(folder / "stock.xlsx")
    paper = pypdf.PdfWriter()
    paper.add_blank_page(200, 100)
    paper.add_metadata({"/Title": "An empty page"})
    paper.write(folder / "paper.pdf")
    Image.new("RGB", (40, 20), "navy").save(folder / "navy.png")


TOOLS: tuple[Callable[..., object], ...] = (
    *(slugify.slugify, tomlkit.loads, holidays.country_holidays),
    *(babel.numbers.format_currency, numpy.linalg.det, yaml.safe_load, sympy.isprime, jsonschema.validate),
    *(convert_units, parse_units, parse_date, recurring_dates, words_to_date),
    *(read_table, describe_table, table_rows, solve_equations, percentile, factor, solve),
    *(read_phone, phone_format, money, date_words, number_value, html, fill_template),
    *(shortest_way, page_rank, work_order, hamming, public_holidays),
    *(calendar_events, qr_code, qr_picture, pdf_pages, pdf_facts, sheet_rows, write_cell),
    *(read_yaml, read_toml, check_json, thumbnail, picture_colour, save_picture),
)

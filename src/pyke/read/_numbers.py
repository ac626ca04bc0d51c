"""Compiled parsers of numbers and dates in literals. An invalid text gives NaN."""

from __future__ import annotations

import numpy as np

from pyke.core.arrays import Bytes
from pyke.core.compile import kernel
from pyke.read._characters import COLON, DOT, HYPHEN, IS_DIGIT, SPACE

PLUS, T, Z, E = 43, 84, 90, 101
MAX_MANTISSA = 10**17  # further digits change nothing that a float64 can show
MAX_POWER = 9999
MAX_YEAR_DIGITS = 9
SECONDS_PER_DAY = 86400.0


@kernel
def _trim(text: Bytes, end: int) -> tuple[int, int]:
    """text[:end] → where it begins and ends without white space."""
    k = 0
    while k < end and text[k] <= SPACE:
        k += 1
    while end > k and text[end - 1] <= SPACE:
        end -= 1
    return k, end


@kernel
def _scaled(mantissa: int, exponent: int) -> float:
    """mantissa · 10^exponent, or NaN if it is too large for a float64."""
    value = np.float64(mantissa)
    if exponent < -300:
        value /= 1e300
        exponent = max(exponent + 300, -300)
    if exponent < 0:
        return value / 10.0 ** np.float64(-exponent)
    if exponent > 308:
        return np.nan
    value *= 10.0 ** np.float64(exponent)
    return value if value < np.inf else np.nan


@kernel
def parse_number(text: Bytes, size: int) -> float:
    """text[:size] → its value: an optional sign, digits, fraction and exponent.

    Equal numbers have equal values, however they are written: 1.50, 15e-1.
    """
    k, end = _trim(text, size)
    negative = k < end and text[k] == HYPHEN
    if k < end and (text[k] == HYPHEN or text[k] == PLUS):
        k += 1
    mantissa, exponent, digits, point = 0, 0, 0, False
    while k < end and (IS_DIGIT[text[k]] or (text[k] == DOT and not point)):
        if text[k] == DOT:
            point = True
        else:
            digits += 1
            if mantissa < MAX_MANTISSA:
                mantissa = 10 * mantissa + (text[k] - 48)
                exponent -= point
            else:
                exponent += not point
        k += 1
    if digits and k < end and text[k] | 32 == E:
        k += 1
        sign = -1 if k < end and text[k] == HYPHEN else 1
        if k < end and (text[k] == HYPHEN or text[k] == PLUS):
            k += 1
        digits = power = 0
        while k < end and IS_DIGIT[text[k]]:
            digits += 1
            power = min(10 * power + (text[k] - 48), MAX_POWER)
            k += 1
        exponent += sign * power
    if digits == 0 or k != end:
        return np.nan
    if mantissa == 0:
        return 0.0
    while mantissa % 10 == 0:
        mantissa //= 10
        exponent += 1
    value = _scaled(mantissa, exponent)
    return -value if negative else value


@kernel
def _two_digits(text: Bytes, k: int, end: int) -> int:
    """Value of the two digits at k, or −1."""
    if k + 2 > end or not IS_DIGIT[text[k]] or not IS_DIGIT[text[k + 1]]:
        return -1
    return 10 * (text[k] - 48) + (text[k + 1] - 48)


@kernel
def _part(text: Bytes, k: int, end: int) -> int:
    """Value of the month or day `-12` at k, or −1. A time zone such as `-05:00` is none."""
    if k >= end or text[k] != HYPHEN or (k + 3 < end and text[k + 3] == COLON):
        return -1
    return _two_digits(text, k + 1, end)


@kernel
def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the Gregorian calendar, extended to all years."""
    y = year - (month <= 2)
    era = y // 400
    of_era = y - 400 * era
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@kernel
def _time(text: Bytes, k: int, end: int) -> tuple[int, float]:
    """Scan the time `T12:30:00.5` at k: (position after it, seconds), or (−1, 0)."""
    hours, minutes, seconds = (
        _two_digits(text, k + 1, end),
        _two_digits(text, k + 4, end),
        _two_digits(text, k + 7, end),
    )
    if seconds < 0 or text[k + 3] != COLON or text[k + 6] != COLON:
        return -1, 0.0
    if hours < 0 or hours > 24 or minutes < 0 or minutes > 59 or seconds > 60:
        return -1, 0.0
    value = np.float64(3600 * hours + 60 * minutes + seconds)
    k += 9
    if k < end and text[k] == DOT:
        k += 1
        unit, start = 0.1, k
        while k < end and IS_DIGIT[text[k]]:
            value += unit * np.float64(text[k] - 48)
            unit /= 10.0
            k += 1
        if k == start:
            return -1, 0.0
    return k, value


@kernel
def _zone(text: Bytes, k: int, end: int) -> tuple[int, float]:
    """Scan the time zone at k, if there is one: (position after it, seconds east of UTC)."""
    if k < end and text[k] == Z:
        return k + 1, 0.0
    if k < end and (text[k] == PLUS or text[k] == HYPHEN):
        hours, minutes = _two_digits(text, k + 1, end), _two_digits(text, k + 4, end)
        if hours < 0 or hours > 14 or minutes < 0 or minutes > 59 or text[k + 3] != COLON:
            return -1, 0.0
        seconds = np.float64(3600 * hours + 60 * minutes)
        return k + 6, seconds if text[k] == PLUS else -seconds
    return k, 0.0


@kernel
def parse_date(text: Bytes, size: int) -> float:
    """text[:size] → seconds from 1970: 2007, 2007-05, 2007-05-31 or 2007-05-31T12:30:00.5Z.

    A time zone may follow each form. The calendar is not checked: 31 days are valid in any month.
    """
    k, end = _trim(text, size)
    negative = k < end and text[k] == HYPHEN
    k += negative
    start, year = k, 0
    while k < end and IS_DIGIT[text[k]] and k - start < MAX_YEAR_DIGITS:
        year = 10 * year + (text[k] - 48)
        k += 1
    if k - start < 4:
        return np.nan
    month, day, seconds = 1, 1, 0.0
    if _part(text, k, end) >= 0:
        month = _part(text, k, end)
        k += 3
        if _part(text, k, end) >= 0:
            day = _part(text, k, end)
            k += 3
            if k < end and text[k] == T:
                k, seconds = _time(text, k, end)
                if k < 0:
                    return np.nan
    k, zone = _zone(text, k, end)
    if k != end or month < 1 or month > 12 or day < 1 or day > 31:
        return np.nan
    return _days(-year if negative else year, month, day) * SECONDS_PER_DAY + seconds - zone

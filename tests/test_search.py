"""Nearest neighbours, beside a plain double loop."""

from __future__ import annotations

"""Constants: the size of each unit in base units."""

from __future__ import annotations

from fractions import Fraction

KIB = 2**10
MIB = 2**20
GIB = 2**30
THOUSAND = 10**3
MILLION = 10**6
GB = 10**9
BILLION = 10**9
TERA = 10**12
GBIT = GB // 8
"""A link of 1 Gbit/s in bytes per second."""
HOUR_S = 3600
MONTH_HOURS = 730
YEAR_HOURS = 8760
KWH = THOUSAND * HOUR_S
"""A kilowatt-hour in joules."""
CFM = Fraction(3048, 10000) ** 3 / 60
"""A cubic foot per minute in cubic metres per second."""
L_PER_MIN = Fraction(1, 60_000)
"""A litre per minute in cubic metres per second."""
BTU_PER_HOUR_W = Fraction("0.29307107")
"""A British thermal unit (International Table) per hour in watts: NIST SP 811 (2008), appendix B.8."""
TON_W = 12 * THOUSAND * BTU_PER_HOUR_W
"""A ton of refrigeration in watts."""

"""What must hold, checked and said line by line."""

import statistics

# Growth of the second half's median over the first's that is still called flat: what an allocator
# moves about. A leak of a byte for each request would be ten times that in ten minutes.
FLAT_RATIO, FLAT_KIB = 1.05, 1024
# Seconds at the start that are not compared: every buffer is made once.
WARMUP_S = 10


class Checks:
    """Whether all that was checked held."""

    def __init__(self):
        self.passed = True

    def check(self, what, holds, found):
        self.passed &= bool(holds)
        print(f"{'ok  ' if holds else 'FAIL'}  {what}: {found}", flush=True)

    def is_flat(self, what, curve_kib):
        """The second half of the samples, one each second, must be no more than the first."""
        curve = curve_kib[WARMUP_S:]
        half = len(curve) // 2
        first, second = statistics.median(curve[:half]), statistics.median(curve[half:])
        self.check(what, second <= max(first * FLAT_RATIO, first + FLAT_KIB),
                   f"{first / 1024:.1f} MiB in the first half, {second / 1024:.1f} in the second")

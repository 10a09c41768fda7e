"""Times as text, such as `2026-11-15T22:44:32.5+01:00`, as nanoseconds since 1970."""

from cbnet._kernels.intrinsics cimport add_overflows, multiply_overflows

cdef enum:
    NANOSECONDS = 1000000000

cdef struct Text:
    const uint8_t *at
    const uint8_t *end


cdef int _number(Text *text, int digits) noexcept nogil:
    """Read a number of as many digits; -1 if they are not there."""
    cdef int number = 0
    if text.end - text.at < digits:
        return -1
    for _ in range(digits):
        if not c'0' <= text.at[0] <= c'9':
            return -1
        number = 10 * number + text.at[0] - c'0'
        text.at += 1
    return number


cdef int _after(Text *text, uint8_t mark, int digits, int most) noexcept nogil:
    """Read a mark and a number of at most `most`; -1 if they are not there."""
    cdef int number
    if text.at == text.end or text.at[0] != mark:
        return -1
    text.at += 1
    number = _number(text, digits)
    return number if number <= most else -1


cdef int _fraction(Text *text) noexcept nogil:
    """Read one to nine digits after a point; return the nanoseconds."""
    cdef int number = 0
    cdef int digits = 0
    text.at += 1
    while text.at < text.end and c'0' <= text.at[0] <= c'9' and digits < 9:
        number = 10 * number + text.at[0] - c'0'
        text.at += 1
        digits += 1
    if digits == 0:
        return -1
    for _ in range(9 - digits):
        number *= 10
    return number


cdef int64_t _days(int year, int month, int day) noexcept nogil:
    """Return the days since 1970 of a date of the Gregorian calendar; a year begins in March, so a leap day is its last."""
    cdef int64_t years = year - (month <= 2)
    cdef int64_t day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return 365 * years + years // 4 - years // 100 + years // 400 + day_of_year - 719468


cdef int _month_days(int year, int month) noexcept nogil:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


cdef bint _read_clock(Text *text, int64_t *seconds, int *fraction) noexcept nogil:
    """Read the time of a day and its zone, if there is one."""
    cdef int hour, minute, offset_hour, offset_minute
    cdef int second = 0
    cdef int sign
    if text.at[0] not in (c'T', c't', c' '):
        return False
    hour = _after(text, text.at[0], 2, 23)
    minute = _after(text, c':', 2, 59)
    if hour < 0 or minute < 0:
        return False
    if text.at < text.end and text.at[0] == c':':
        second = _after(text, c':', 2, 59)
        if second >= 0 and text.at < text.end and text.at[0] == c'.':
            fraction[0] = _fraction(text)
        if second < 0 or fraction[0] < 0:
            return False
    seconds[0] += hour * 3600 + minute * 60 + second
    if text.at < text.end and text.at[0] in (c'Z', c'z'):
        text.at += 1
    elif text.at < text.end:
        sign = -1 if text.at[0] == c'-' else 1
        offset_hour = _after(text, c'-' if sign < 0 else c'+', 2, 23)
        offset_minute = _after(text, c':', 2, 59)
        if offset_hour < 0 or offset_minute < 0:
            return False
        seconds[0] -= sign * (offset_hour * 3600 + offset_minute * 60)
    return True


cdef bint read_time(const uint8_t *text, Py_ssize_t length, int64_t *whole, double *real) noexcept nogil:
    """Read a date, or a date and a time; return whether it is valid."""
    cdef Text rest
    cdef int year, month, day
    cdef int fraction = 0
    cdef int64_t seconds, scaled
    rest.at = text
    rest.end = text + length
    year = _number(&rest, 4)
    month = _after(&rest, c'-', 2, 12)
    day = _after(&rest, c'-', 2, 31)
    if year < 1 or month < 1 or day < 1 or day > _month_days(year, month):
        return False
    seconds = _days(year, month, day) * 86400
    if rest.at < rest.end and not _read_clock(&rest, &seconds, &fraction):
        return False
    if rest.at != rest.end:
        return False
    real[0] = 0
    if seconds >= 0:
        if not multiply_overflows(seconds, NANOSECONDS, whole) and not add_overflows(whole[0], fraction, whole):
            return True
    elif not multiply_overflows(seconds + 1, NANOSECONDS, whole) and not add_overflows(whole[0], fraction - NANOSECONDS, whole):
        return True
    # Beyond 64 bits: 10**9 is 5**9 * 512, so the nearest float of a number of 59 bits, whose last stands for all below.
    scaled = seconds * 1953125 + fraction // 512
    if fraction % 512:
        scaled |= 1
    real[0] = <double> scaled * 512.0
    whole[0] = 0
    return True

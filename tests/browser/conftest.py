from support.chromium import browser, chromium  # noqa: F401

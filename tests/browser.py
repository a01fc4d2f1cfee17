"""Tabs of a real browser, which the fixture `browser` starts."""

#: What a page has once all its figures are drawn.
DRAWN = "html[data-drawn]"


def visit(browser, file, **settings):
    """A tab with the page, after its figures are drawn, that notes anything unexpected."""
    context = browser.new_context(accept_downloads=True, **settings)
    tab = context.new_page()
    tab.requests, tab.trouble = [], []
    tab.on("request", lambda request: tab.requests.append(request.url))
    tab.on("pageerror", lambda error: tab.trouble.append(str(error)))
    tab.on("console", lambda said: tab.trouble.append(said.text))
    tab.on("dialog", lambda dialog: tab.trouble.append(dialog.message))
    tab.goto(file.absolute().as_uri())
    tab.wait_for_selector(DRAWN, state="attached", timeout=60_000)
    return tab

"""The story and the layout, in a real browser, of the explorer's server; its scenes need none."""

import re

import pytest
from browsing import look, slide, text, wait

SCENES = ("teacher", "students", "jump", "ball", "crowd")
WIDTHS = (390, 768, 1100, 1440)


@pytest.fixture
def visit(opened, explorer):
    def ready(fragment="", **options):
        page = opened(explorer.address + fragment, **{"reduced_motion": "reduce", **options})
        wait(
            page, "document.documentElement.dataset.ready && document.documentElement.dataset.story"
        )
        return page

    return ready


def texts(page, selector):
    return page.evaluate(f"[...document.querySelectorAll('{selector}')].map(e => e.textContent)")


def numbers(page, picture):
    """The percentages in a picture's tables, four for each."""
    found = [int(entry.removesuffix(" %")) for entry in texts(page, f"#{picture} .number")]
    return [found[k : k + 4] for k in range(0, len(found), 4)]


def test_the_teacher_mixes_meaning_and_position(visit):
    page = visit()
    meaning, position, both = numbers(page, "teacher-picture")
    assert position == [60, 40, 40, 60]
    for percent, same in ((0, meaning), (100, position)):
        slide(page, "story-omega", percent)
        assert numbers(page, "teacher-picture")[2] == same
    page.click("#teacher-next")
    changed, place, _ = numbers(page, "teacher-picture")
    assert changed != meaning
    assert place == position
    assert texts(page, "#teacher-picture .word")[:4] == ["cats", "sleep"] * 2
    assert both not in (meaning, position)


def test_one_student_follows_the_words_and_the_other_does_not(visit):
    page = visit()
    _, semantic, positional = numbers(page, "students-picture")
    page.click("#students-swap")
    _, turned, same = numbers(page, "students-picture")
    assert turned == semantic[::-1]
    assert turned != semantic
    assert same == positional


def test_the_best_student_jumps(visit):
    page = visit()
    slide(page, "jump-alpha", 1)
    assert text(page, "jump-best") == "positional"
    assert "0.00 of meaning" in text(page, "jump-said")
    slide(page, "jump-alpha", 1.4)
    assert text(page, "jump-best") == "semantic"
    assert "0.00 of positions" in text(page, "jump-said")
    page.select_option("#jump-omega", "0.4")
    assert text(page, "jump-best") == "positional"


def test_the_ball_stays_and_falls_where_its_curve_ends(visit):
    page = visit()
    slide(page, "ball-alpha", 0.9)
    assert text(page, "ball-said").startswith("The ball is semantic, though")
    slide(page, "ball-alpha", 0.5)
    assert "the ball fell. The ball is positional, the best" in text(page, "ball-said")
    slide(page, "ball-alpha", 2)
    assert text(page, "ball-said").startswith("The ball is positional, though")


def test_fifty_networks_are_trained_and_counted(visit):
    page = visit()
    counts = lambda: [int(text(page, f"crowd-{kind}")) for kind in ("positional", "semantic", "neither")]  # fmt: skip
    page.click("#crowd-go")
    wait(page, "/at α = 2 the test error/.test(document.getElementById('crowd-said').textContent)")
    without = counts()
    assert "Semantic is better" in text(page, "crowd-said")
    page.select_option("#crowd-hint", "0.3")
    wait(page, "/Step/.test(document.getElementById('crowd-step').textContent)")
    wait(page, "/rest/.test(document.getElementById('crowd-step').textContent)")
    assert sum(without) == sum(counts()) == 50
    assert without[0] > 40
    assert counts()[1] > 40
    look(page, "story")
    page.select_option("#crowd-alpha", "1")
    assert text(page, "crowd-said") == ""  # nothing is said of another α while they train
    wait(page, "/at α = 1 the test error/.test(document.getElementById('crowd-said').textContent)")
    assert "positional solution has the lower training loss, yet the other" in text(
        page, "crowd-said"
    )


def test_nothing_moves_by_itself_for_those_who_want_no_motion(visit):
    page = visit()
    read = lambda: (
        page.evaluate("[...document.querySelectorAll('#story input')].map(i => i.value)"),
        texts(page, "#story figcaption"),
    )
    before = read()
    for scene in SCENES:
        page.locator(f"#scene-{scene}").scroll_into_view_if_needed()
        page.wait_for_timeout(400)
    assert read() == before


def test_scenes_move_by_themselves_when_they_are_seen(visit):
    page = visit(reduced_motion="no-preference")
    page.locator("#scene-jump").scroll_into_view_if_needed()
    wait(page, "document.getElementById('jump-best').textContent === 'positional'")
    page.locator("#scene-crowd").scroll_into_view_if_needed()
    wait(page, "/Step/.test(document.getElementById('crowd-step').textContent)")


def test_the_story_can_be_told_by_keyboard(visit):
    page = visit()
    page.focus("#story-omega")
    page.keyboard.press("ArrowRight")
    assert text(page, "story-omega-said") == "31 %"
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    order = [
        "teacher-next",
        "students-next",
        "students-swap",
        "jump-alpha",
        "jump-omega",
        "jump-play",
    ]
    order += [
        "ball-semantic",
        "ball-positional",
        "ball-alpha",
        "crowd-alpha",
        "crowd-hint",
        "crowd-go",
    ]
    assert reached[:12] == order


SEEN = "(selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility())"
SMALL_TEXT = f"""({SEEN})('body *').filter((e) => !e.closest('.hidden, svg') && !['SUB', 'SUP'].includes(e.tagName)
  && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
  && parseFloat(getComputedStyle(e).fontSize) < 13).map((e) => e.outerHTML.slice(0, 80))"""
SMALL_TARGETS = f"""({SEEN})('button, select, input, [role=slider]').filter((e) => {{
  const {{ width, height }} = e.getBoundingClientRect();
  return width < 24 || height < 24;
}}).map((e) => e.id || e.outerHTML.slice(0, 60))"""
CUT = f"""({SEEN})('.control select').filter((e) => {{
  const pen = document.createElement('canvas').getContext('2d'), style = getComputedStyle(e);
  const arrow = 20, room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - arrow;
  pen.font = style.font;
  return pen.measureText(e.selectedOptions[0].textContent).width > room;
}}).map((e) => e.id)"""
LOW = f"({SEEN})('.plot').map((p) => p.clientHeight).filter((h) => h < 140)"
UNNAMED = """[...document.querySelectorAll('button, select, input')].filter((e) => !e.labels?.length && !e.ariaLabel
  && !(e.tagName === 'BUTTON' && e.textContent.trim())).map((e) => e.outerHTML)"""
OVERLAPPING = """[...document.querySelectorAll('.plot > [role=img]')].flatMap((plot) => {
  const titles = [...plot.querySelectorAll('.annotation-text-g, .g-xtitle, .x2title, .x3title, .ytitle')];
  const boxes = titles.map((e) => e.getBoundingClientRect()).filter((b) => b.width);
  const apart = (a, b) => a.right < b.left + 2 || b.right < a.left + 2 || a.bottom < b.top + 2 || b.bottom < a.top + 2;
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => !apart(a, b)).map(() => plot.id));
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everything_can_be_read_and_hit_at_every_width(visit, width, theme):
    page = visit(f"#theme={theme}", viewport={"width": width, "height": 900})
    wait(page, "Boolean(document.getElementById('branches-plot').data)")
    wait(page, "Boolean(document.getElementById('sentence-plot').data)")
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for check in (SMALL_TEXT, SMALL_TARGETS, CUT, LOW, UNNAMED, OVERLAPPING):
        assert page.evaluate(check) == [], check
    look(page, f"width-{width}-{theme}")


def test_the_page_says_who_speaks(visit):
    page = visit()
    assert re.search(r"dotphase \S+ on this machine computes", text(page, "speaker"))

"""The page in a real browser: Debian's Chromium, driven by Playwright. Skipped, with a reason,
where there is none."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import look, text, wait

import dotphase


@pytest.fixture
def visit(opened, explorer):
    """The explorer's page, when it is ready."""

    def ready(fragment="", **options):
        page = opened(explorer.address + fragment, **options)
        wait(page, "document.documentElement.dataset.ready")
        wait(page, "document.getElementById('notice').textContent === ''")
        return page

    return ready


def solved(page):
    """Wait until the branches at the point are solved and drawn."""
    wait(page, "/ε.* = .*±/.test(document.getElementById('branches-reading').textContent)")
    wait(page, "Boolean(document.getElementById('branches-plot').data)")


def curve(page, name="semantic, train_loss"):
    return page.evaluate(
        f"document.getElementById('branches-plot').data.find(t => t.name === '{name}')?.y"
    )


def address(page):
    wait(page, "location.hash !== ''")  # it follows after a moment
    page.wait_for_timeout(300)
    return {
        name: values[0]
        for name, values in parse_qs(urlsplit(page.url).fragment, keep_blank_values=True).items()
    }


def test_the_page_loads_and_shows_the_paper(visit):
    page = visit()
    solved(page)
    assert "semantic wins" in page.inner_text("#diagram-reading")
    assert page.evaluate("document.getElementById('diagram-plot').data[0].type") == "heatmap"
    look(page, "desktop-light")


def test_dragging_the_point_changes_the_branches(visit):
    page = visit()
    solved(page)
    before = curve(page)
    page.evaluate("document.getElementById('lab').scrollIntoView({ behavior: 'instant' })")
    handle = page.locator("#handle").bounding_box()
    x, y = handle["x"] + 15, handle["y"] + 15
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(x + 8 * step, y + 12 * step)
    page.mouse.up()
    wait(page, "document.getElementById('diagram-reading').textContent.includes('positional wins')")
    now = address(page)
    assert float(now["omega"]) > 0.3
    assert float(now["alpha"]) < 2
    wait(
        page,
        "document.getElementById('branches-plot').data[1].y.filter(y => y !== null).length > 5",
    )
    assert curve(page) != before
    look(page, "dragged")


def test_arrow_keys_move_the_point(visit):
    page = visit()
    page.focus("#handle")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowLeft")
    now = address(page)
    assert (now["alpha"], now["omega"]) == ("1.98", "0.25")
    assert "α 1.98, ω 0.25" in page.get_attribute("#handle", "aria-valuetext")


def test_hysteresis_can_be_walked(visit):
    page = visit("#alpha=0.8&omega=0.3&held=semantic")
    solved(page)
    assert page.is_checked("#hold")
    for _ in range(4):
        before = page.inner_text("#branches-reading")
        page.click("#walk-down")
        wait(page, f"document.getElementById('branches-reading').textContent !== {before!r}")
        solved(page)
    wait(
        page,
        "document.getElementById('branches-reading').textContent.includes('on the positional branch')",
    )
    for _ in range(4):
        page.click("#walk-up")
        solved(page)
    wait(
        page,
        "document.getElementById('branches-reading').textContent.includes('on the positional branch')",
    )
    look(page, "hysteresis")


def test_training_streams_and_can_be_stopped(visit):
    page = visit("#d=200&optimiser=lbfgs&seeds=3")
    page.click("#train")
    wait(page, "document.getElementById('training-reading').textContent.includes('ended')")
    runs = "document.getElementById('training-plot').data.filter(t => /^seed.*loss$/.test(t.name))"
    wait(page, f"{runs}.length === 3 && {runs}.every(t => t.x.length > 2)")
    look(page, "training")
    page.fill("#d", "1000")
    page.select_option("#optimiser", "gd")
    page.click("#train-again")
    wait(page, "/step [0-9]+: loss/.test(document.getElementById('training-reading').textContent)")
    page.click("#train-stop")
    assert "Stopped" in page.inner_text("#training-reading")


def test_gradient_descent_is_drawn_with_its_theory(visit):
    page = visit("#alpha=2&omega=0.3&d=200&start=random&optimiser=gd")
    solved(page)
    page.click("#train")
    wait(page, "/ended/.test(document.getElementById('training-reading').textContent)")
    names = "document.getElementById('training-plot').data.map(trace => trace.name)"
    wait(page, f"{names}.some(name => /theory of the loss/.test(name))")
    assert re.search(r"ended (semantic|positional|mixed|at neither)", page.inner_text("#training"))
    look(page, "training-theory")


def test_letters_are_counted_as_they_are_typed(visit):
    page = visit()
    page.click("#tab-counting")
    page.fill("#letters", "banana1")
    wait(page, "document.getElementById('counting-note').textContent.includes('4 more letters')")
    page.fill("#letters", "mississipp")
    wait(page, "document.querySelectorAll('#counts tr').length === 4")
    rows = page.evaluate(
        "[...document.querySelectorAll('#counts tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert rows[1] == ["true counts", "1", "3", "4", "4", "3", "4", "4", "3", "2", "2"]
    look(page, "counting")


def test_a_link_restores_the_whole_state_in_a_fresh_profile(visit):
    fragment = (
        "#alpha=1.37&omega=0.215&sigma=0.55&lambda=0.0125&correlation=0&A=0.3%2C0.7%2C0.7%2C0.3&student=softmax&minimum=lowest"
        "&along=omega&held=&d=250&start=positional&optimiser=adam&seed=7&seeds=2&sentence=5&landscape=&view=counting"
        "&letters=ABCABCABCA&theme=dark"
    )
    first = visit(fragment)
    solved(first)
    first.focus("#handle")
    first.keyboard.press("ArrowUp")
    address(first)
    solved(first)
    read = "[...document.querySelectorAll('input, select')].map(e => e.type === 'checkbox' ? e.checked : e.value)"
    link = first.url
    second = visit("#" + urlsplit(link).fragment)
    solved(second)
    assert second.evaluate(read) == first.evaluate(read)
    assert second.url == link
    assert "alpha=1.39" in link
    assert second.inner_text("#diagram-reading").replace(" …", "") == first.inner_text(
        "#diagram-reading"
    ).replace(" …", "")
    assert second.evaluate("document.documentElement.dataset.theme") == "dark"
    look(second, "desktop-dark")


def test_a_mad_link_is_the_default(visit):
    page = visit(
        "#alpha=NaN&omega=7&student=%3Cscript%3E&A=1,2&d=1e99&seed=1.5&nothing=1&theme=pink"
    )
    solved(page)
    assert page.input_value("#alpha") == "2"
    assert page.input_value("#student") == "softmax"


def test_both_themes_and_the_downloads(visit, tmp_path):
    page = visit(color_scheme="dark")
    solved(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    for kind in ("SVG", "PNG", "CSV"):
        with page.expect_download() as waiting:
            page.click(f"#branches .tools button:text-is('{kind}')")
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.name == f"branches.{kind.lower()}"
        assert path.stat().st_size > 200
    assert (tmp_path / "branches.csv").read_text().startswith("trace,x,y,z,error")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_four_views_fit_one_screen(visit, theme):
    page = visit(f"#theme={theme}&landscape=positional", viewport={"width": 1440, "height": 900})
    solved(page)
    for view in ("sentence", "counting"):
        page.click(f"#tab-{view}")
        page.wait_for_timeout(300)
        assert page.evaluate("document.getElementById('lab').offsetHeight") <= 900
        hidden = (
            "[...document.querySelectorAll('.card')]"
            ".filter(c => c.scrollHeight > c.clientHeight + 1).map(c => c.id)"
        )
        assert page.evaluate(hidden) == []
        small = "[...document.querySelectorAll('.plot')].map(p => p.clientHeight).filter(h => h && h < 140)"
        assert page.evaluate(small) == []
    look(page, f"one-screen-{theme}")


def test_a_phone_has_one_column_and_nothing_hangs_over(visit):
    page = visit(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    solved(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    lefts = page.evaluate(
        "[...document.querySelectorAll('.card')].map(c => c.getBoundingClientRect().left)"
    )
    assert len(set(lefts)) == 1
    page.tap("#diagram-pad", position={"x": 100, "y": 300})
    assert float(address(page)["omega"]) < 0.3
    look(page, "phone")


def test_a_number_out_of_bounds_gives_a_message_and_is_not_used(visit):
    page = visit()
    page.fill("#alpha", "99")
    page.keyboard.press("Enter")
    assert page.input_value("#alpha") == "2"
    assert "α must be a number between 0.05 and 8; 99 is not used" in text(page, "notice")
    page.fill("#alpha", "1.5")
    page.keyboard.press("Enter")
    assert text(page, "notice") == ""


def test_who_leaves_a_branch_is_not_on_it_any_more(visit):
    page = visit("#alpha=1&omega=0.3&held=positional")
    wait(
        page,
        "/on the positional branch/.test(document.getElementById('branches-reading').textContent)",
    )
    page.uncheck("#hold")
    assert "You are on" not in text(page, "branches-reading")


def test_no_coarse_point_stays_after_a_walk(visit):
    """All that is drawn is refined, the values that were walked over too, or they are gone."""
    page = visit("#alpha=2&omega=0.3&held=semantic")
    solved(page)
    for _ in range(3):
        page.click("#walk-down")
        page.wait_for_timeout(250)
    trace = "document.getElementById('branches-plot').data?.find(t => t.name === 'semantic, train_loss')"
    # An error is drawn of every point on many nodes, and of none on few.
    refined = f"{trace}.meta.every((error, k) => {trace}.y[k] === null || error > 0)"
    wait(page, f"{trace}?.x.includes(1.85) && {refined}")


def test_the_point_is_solved_as_the_command_line_does(visit):
    page = visit("#alpha=1.99&omega=0.17")
    wait(page, "/wins$/.test(document.getElementById('diagram-reading').textContent)")
    expected = dotphase.solve(dotphase.paper(alpha=1.99, omega=0.17), "semantic")
    loss = expected.train_loss
    digits = max(0, min(9, 1 - int(f"{loss.error:e}".split("e")[1])))
    assert f"= {loss.value:.{digits}f} ± {loss.error:.{digits}f}" in text(page, "branches-reading")


def test_values_are_shown_under_the_pointer(visit):
    page = visit()
    solved(page)
    page.hover("#diagram-pad", position={"x": 120, "y": 120})
    assert "Map at ω" in text(page, "hint")
    page.hover("#branches-pad", position={"x": 120, "y": 120})
    assert "semantic at α =" in text(page, "hint")
    page.mouse.move(5, 5)
    assert page.is_hidden("#hint")


def test_the_tour_ends_where_it_should_and_export_speaks_python(visit):
    page = visit()
    page.click("#tour-open")
    page.click("#tour-pause")
    for station in range(1, 8):
        page.click("#tour-next")
        assert page.inner_text("#tour-count") == f"{station + 1} of 8"
        if station == 4:
            solved(page)
            look(page, "tour")
    page.click("#tour-next")
    assert page.is_hidden("#tour")
    page.click("#export-open")
    page.wait_for_selector("#export[open]")
    assert "dotphase.paper(alpha=2" in page.inner_text("#export-text")
    page.select_option("#export-kind", "study")
    assert "[compute.theory]" in page.inner_text("#export-text")
    look(page, "export")

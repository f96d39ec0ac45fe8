# SPDX-License-Identifier: MIT
"""pytest: what each test costs, limits of tests, and a gate.

``pytest --resmon`` shows wall and CPU time, exact peak memory and energy of tests, and puts them among the properties of
JUnit's XML. ``@pytest.mark.resmon(peak="200MB", wall="1s")`` fails a test that takes more, also without ``--resmon``.

pytest loads this wherever the package is installed: the package, and libresmon, are loaded when they are wanted.
"""

_NAME = "resmon-measuring"


def pytest_addoption(parser):
    """Options, which are off by default."""
    group = parser.getgroup("resmon", "resmon: what tests cost")
    group.addoption("--resmon", action="store_true", help="show wall and CPU time, exact peak memory and energy of tests")
    group.addoption("--resmon-rows", type=int, default=10, metavar="N", help="how many tests are shown, 0: all (default 10)")
    group.addoption("--resmon-json", metavar="FILE",
                    help="write the figures of each test to this file, for --resmon-compare and resmon diff")
    group.addoption("--resmon-compare", metavar="FILE", help="fail where a test has become worse than in this file")
    group.addoption("--resmon-fail", action="append", metavar="RULE",
                    help="what is worse, as 'peak>5%%+1MiB' (the default) or 'wall>50%%+1s'; may be said again")


def pytest_configure(config):
    """The marker, and who measures."""
    config.addinivalue_line("markers", "resmon(wall=, cpu=, peak=, growth=, read=, written=, energy=): fail a test that takes "
                                       "more: @pytest.mark.resmon(peak='200MB', wall='1s')")
    options = config.option
    if not (options.resmon or options.resmon_json or options.resmon_compare):
        return
    from resmon.pytest_tests import Measuring, Showing
    config.pluginmanager.register(Measuring(True), _NAME)
    if not hasattr(config, "workerinput"):  # of pytest-xdist
        config.pluginmanager.register(Showing(config.option), "resmon-showing")


def pytest_collection_modifyitems(config, items):
    """Limits hold without an option, too."""
    if config.pluginmanager.has_plugin(_NAME) or not any(item.get_closest_marker("resmon") for item in items):
        return
    from resmon.pytest_tests import Measuring
    config.pluginmanager.register(Measuring(False), _NAME)

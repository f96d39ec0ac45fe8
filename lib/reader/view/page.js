// SPDX-License-Identifier: MIT
// Draws the charts of a report from the numbers in #resmon-data, with uPlot: when they come into view, in the colours of
// the page, with one time for all charts of a run.
(function () {
"use strict";
const data = JSON.parse(document.getElementById("resmon-data").textContent);

// ---- numbers for people: the rules of lib/common/base/human.c, with whose texts a test compares these -----------------

// Of each unit: below how much a value is shown so, the factor to it (0: as minutes and hours), and its name.
const SCALES = {
    "B": [[1024, 1, " B"], [1024, 2 ** -10, " KiB"], [1024, 2 ** -20, " MiB"], [1024, 2 ** -30, " GiB"],
        [1024, 2 ** -40, " TiB"], [Infinity, 2 ** -50, " PiB"]],
    "s": [[1e3, 1e9, " ns"], [1e3, 1e6, " us"], [1e3, 1e3, " ms"], [120, 1, " s"], [Infinity, 0, ""]],
    "J": [[1e3, 1e3, " mJ"], [1e3, 1, " J"], [3600, 1e-3, " kJ"], [1e3, 1 / 3.6e6, " kWh"], [Infinity, 1 / 3.6e9, " MWh"]],
    "W": [[1e3, 1e3, " mW"], [1e3, 1, " W"], [1e3, 1e-3, " kW"], [Infinity, 1e-6, " MW"]],
    "%": [[Infinity, 1, " %"]],
    "C": [[Infinity, 1, " C"]],
    "1": [[1e4, 1, ""], [1e3, 1e-3, " k"], [1e3, 1e-6, " M"], [1e3, 1e-9, " G"], [Infinity, 1e-12, " T"]],
};

function decimalsOf(shown, unit, hasPrefix) {
    const size = Math.abs(shown);
    if (unit === "%" || unit === "C") return 1;
    if (unit === "B") return !hasPrefix ? 0 : size >= 9.995 ? 1 : 2;
    if (unit === "1" && !hasPrefix && Number.isInteger(shown)) return 0;
    return size === 0 || size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
}

// toFixed(), but a tie goes to the even digit, as printf() has it, and a zero has no sign.
function fixed(value, decimals) {
    const twice = value * 2 ** (decimals + 1), power = 10 ** decimals, low = Math.floor(value * power);
    const isTie = Number.isInteger(twice) && twice % 2 !== 0;
    const text = (isTie ? (low % 2 === 0 ? low : low + 1) / power : value).toFixed(decimals);
    return /^-[0.]+$/.test(text) ? text.slice(1) : text;
}

function longTimeText(value) {
    const seconds = Math.round(Math.abs(value)), sign = value < 0 ? "-" : "", two = n => String(n).padStart(2, "0");
    const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
    return sign + (minutes < 120 ? minutes + " min " + two(seconds % 60) + " s" : hours + " h " + two(minutes % 60) + " min");
}

// `short`: without zeros at the end, for axes.
function valueText(value, unit, short) {
    if (value == null) return "–";
    if (unit === "s/s") return valueText(value * 100, "%", short);
    if (unit === "J/s") return valueText(value, "W", short);
    const [name, per] = unit.split("/"), end = per ? "/s" : "", kind = SCALES[name] ? name : "1";
    const [, factor, prefixed] = SCALES[kind].find(([below, factor]) => value === 0 ? factor === 1 :
        Math.abs(value * factor) < below - 0.5 / 10 ** decimalsOf(value * factor, kind, factor !== 1));
    if (factor === 0) return longTimeText(value) + end;
    const number = fixed(value * factor, decimalsOf(value * factor, kind, factor !== 1));
    const other = kind === name ? "" : (prefixed || !name ? "" : " ") + name;
    return (short && number.includes(".") ? number.replace(/\.?0+$/, "") : number) + prefixed + other + end;
}

function secondsText(value) {
    return valueText(value, "s");
}

const TIME_STEPS = [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2,
    0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 432000,
    864000, 2592000];
const BYTE_STEPS = Array.from({length: 60}, (_, power) => Math.pow(2, power));

// Ticks of elapsed time, all in one form: "12.5 s", "2:05", "1:30:00", "3 d 12:00".
function timeTicks(u, splits, axis, space, step) {
    const last = splits[splits.length - 1] || 0, two = n => String(n).padStart(2, "0");
    return splits.map(t => {
        if (step < 0.01) return valueText(Number(t.toFixed(9)), "s", true);
        if (last < 120) return Number(t.toFixed(6)) + " s";
        const whole = Math.floor(t + 1e-9), fraction = step < 1 ? (t - whole).toFixed(3).slice(1).replace(/0+$/, "") : "";
        const days = Math.floor(whole / 86400), hours = Math.floor(whole % 86400 / 3600);
        const minutes = Math.floor(whole % 3600 / 60), seconds = two(whole % 60) + fraction;
        if (last >= 86400) return days + " d " + two(hours) + ":" + two(minutes);
        if (last < 7200) return hours * 60 + minutes + ":" + seconds;
        return hours + ":" + two(minutes) + (step < 60 ? ":" + seconds : "");
    });
}

// ---- colours ---------------------------------------------------------------------------------------------------

// Okabe and Ito's, for all kinds of sight; lighter on a dark ground.  As in page.css.
const COLOURS = {
    light: ["#0072b2", "#d55e00", "#5f8f7b", "#8a5fb0", "#b58900", "#2aa6c9", "#c2528b", "#6b7280"],
    dark: ["#4fa8e8", "#ff9a4d", "#7dbba3", "#c39be8", "#e6c34a", "#67d0ee", "#f08fc0", "#a3acb9"],
};
const dark = matchMedia("screen and (prefers-color-scheme: dark)");
let printing = false;

function theme() {
    const isDark = dark.matches && !printing;
    return {
        line: number => number === "L" ? (isDark ? "#ff6b6b" : "#c0182b") : COLOURS[isDark ? "dark" : "light"][number],
        many: isDark ? "#4fa8e866" : "#0072b24d",
        text: isDark ? "#aab4c2" : "#56606e",
        grid: isDark ? "#262d37" : "#e9ecf1",
        axis: isDark ? "#3a4452" : "#cfd5de",
        tag: isDark ? "#8b96a6" : "#7b8694",
        onBar: isDark ? "#0c1014" : "#ffffff",
    };
}

// ---- groups: charts with the same time -------------------------------------------------------------------------

class Group {
    constructor(element, seconds, name) {
        this.element = element;
        this.seconds = seconds || 1e-3;
        this.name = name;
        this.view = [0, this.seconds];
        this.charts = [];
        this.tags = [];
        this.reset = document.createElement("button");
        this.reset.type = "button";
        this.reset.className = "reset";
        this.reset.textContent = "show all of the time";
        this.reset.hidden = true;
        this.reset.addEventListener("click", () => this.show(0, this.seconds));
        element.before(this.reset);
    }

    show(from, to) {
        if (!(to > from)) return;
        this.view = [from, to];
        this.reset.hidden = from <= 0 && to >= this.seconds;
        for (const chart of this.charts) chart.setScale("x", {min: from, max: to});
    }
}

const drawers = new Map(); // element -> what draws it, until it has
const drawn = [];

function later(element, draw) {
    if (element) drawers.set(element, draw);
}

function drawNow(element) {
    const draw = drawers.get(element);
    drawers.delete(element);
    if (draw) draw();
}

// ---- one chart -------------------------------------------------------------------------------------------------

const HEIGHT = 200, LEFT = 74;

// The value beside the cursor: sources are read at different times, so each line has its own nearest point.
function nearest(u, line, at) {
    const times = u.data[0], values = u.data[line];
    if (line === 0 || values[at] !== undefined) return at;
    let left = at, right = at;
    while (left >= 0 && values[left] === undefined) left--;
    while (right < times.length && values[right] === undefined) right++;
    if (left < 0) return right < times.length ? right : null;
    if (right >= times.length) return left;
    return times[at] - times[left] <= times[right] - times[at] ? left : right;
}

function drawTags(u, group) {
    const context = u.ctx, ratio = devicePixelRatio || 1, colours = theme(), box = u.bbox;
    const shown = group.tags.map(tag => [u.valToPos(tag[0], "x", true), tag[1]])
        .filter(tag => tag[0] >= box.left - 1 && tag[0] <= box.left + box.width + 1);
    context.save();
    context.font = 10.5 * ratio + "px system-ui, sans-serif";
    context.textBaseline = "alphabetic";
    context.strokeStyle = context.fillStyle = colours.tag;
    context.lineWidth = ratio;
    shown.forEach(([at, label], index) => {
        const x = Math.round(at) + ratio / 2;
        context.setLineDash([3 * ratio, 3 * ratio]);
        context.beginPath();
        context.moveTo(x, box.top - 4 * ratio);
        context.lineTo(x, box.top + box.height);
        context.stroke();
        const end = index + 1 < shown.length ? shown[index + 1][0] : box.left + box.width;
        drawLabel(context, label, x, end, box, ratio);
    });
    context.restore();
}

// Above the chart, as much as there is room for; at the right end, towards the left.
function drawLabel(context, label, x, end, box, ratio) {
    const room = end - x - 6 * ratio, width = context.measureText(label).width;
    const isAtEnd = end >= box.left + box.width - 1;
    context.textAlign = "left";
    if (isAtEnd && width > room && drawLabel.end < x - width - 8 * ratio) {
        context.textAlign = "right";
    } else if (width > room) {
        if (room < 26 * ratio) return;
        while (label.length > 1 && context.measureText(label + "…").width > room) label = label.slice(0, -1);
        label += "…";
    }
    const start = context.textAlign === "right" ? x + 2 * ratio : x;
    context.fillText(label, start, box.top - 7 * ratio);
    drawLabel.end = context.textAlign === "right" ? x : x + context.measureText(label).width;
}

function axes(unit, isBare) {
    const font = "11px system-ui, sans-serif";
    const common = {stroke: () => theme().text, font, ticks: {stroke: () => theme().axis, width: 1, size: 4}};
    return [
        {...common, grid: {show: false}, incrs: TIME_STEPS, values: timeTicks, space: 64, size: 28,
            border: {show: true, stroke: () => theme().axis, width: 1}},
        isBare ? {size: LEFT, values: (u, splits) => splits.map(() => ""), grid: {show: false}, ticks: {show: false}} :
            {...common, grid: {stroke: () => theme().grid, width: 1}, size: LEFT, space: 25, ticks: {show: false},
                incrs: unit[0] === "B" ? BYTE_STEPS : undefined,
                values: (u, splits) => splits.map(value => value === 0 ? "0" :
                    unit[0] === "B" && u.scales.y.max === 1 ? "" : valueText(value, unit, true))},
    ];
}

function options(group, element, unit) {
    const hasTags = group.tags.length > 0;
    return {
        width: Math.max(element.clientWidth, 240),
        height: HEIGHT,
        padding: [hasTags ? 20 : 8, 16, 0, 0],
        legend: {show: false},
        scales: {
            x: {time: false, range: (u, min, max) => max > min ? [min, max] : [min - 0.5, min + 0.5]},
            y: {range: (u, min, max) => [Math.min(min || 0, 0), max > 0 ? max * 1.06 : 1]},
        },
        axes: axes(unit),
        cursor: {
            y: false,
            points: {size: 6},
            drag: {x: true, y: false, dist: 4},
            dataIdx: nearest,
            sync: {key: group.name, filters: {pub: type => type === "mousemove" || type === "mouseleave"}},
            bind: {dblclick: () => () => { group.show(0, group.seconds); return null; }},
        },
        hooks: {
            setScale: [(u, key) => {
                if (key !== "x" || u.isFollowing) return;
                const {min, max} = u.scales.x;
                if (min !== group.view[0] || max !== group.view[1]) follow(group, u, min, max);
            }],
            draw: [u => { drawLabel.end = -Infinity; drawTags(u, group); }],
        },
    };
}

// What was zoomed in one chart is shown by all of its group.
function follow(group, source, min, max) {
    group.view = [min, max];
    group.reset.hidden = min <= 0 && max >= group.seconds;
    for (const chart of group.charts) {
        if (chart === source) continue;
        chart.isFollowing = true;
        chart.batch(() => chart.setScale("x", {min, max}));
        chart.isFollowing = false;
    }
}

function begin(group, element, made) {
    made.element = element;
    made.screenHeight = made.height;
    made.isLanes = element.classList.contains("lanes");
    group.charts.push(made);
    drawn.push(made);
    made.batch(() => made.setScale("x", {min: group.view[0], max: group.view[1]}));
    new ResizeObserver(() => {
        const width = element.clientWidth;
        if (printing || width <= 0 || width === made.width) return;
        made.setSize({width, height: made.screenHeight});
        const box = element.nextElementSibling;
        if (box) box.style.minHeight = "";
    }).observe(element);
}

// Lines of one chart, [times, mean, low, high] each, as uPlot wants them: one list of times for all.
function joined(lines) {
    const byTimes = new Map();
    lines.forEach((line, index) => {
        if (!byTimes.has(line[0])) byTimes.set(line[0], []);
        line.slice(1).forEach((values, part) => byTimes.get(line[0]).push([index, part, values]));
    });
    const tables = [...byTimes].map(([times, columns]) => [times, ...columns.map(column => column[2])]);
    const places = [...byTimes.values()].flat();
    const merged = tables.length ? uPlot.join(tables) : [[]];
    const found = lines.map(() => []);
    places.forEach(([index, part], place) => { found[index][part] = merged[place + 1]; });
    return [merged[0], found];
}

function drawChart(group, element, chart, linesOf, atText) {
    const specs = chart.lines, isMany = specs.length > 8;
    // Of many, no colour tells one from another: they are alike, and the one at the cursor stands out.
    const colour = number => (u, line) => !isMany ? theme().line(number) : u.near === line ? theme().line(1) : theme().many;
    const [times, values] = joined(linesOf());
    const setup = options(group, element, chart.unit), table = [times], place = [], bands = [];
    setup.series = [{}];
    specs.forEach(([, number, isDashed], index) => {
        place[index] = table.length;
        table.push(values[index][0]);
        setup.series.push({stroke: colour(number), width: isMany ? 1.1 : isDashed ? 1.2 : 1.6,
            dash: isDashed ? [5, 4] : undefined, points: {show: pointsWanted, size: 5}});
        if (values[index][1]) {
            const thin = {stroke: "transparent", width: 0, points: {show: false}};
            table.push(values[index][2], values[index][1]);
            setup.series.push({...thin}, {...thin});
            bands.push({series: [place[index] + 1, place[index] + 2],
                fill: () => theme().line(number) + "30"});
        }
    });
    setup.bands = bands;
    if (isMany) {
        setup.focus = {alpha: 0.7};
        setup.cursor.focus = {prox: 24};
        setup.cursor.points = {show: false};
    }
    const figure = element.closest("figure"), keys = [];
    for (const key of figure.querySelectorAll(".key")) keys[key.dataset.line] = key;
    const at = figure.querySelector(".at"), showCursor = isMany ? showNearest : showValues;
    setup.hooks.setCursor = [u => showCursor(u, chart, place, keys, at, atText)];
    if (isMany) {
        setup.hooks.setSeries = [(u, line) => {
            if (u.near) u.series[u.near].width = 1.1;
            u.near = line;
            if (line) u.series[line].width = 2.4;
            keys.forEach((key, index) => key.classList.toggle("near", place[index] === line));
            // A name that is pointed at tells of its whole run.
            const key = keys[place.indexOf(line)];
            if (u.cursor.left < 0) at.textContent = key ? [...key.children].map(part => part.textContent).join(" ") : "";
        }];
    }
    const made = new uPlot(setup, table, element);
    made.again = () => {
        const [newTimes, newValues] = joined(linesOf());
        made.setData([newTimes, ...newValues.map(parts => parts[0])], false); // several runs have no bands
    };
    keys.forEach((key, index) => {
        const more = values[index][1] ? [1, 2] : [];
        key.addEventListener("click", () => {
            const show = key.getAttribute("aria-pressed") !== "true";
            key.setAttribute("aria-pressed", show);
            for (const part of [0, ...more]) made.setSeries(place[index] + part, {show});
        });
        if (isMany) {
            key.addEventListener("mouseenter", () => made.setSeries(place[index], {focus: true}));
            key.addEventListener("mouseleave", () => made.setSeries(null, {focus: true}));
        }
    });
    begin(group, element, made);
}

// Single points would be invisible as a line.
function pointsWanted(u, line, from, to) {
    let known = 0;
    for (let i = from; i <= to && known < 3; i++) known += u.data[line][i] != null ? 1 : 0;
    return known < 3;
}

// At the cursor the values there, else what is known of the whole run.
function showValues(u, chart, place, keys, at, atText) {
    const isOn = u.cursor.left >= 0 && u.cursor.idx != null;
    at.textContent = isOn ? atText(u.posToVal(u.cursor.left, "x")) : "";
    // Values are shorter than what stands there else: the page must not move under the cursor.
    const box = keys[0].parentElement;
    if (isOn && !box.style.minHeight) box.style.minHeight = box.offsetHeight + "px";
    keys.forEach((key, index) => {
        const now = key.querySelector(".now");
        if (key.said === undefined) key.said = now.textContent;
        const where = isOn ? u.cursor.idxs[place[index]] : null;
        const value = where == null ? null : u.data[place[index]][where];
        now.textContent = !isOn ? key.said : valueText(value, chart.unit);
        key.classList.toggle("live", isOn);
    });
}

// Of many lines, the one at the cursor.
function showNearest(u, chart, place, keys, at, atText) {
    const isOn = u.cursor.left >= 0 && u.cursor.idx != null, index = isOn && u.near ? place.indexOf(u.near) : -1;
    at.textContent = isOn ? atText(u.posToVal(u.cursor.left, "x")) : "";
    if (index >= 0) {
        const where = u.cursor.idxs[u.near], value = where == null ? null : u.data[u.near][where];
        const name = keys[index].querySelector("bdi").textContent;
        at.textContent = name + ": " + valueText(value, chart.unit) + " · " + at.textContent;
    }
}

// ---- scopes over time ------------------------------------------------------------------------------------------

const LANE = 18, NAME = 16;

function drawTimeline(group, element, events, atText) {
    const depths = events.threads.map(() => 0);
    for (const [, thread, depth] of events.rows) depths[thread] = Math.max(depths[thread], depth + 1);
    const tops = [];
    let height = 0;
    depths.forEach((depth, thread) => { tops[thread] = height + NAME; height += NAME + depth * LANE + 4; });
    const setup = options(group, element, "");
    setup.axes = axes("", true);
    setup.height = height + 28 + setup.padding[0];
    setup.scales.y.range = () => [0, 1];
    setup.series = [{}, {stroke: "transparent", points: {show: false}}];
    setup.cursor.points = {show: false};
    setup.hooks.draw.unshift(u => drawEvents(u, events, tops));
    const at = element.closest("figure").querySelector(".at");
    setup.hooks.setCursor = [u => {
        const {left, top} = u.cursor;
        if (left < 0) { at.textContent = ""; return; }
        const time = u.posToVal(left, "x"), found = element.matches(":hover") &&
            events.rows.filter(([, thread, depth, start, seconds]) => start <= time && time <= start + seconds &&
                top >= tops[thread] + depth * LANE && top < tops[thread] + (depth + 1) * LANE)[0];
        at.textContent = found ? events.names[found[0]] + ": " + secondsText(found[4]) + ", from " + secondsText(found[3]) :
            atText(time);
    }];
    begin(group, element, new uPlot(setup, [[0, group.seconds], [0, 0]], element));
}

function drawEvents(u, events, tops) {
    const context = u.ctx, ratio = devicePixelRatio || 1, colours = theme(), box = u.bbox;
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    context.font = 10.5 * ratio + "px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (const [name, thread, depth, start, seconds] of events.rows) {
        const left = Math.max(u.valToPos(start, "x", true), box.left - 2);
        const right = Math.min(u.valToPos(start + seconds, "x", true), box.left + box.width + 2);
        if (right < box.left || left > box.left + box.width) continue;
        const y = box.top + (tops[thread] + depth * LANE) * ratio, width = Math.max(right - left, ratio);
        context.fillStyle = colours.line(name % 7);
        context.fillRect(left, y, width - (width > 3 * ratio ? ratio : 0), (LANE - 2) * ratio);
        if (width > 24 * ratio) {
            let label = events.names[name];
            while (label && context.measureText(label).width > width - 8 * ratio) label = label.slice(0, -1);
            if (label.length < events.names[name].length) label = label.length > 2 ? label.slice(0, -1) + "…" : "";
            context.fillStyle = colours.onBar;
            context.fillText(label, left + 4 * ratio, y + (LANE - 1) / 2 * ratio);
        }
    }
    context.fillStyle = colours.text;
    events.threads.forEach((thread, index) => {
        context.fillText(thread, box.left + 2 * ratio, box.top + (tops[index] - 7) * ratio);
    });
    context.restore();
}

// ---- the page --------------------------------------------------------------------------------------------------

function clock(seconds) {
    const date = new Date(seconds * 1000);
    return isNaN(date) ? "" : " · " + date.toISOString().slice(11, 19) + " UTC";
}

data.runs.forEach((run, number) => {
    const element = document.querySelector(`[data-run="${number}"]`);
    if (!element) return; // it is only in the charts of all
    const group = new Group(element, run.seconds, "run" + number);
    group.tags = run.tags;
    const atText = time => secondsText(time) + (run.start > 0 ? clock(run.start + time) : "");
    const lineOf = key => { const [times, ...values] = run.lines[key]; return [run.times[times], ...values]; };
    for (const chart of run.charts) {
        const place = document.getElementById(chart.at);
        later(place, () => drawChart(group, place, chart, () => chart.lines.map(line => lineOf(line[0])), atText));
    }
    if (run.events) {
        const place = document.getElementById(run.events.at);
        later(place, () => drawTimeline(group, place, run.events, atText));
    }
});

if (data.all) {
    const all = data.all, element = document.querySelector('[data-run="all"]');
    const hasClock = document.querySelector("[data-align]") !== null;
    let offsets = hasClock ? all.offsets : all.runs.map(() => 0);
    const length = () => Math.max(...data.runs.map((run, index) => run.seconds + offsets[index]));
    const group = new Group(element, length(), "all");
    const shifted = new Map(); // one list of times for all lines of a run, as joined() wants it
    const timesOf = (run, index) => {
        const key = run + ":" + index;
        if (!shifted.has(key)) shifted.set(key, all.runs[run].times[index].map(time => time + offsets[run]));
        return shifted.get(key);
    };
    const atText = time => secondsText(time) + (hasClock && offsets === all.offsets ?
        clock(Math.min(...data.runs.map(run => run.start)) + time) : "");
    for (const chart of all.charts) {
        const place = document.getElementById(chart.at);
        const linesOf = () => chart.lines.map(([run, , , key]) => {
            const [index, mean] = all.runs[run].lines[key];
            return [timesOf(run, index), mean];
        });
        later(place, () => drawChart(group, place, chart, linesOf, atText));
    }
    document.querySelectorAll("[data-align]").forEach(button => button.addEventListener("click", () => {
        offsets = button.dataset.align === "clock" ? all.offsets : all.runs.map(() => 0);
        document.querySelectorAll("[data-align]").forEach(one => one.setAttribute("aria-pressed", one === button));
        shifted.clear();
        group.seconds = length();
        for (const chart of group.charts) chart.again();
        group.show(0, group.seconds);
    }));
}

// ---- flame graphs: boxes in percent, drawn without a script ---------------------------------------------------

// A click makes a box as wide as the graph; one on the first box, or on the widened one, shows all.
function zoomFlame(flame) {
    const boxes = [...flame.querySelectorAll("b")].map(element => ({element, row: element.parentElement,
        start: parseFloat(element.style.left), width: parseFloat(element.style.width)}));
    const rows = [...flame.children];
    let chosen = boxes[0];
    const show = next => {
        const depth = rows.indexOf(next.row), end = next.start + next.width, slack = 0.002;
        chosen = next;
        for (const box of boxes) {
            const start = Math.max(box.start, next.start), stop = Math.min(box.start + box.width, end);
            const isOn = rows.indexOf(box.row) > depth ? box.start > next.start - slack && stop > start + slack / 2
                && box.start + box.width < end + slack : box.start < next.start + slack && box.start + box.width > end - slack;
            const width = Math.min((stop - start) / next.width, 1) * 100;
            box.element.hidden = !isOn;
            box.element.style.left = (start - next.start) / next.width * 100 + "%";
            box.element.style.width = width + "%";
            box.element.textContent = width >= 2 ? box.element.title.split("\n")[0] : "";
        }
    };
    flame.classList.add("zooms");
    flame.addEventListener("click", event => {
        const box = boxes.find(one => one.element === event.target);
        if (box) show(box === chosen ? boxes[0] : box);
    });
}
document.querySelectorAll(".flame").forEach(zoomFlame);

const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
        if (entry.isIntersecting) {
            seen.unobserve(entry.target);
            drawNow(entry.target);
        }
    }
}, {rootMargin: "600px"});
for (const element of drawers.keys()) seen.observe(element);

// The first ones at once, so that they are there for who prints or photographs the page; the others when there is time.
const isFolded = element => element.closest("details:not([open])");
function drawSome(count) {
    const next = [...drawers.keys()].filter(element => !isFolded(element)).slice(0, count);
    for (const element of next) {
        seen.unobserve(element);
        drawNow(element);
    }
    if (next.length) setTimeout(drawSome, 20, 4);
}
drawSome(24);

function redrawAll() {
    for (const chart of drawn) chart.redraw();
}
dark.addEventListener("change", redrawAll);

// On paper: all that is not folded away, in light colours, as wide as a page.
addEventListener("beforeprint", () => {
    printing = true;
    for (const element of [...drawers.keys()]) if (!isFolded(element)) drawNow(element);
    for (const chart of drawn) chart.setSize({width: 640, height: Math.min(chart.screenHeight, chart.isLanes ? 1e4 : 160)});
    redrawAll();
});
addEventListener("afterprint", () => {
    printing = false;
    for (const chart of drawn) chart.setSize({width: Math.max(chart.element.clientWidth, 240), height: chart.screenHeight});
    redrawAll();
});
addEventListener("hashchange", openTarget);
openTarget();

function openTarget() {
    const target = location.hash.startsWith("#run") && document.getElementById(location.hash.slice(1));
    if (target) target.open = true;
}
})();

#!/usr/bin/env python3
"""Draws the plots of docs/h200.md from a record of `tcnum bench`.

docs/plots.py RECORD FOLDER
"""

import json
import math
import sys
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 64, 190, 34, 46
# Told apart by people who see few colours too (Okabe and Ito).
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"]


def text(x, y, what, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(str(what))}</text>'


def svg(title, x_name, y_name, lines):
    """Lines by their names, each a list of (x, y); x is logarithmic, with a tick wherever a line has a point."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    top = 1.05 * max(y for points in lines.values() for _, y in points)
    step = 10 ** math.floor(math.log10(top / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if top / (factor * step) <= 8)

    def px(x):
        return LEFT + math.log(x / xs[0]) / math.log(xs[-1] / xs[0]) * (WIDTH - LEFT - RIGHT)

    def py(y):
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'font-family="sans-serif" font-size="12">', f"<title>{escape(title)}</title>",
           text(LEFT, 18, title, "start", ' font-weight="bold"')]
    for i in range(int(top / step) + 1):
        y = py(i * step)
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
                text(LEFT - 6, y + 4, f"{i * step:g}", "end")]
    last = -100
    for x in xs:
        if px(x) - last >= 26:  # nearer numbers would touch
            last = px(x)
            out.append(text(last, HEIGHT - BOTTOM + 16, f"{x:.3g}"))
    out += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_name),
            text(14, HEIGHT / 2, y_name, more=f' transform="rotate(-90 14 {HEIGHT / 2:.0f})"')]
    for i, (name, points) in enumerate(lines.items()):
        colour, at = COLOURS[i % len(COLOURS)], TOP + 14 + 17 * i
        path = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in points)
        out += [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>',
                f'<rect x="{WIDTH - RIGHT + 12}" y="{at - 6}" width="12" height="4" fill="{colour}"/>',
                text(WIDTH - RIGHT + 30, at, name, "start")]
    return "\n".join(out + ["</svg>", ""])


def rows(record, measurement):
    return [r for r in record["records"] if r["measurement"] == measurement and r["values"]]


def wgmma(record):
    lines = {}
    for r in rows(record, "wgmma"):
        axes = r["axes"]
        if r["subject"] in ("wgmma.m64nNk16.f32.f16.f16", "wgmma.sp.m64nNk32.f32.f16.f16") and axes["data"] == "zeros":
            if axes["warpgroups"] == 1:
                name = f"{r['subject'].split('.m64')[0]}, {axes['source']}"
                lines.setdefault(name, []).append((axes["N"], r["values"]["tera_ops"]))
    return svg("Throughput of wgmma with fp16 operands, which are zeros, over N", "N", "10¹² operations a second",
               {name: sorted(points) for name, points in lines.items()})


def bandwidth(record):
    lines = {}
    for r in rows(record, "bandwidth"):
        if r["subject"] in ("bandwidth.l2", "bandwidth.dram"):
            series = r["series"]
            lines[f"{r['subject'].split('.')[1]}, {r['axes']['read_bytes']} bytes"] = [
                (x / 2**20, y) for x, y in zip(series["sweep_bytes"], series["sweep_tera_bytes_per_second"])]
    return svg("Bandwidth over the size of the buffer that all read", "MiB", "TB/s", lines)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    record = json.load(open(sys.argv[1], encoding="utf-8"))
    for name, draw in (("wgmma", wgmma), ("bandwidth", bandwidth)):
        with open(f"{sys.argv[2]}/h200-{name}.svg", "w", encoding="utf-8") as file:
            file.write(draw(record))


if __name__ == "__main__":
    main()

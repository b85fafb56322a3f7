# SPDX-License-Identifier: MIT
#
# The picture of serve-sim: p99 against load for each measure, and what the cores and the copies do
# at the rate of the table. SVG, with the colours of a light or a dark page.
import math

WIDTH, HEIGHT, LEFT, TOP, PLOT, BARS = 900, 420, 70, 40, 470, 300
COLOURS = "#888888 #0072b2 #009e73 #d55e00 #cc79a7 #e69f00 #56b4e9".split()
STYLE = ("text{font:12px sans-serif;fill:#222}.axis{stroke:#888}.grid{stroke:#ddd}"
         ".page{fill:#fff}.copies{opacity:.45}@media(prefers-color-scheme:dark){text{fill:#ddd}"
         ".grid{stroke:#444}.page{fill:#181818}}")


def plain(words):
    return words.replace("&", "&amp;").replace("<", "&lt;")


def text(x, y, words, anchor="start"):
    words = plain(words)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def line(x0, y0, x1, y1, kind):
    return f'<line class="{kind}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>'


def curves(names, loads, p99, limit):
    """p99 in ms on a scale of powers of ten."""
    bottom, high = HEIGHT - 50, HEIGHT - 50 - TOP
    values = [v for row in p99 for v in row] + [limit]
    low, top = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    top = max(top, low + 1)

    def x(load):
        return LEFT + PLOT * load / loads[-1]

    def y(value):
        return bottom - high * (math.log10(value) - low) / (top - low)

    parts = [text(LEFT, TOP - 16, "p99 in ms against requests a second")]
    for power in range(low, top + 1):
        parts += [line(LEFT, y(10 ** power), LEFT + PLOT, y(10 ** power), "grid"),
                  text(LEFT - 6, y(10 ** power) + 4, f"{10 ** power:g}", "end")]
    for load in loads:
        parts.append(text(x(load), bottom + 18, f"{load:.0f}", "middle"))
    parts += [line(LEFT, bottom, LEFT + PLOT, bottom, "axis"),
              line(LEFT, y(limit), LEFT + PLOT, y(limit), "axis"),
              text(LEFT + PLOT, y(limit) - 4, "limit", "end")]
    for i, name in enumerate(names):
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(loads, p99[i]))
        parts.append(f'<polyline fill="none" stroke="{COLOURS[i]}" stroke-width="2" '
                     f'points="{points}"><title>{plain(name)}</title></polyline>')
    return parts


def bars(names, used, copies):
    left, parts = LEFT + PLOT + 40, []
    parts.append(text(left, TOP - 16, "cores in use, share of copies (pale)"))
    step = (HEIGHT - 90) / len(names)
    for i, name in enumerate(names):
        at = TOP + i * step
        parts.append(text(left, at + 10, f"{name}: {100 * used[i]:.0f} %, {100 * copies[i]:.0f} %"))
        for k, (share, kind) in enumerate(((used[i], ""), (copies[i], "copies"))):
            parts.append(f'<rect class="{kind}" x="{left}" y="{at + 15 + k * 12:.1f}" '
                         f'width="{BARS * min(share, 1):.1f}" height="10" fill="{COLOURS[i]}"/>')
    return parts


def draw(path, title, names, loads, p99, limit, used, copies):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             f'role="img"><title>{plain(title)}</title><style>{STYLE}</style>'
             f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
             *curves(names, loads, p99, limit), *bars(names, used, copies), "</svg>\n"]
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(parts))

package layers

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
)

// The measures of the picture, in pixels.
const (
	pageWidth = 1320.0
	leftEdge  = 40.0 // of the boxes, after the rank's number
	boxHeight = 24.0
	lineGap   = 52.0 // between boxes of lines of one rank
	rankGap   = 92.0 // between ranks
	topEdge   = 44.0
	aside     = 90.0 // shift of a short row, so that imports do not pass behind it
)

type node struct {
	name     string
	rank     int
	x, y     float64 // the middle of its upper edge
	to, from []*node // drawn imports, and drawn importers
}

func (n *node) width() float64 { return float64(len(n.name))*6.5 + 16 }

func drawGraph(pkgs []pkg) string {
	nodes := connect(pkgs)
	lines := arrange(nodes)
	height := place(lines)
	var out strings.Builder
	fmt.Fprintf(&out, graphHead, pageWidth, height, pageWidth, height)
	fmt.Fprintf(&out, "<text class=\"rank\" x=\"8\" y=\"20\">A package imports only packages below it. An import that follows from the others is not drawn. The number is the rank.</text>\n")
	for _, n := range nodes {
		for _, d := range n.to {
			y, end := n.y+boxHeight, d.y
			bend := (end - y) / 2
			fmt.Fprintf(&out, "<path class=%q d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", kindOf(n.name), n.x, y, n.x, y+bend, d.x, end-bend, d.x, end)
		}
	}
	for i, line := range lines {
		if i == 0 || lines[i-1][0].rank != line[0].rank {
			fmt.Fprintf(&out, "<text class=\"rank\" x=\"8\" y=\"%.0f\">%d</text>\n", line[0].y+boxHeight*0.7, line[0].rank)
		}
		for _, n := range line {
			fmt.Fprintf(&out, "<rect class=%q x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%.0f\" rx=\"4\"/><text x=\"%.1f\" y=\"%.0f\">%s</text>\n",
				kindOf(n.name), n.x-n.width()/2, n.y, n.width(), boxHeight, n.x, n.y+boxHeight*0.68, html.EscapeString(n.name))
		}
	}
	return out.String() + "</svg>\n"
}

const graphHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img" aria-label="Packages by rank, and their imports">
<!-- written by make graph -->
<style>
svg{background:#fff;font:12px system-ui,sans-serif}
text{fill:#1a1a1a;text-anchor:middle}
text.rank{fill:#555;text-anchor:start}
rect{fill:#f4f4f4;stroke:#777}
path{fill:none;stroke:#777;stroke-width:1.1;stroke-opacity:.6}
rect.plain{fill:#dcebf7;stroke:#1f6fad}path.plain{stroke:#1f6fad}
rect.lab{fill:#fbe6d4;stroke:#b4570b}path.lab{stroke:#b4570b}
rect.harness{fill:#ddf0e3;stroke:#1f7a45}path.harness{stroke:#1f7a45}
rect.page{fill:#efe1f5;stroke:#7a3f96}path.page{stroke:#7a3f96}
@media(prefers-color-scheme:dark){svg{background:#16181c}text{fill:#eee}text.rank{fill:#bbb}rect{fill:#2a2d33;stroke:#999}rect.plain{fill:#16324a}rect.lab{fill:#452a12}rect.harness{fill:#17381f}rect.page{fill:#3a2347}}
</style>
`

func kindOf(name string) string {
	switch {
	case strings.HasSuffix(name, "/lab") || name == "peers":
		return "lab"
	case slices.Contains(locks, name) || name == "atomics":
		return "plain"
	case strings.HasPrefix(name, "harness"):
		return "harness"
	case strings.HasPrefix(name, "reports/") || strings.HasPrefix(name, "cmd/"):
		return "page"
	}
	return "other"
}

func connect(pkgs []pkg) []*node {
	direct := make(map[string][]string)
	byName := make(map[string]*node)
	for _, p := range pkgs {
		if rank, ok := ranks[p.rel]; ok {
			byName[p.rel] = &node{name: p.rel, rank: rank}
			direct[p.rel] = p.imports
		}
	}
	var all func(string, map[string]bool)
	all = func(name string, seen map[string]bool) {
		for _, d := range direct[name] {
			if !seen[d] {
				seen[d] = true
				all(d, seen)
			}
		}
	}
	var nodes []*node
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		n := byName[name]
		nodes = append(nodes, n)
		implied := make(map[string]bool)
		for _, d := range direct[name] {
			all(d, implied)
		}
		for _, d := range direct[name] {
			if to := byName[d]; to != nil && !implied[d] {
				n.to, to.from = append(n.to, to), append(to.from, n)
			}
		}
	}
	return nodes
}

func arrange(nodes []*node) (lines [][]*node) {
	byRank := make(map[int][]*node)
	for _, n := range nodes {
		byRank[n.rank] = append(byRank[n.rank], n)
	}
	order := slices.Sorted(maps.Keys(byRank))
	for _, row := range byRank {
		spread(row)
	}
	for range 20 {
		for _, up := range []bool{true, false} {
			for i := range order {
				rank := order[i]
				if !up {
					rank = order[len(order)-1-i]
				}
				row := byRank[rank]
				middle := make(map[*node]float64)
				for _, n := range row {
					middle[n] = mean(n, up)
				}
				slices.SortStableFunc(row, func(a, b *node) int { return cmp.Or(cmp.Compare(middle[a], middle[b]), cmp.Compare(a.name, b.name)) })
				spread(row)
			}
		}
	}
	for _, rank := range slices.Backward(order) {
		total := 0.0
		for _, n := range byRank[rank] {
			total += n.width() + 14
		}
		parts := make([][]*node, int(total/(pageWidth-leftEdge))+1)
		for i, n := range byRank[rank] {
			parts[i%len(parts)] = append(parts[i%len(parts)], n)
		}
		lines = append(lines, parts...)
	}
	return lines
}

func mean(n *node, below bool) float64 {
	near := n.from
	if below {
		near = n.to
	}
	if len(near) == 0 {
		return n.x
	}
	sum := 0.0
	for _, d := range near {
		sum += d.x
	}
	return sum / float64(len(near))
}

func spread(row []*node) {
	total := 0.0
	for _, n := range row {
		total += n.width()
	}
	gap := (pageWidth - leftEdge - total) / float64(len(row)+1)
	x := leftEdge + aside*float64(row[0].rank%3-1)*min(1, gap/200)
	for _, n := range row {
		x += gap + n.width()/2
		n.x = x
		x += n.width() / 2
	}
}

func place(lines [][]*node) float64 {
	y := topEdge
	for i, line := range lines {
		spread(line)
		second := i > 0 && lines[i-1][0].rank == line[0].rank
		shift := 0.0
		switch {
		case second:
			y += lineGap
			shift = 32
		case i > 0:
			y += rankGap
		}
		if !second && i+1 < len(lines) && lines[i+1][0].rank == line[0].rank {
			shift = -32
		}
		for _, n := range line {
			n.x, n.y = n.x+shift, y
		}
	}
	return y + boxHeight + 16
}

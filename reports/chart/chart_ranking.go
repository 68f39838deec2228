package chart

import (
	"fmt"
	"strings"

	"locklab/reports/draw"

	vgdraw "gonum.org/v1/plot/vg/draw"
)

// RankingLocal and RankingRemote rank the locks in the most contended situation.
var (
	RankingLocal = &Chart{
		Name:   "ranking",
		Title:  "How do the locks rank where most workers contend?",
		Doc:    rankingDoc,
		Judged: true,
		Draw:   drawRanking,
	}
	RankingRemote = &Chart{
		Name:   "ranking-distributed",
		Title:  "How do the distributed locks rank where most workers contend?",
		Doc:    rankingDoc,
		Remote: true,
		Judged: true,
		Draw:   drawRanking,
	}
)

const rankingDoc = "Sorted by median rate (distributed: handovers per second). " +
	"Mark: the median; bar: its 95 % order-statistic interval, or the range if there are fewer than six rounds; a point at its end: it continues. " +
	"Star: the chosen lock; box: the default of the standard library; triangle: the fastest peer. Hue: family. " +
	"Field: the tolerance around the fastest lock. The decision compares rates within each round, so a mark outside the field may still be equivalent. " +
	"p99 wait: ≤ below the resolution of the clock; – too few samples."

func drawRanking(g *Group) Picture {
	r := newRanking(g)
	title := fmt.Sprintf("How do the %s rank with %s?", map[bool]string{false: "locks", true: "distributed locks"}[g.Remote], r.setting())
	if len(r.rows) == 0 {
		pic := nothing("With %s, no lock has a rate to rank it by.", r.setting())
		pic.Title = title
		return pic
	}
	return Picture{
		Title:   title,
		Answer:  r.answer(),
		Numbers: r.table(),
		Data:    r.data(),
		Picture: draw.Picture{Height: r.height(), Body: func(c vgdraw.Canvas) error {
			r.draw(c)
			return nil
		}},
	}
}

// answer returns the decision on the situation, and the fastest lock.
func (r *ranking) answer() string {
	var parts []string
	for _, d := range r.decisions {
		text := Why(d)
		if d.Use != "" {
			text = d.Use + ", " + text
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("With %s: %s.", r.setting(), strings.Join(parts, "; "))
}

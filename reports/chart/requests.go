package chart

import (
	"fmt"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// RequestsRemote draws the requests of an acquisition: a thundering herd is a rising line.
var RequestsRemote = &Chart{
	Name:    "requests-distributed",
	Carries: true,
	Title:   "How many requests does an acquisition cost as workers are added?",
	Doc:     lineDoc + " Counted at the clients, without keep-alives.",
	Remote:  true,
	Draw:    DrawRequests,
}

// wideSpread is the ratio of requests above which a linear axis no longer separates locks.
const wideSpread = 20

func DrawRequests(g *Group) Picture {
	l := workersChart(g, result.Requests, draw.CountScale)
	l.Format, l.Figure, l.YTitle = numfmt.Number, numfmt.Number, "requests per acquisition"
	if len(l.Lines) == 0 {
		return nothing("No request was counted in this run.")
	}
	// With a herd on a linear axis, all other lines would lie on the axis.
	if logs := workersChart(g, result.Requests, draw.LogScale); logs.Spread() > wideSpread {
		l.Y, l.Lines, l.YTitle = draw.LogScale, logs.Lines, l.YTitle+" (log scale)"
	}
	return ofLines(l, wireAnswer(g), wireTable(g), g.source(result.Requests))
}

func wireAnswer(g *Group) string {
	w := g.Crowd()
	fs := g.figures(w, result.Requests)
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, no requests were counted.", g.unit(w))
	}
	return fmt.Sprintf("With %s, %s.", g.unit(w), extremes(fs, "the most requests per acquisition", "the fewest", numfmt.Number))
}

func wireTable(g *Group) Table {
	return g.table(nil, withInterval(result.Requests.Unit, result.Requests), withInterval(result.Notifications.Unit, result.Notifications),
		inUnits(g.known(result.ServerCPU, result.ServerMemory, result.Connections)...), metrics(g.inTrips(result.TurnRoundTrips, result.HandoverRoundTrips)...))
}

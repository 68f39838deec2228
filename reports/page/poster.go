package page

import (
	"cmp"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// standalone returns the page of a chart, for the largest group if it is of groups.
func standalone(run *result.Run, name string) (draw.Poster, error) {
	run = chart.Sanitize(run)
	var names []string
	for _, c := range chart.TableCharts(run) {
		if c.Name == name {
			return findingPage(c, run), nil
		}
		names = append(names, c.Name)
	}
	for _, c := range chart.RunFaultCharts(run) {
		if c.Name == name {
			return faultPage(c, run), nil
		}
		names = append(names, c.Name)
	}
	for _, c := range chart.SimulatedCharts(chart.ModelledOf(run, chart.Groups(run))) {
		if c.Name == name {
			return simulatedPage(c, run), nil
		}
		names = append(names, c.Name)
	}
	c, err := chart.Find(name, names...)
	if err != nil {
		return draw.Poster{}, err
	}
	p := draw.Poster{Title: c.Title, Foot: origin(run)}
	g := c.Subject(chart.Groups(run))
	if g == nil {
		p.Answer = chart.NoGroup(c.Remote)
	} else {
		under := c.Under(g)
		g = under[0]
		pic := c.Drawn(g)
		p.Picture, p.Answer = pic.Picture, pic.Answer
		p.Title = g.Titled(cmp.Or(pic.Title, p.Title))
		p.Data = chart.Plain(pic.Data.Sentence())
		p.Note = c.Doc + " Workload: " + cmp.Or(pic.Load, g.Axes) + "."
		if len(under) > 1 {
			var others []string
			for _, o := range under[1:] {
				others = append(others, o.Conditions)
			}
			p.Note += " The report has a chart for each of the other conditions: " + numfmt.List(others, len(others)) + "."
		}
	}
	return p, nil
}

func findingPage(c chart.FindingChart, run *result.Run) draw.Poster {
	p := draw.Poster{Title: chart.Title(c.Finding), Answer: chart.Answer(c.Finding), Caption: c.Table.Caption, Foot: origin(run)}
	p.Data = chart.Plain(chart.Source{Experiments: []string{cmp.Or(c.Finding.Name, "without a name")}, Table: c.Number}.Sentence())
	pic, how := chart.DrawTable(c.Table)
	p.Picture, p.Note = pic.Picture, how
	if pic.Height == 0 {
		p.Caption += ": " + pic.Answer
	}
	if c.Finding.Interrupted {
		p.Note = chart.Stopped + " " + p.Note
	}
	return p
}

func faultPage(c chart.FaultChart, run *result.Run) draw.Poster {
	return draw.Poster{Title: c.Title, Answer: c.Pic.Answer, Note: c.Doc, Data: chart.Plain(c.Pic.Data.Sentence()), Foot: origin(run), Picture: c.Pic.Picture}
}

func simulatedPage(c chart.SimulatedChart, run *result.Run) draw.Poster {
	return draw.Poster{Title: c.Titled(), Answer: c.Pic.Answer, Note: c.Note(), Data: chart.Plain(c.Pic.Data.Sentence()), Foot: simulatedFoot(c, run), Picture: c.Pic.Picture}
}

func simulatedFoot(c chart.SimulatedChart, run *result.Run) string {
	text := "simulated: " + c.Of.Name() + ", " + c.Of.Shape()
	if c.Pic.Data.Metrics != nil {
		return text + "; measured: " + origin(run)
	}
	if commit := run.Manifest.Commit; commit != "" {
		text += " · locklab " + shortCommit(commit)
	}
	return text
}

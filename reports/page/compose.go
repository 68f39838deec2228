package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

func outline(run *result.Run) *document {
	doc := &document{
		Title:      "Which lock for which contention?",
		Origin:     origin(run),
		Rule:       ruleText(run.Manifest),
		Exclusions: exclusions(run),
		Broken:     breaches(run),
		Audit:      audit(run),
		Facts:      environment(run),
		Modules:    modules(run),
		Command:    command(run),
		Rounds:     roundsSeen(run),
		Tokens:     paints(),
	}
	doc.conclude(run)
	return doc
}

func paints() (out []paint) {
	for _, t := range draw.Tokens {
		out = append(out, paint{t.Name, template.CSS(draw.CSS(t.Light)), template.CSS(draw.CSS(t.Dark))})
	}
	return out
}

func compose(run *result.Run) (*document, error) {
	run = chart.Sanitize(run)
	doc := outline(run)
	if err := doc.drawLocks(chart.Groups(run)); err != nil {
		return nil, err
	}
	doc.rank()
	if d := chart.NewDistance(run, chart.Groups(run)); d != nil {
		doc.Served = append(doc.Served, distanceSection(d))
	}
	if d := chart.NewContention(run, chart.Groups(run)); d != nil && d.HasLaw() {
		doc.Served = append(doc.Served, contentionSection(d))
	}
	var err error
	if doc.Hardware, err = studies(run); err != nil {
		return nil, err
	}
	if doc.Simulated, err = composeSimulated(run); err != nil {
		return nil, err
	}
	doc.Expected = expectedText(run)
	switch doc.Measured = len(run.Results) > 0 || doc.Hardware == nil && len(run.Faults) == 0 && doc.Simulated == nil; {
	case doc.Measured:
	case doc.Hardware != nil:
		doc.Title = "What does this machine's hardware do?"
	case doc.Simulated != nil:
		doc.simulatedOnly(run)
	}
	for i := range doc.Hardware {
		doc.Hardware[i].Folded = doc.Measured
	}
	if doc.Safety, err = composeSafety(run); err != nil {
		return nil, err
	}
	if !doc.Measured && doc.Safety != nil && doc.Safety.Tries > 0 {
		doc.Title = doc.Safety.Title
	}
	if doc.Measured && doc.Safety != nil {
		for i := range doc.Safety.Figures {
			doc.Safety.Figures[i].Folded = true
		}
	}
	doc.glossary = newGlossary(run)
	return doc, nil
}

// rankedCharts are shown next to the sheet, one for each kind of lock.
var rankedCharts = []string{"ranking", "ranking-distributed"}

func (doc *document) rank() {
	for _, ss := range [][]section{doc.Local, doc.Served} {
		for i := range ss {
			ss[i].Figures = slices.DeleteFunc(ss[i].Figures, func(f figure) bool {
				if !slices.Contains(rankedCharts, f.Name) || ss[i].Folded {
					return false
				}
				f.Folded = false
				doc.Ranked = append(doc.Ranked, f)
				return true
			})
		}
	}
}

// foldedRoom limits the bytes of folded groups in a page, which may be hundreds.
const foldedRoom = 400_000

// drawLocks draws the sections of gs for each kind of lock: the group with the most cases
// and the other groups, folded.
func (doc *document) drawLocks(gs []*chart.Group) error {
	for _, remote := range []bool{false, true} {
		first := chart.Anchored(gs, remote)
		if first == nil {
			continue
		}
		var sections []section
		var omitted []string
		room := foldedRoom
		for i, g := range gs {
			if g.Remote != remote || g != first && (len(g.Workers) < 2 || g.Open()) {
				continue // one point is no curve; the verdict table and the open-loop charts have it
			}
			if room <= 0 {
				omitted = append(omitted, g.Axes)
				continue
			}
			s, err := draft(g, fmt.Sprintf("%s, %s", kind(remote), g.Axes), strconv.Itoa(i))
			if err != nil {
				return err
			}
			if s.Folded = g != first; s.Folded {
				room -= s.size()
			}
			sections = append(sections, s)
		}
		if omitted != nil {
			sections[0].Note += "Not drawn by themselves, to keep this page small: " + numfmt.List(omitted, 12) + "."
		}
		if remote {
			doc.Served = sections
		} else {
			doc.Local = sections
		}
	}
	return nil
}

func (s section) size() (n int) {
	for _, f := range s.Figures {
		n += len(f.SVG)
		for _, h := range f.Head {
			n += len(`<th scope="col"><a href="#"></a></th>`) + len(h.Text) + len(link(h)) + len(tip(h))
		}
		for _, row := range f.Rows {
			for _, text := range row {
				n += len(text) + len("<td></td>")
			}
		}
	}
	return n
}

func kind(remote bool) string {
	if remote {
		return "Distributed locks"
	}
	return "Local locks"
}

// draft draws the charts of g; anchors end in id.
func draft(g *chart.Group, title, id string) (section, error) {
	s := section{ID: "group-" + id, Title: title, Slug: chart.SlugOf(g.Axes)}
	for _, c := range chart.Suite {
		if c.Remote != g.Remote || g.Open() && !c.Open || (c.Open || c.Judged) && g != c.Subject(g.Both) {
			continue
		}
		pic := c.Drawn(g)
		if c.Open && pic.Height == 0 {
			continue
		}
		named := chart.Named{Name: c.Name, Title: cmp.Or(pic.Title, c.Title), Doc: c.Doc, Pic: pic, Folded: !c.Carries && !c.Judged}
		if c.Judged || c.Open {
			named.Doc += " Workload: " + cmp.Or(pic.Load, g.Axes) + "."
		}
		f, err := newFigure(named, c.Name+"-"+id)
		if err != nil {
			return s, err
		}
		s.Figures = append(s.Figures, f)
	}
	return s, nil
}

func distanceSection(d *chart.Distances) section {
	s := section{ID: "distance", Title: "Distributed locks, what distance costs", Slug: "distance", Note: d.Notes() + " Workload: " + d.Load() + ".",
		Folded: len(d.Asked)+len(d.Far) == 0}
	add := func(name, title, answer string, t chart.Table) {
		s.Figures = append(s.Figures, figure{Name: name, ID: name, Title: title, Answer: answer, Head: t.Head, Rows: t.Rows, Shown: true})
	}
	add("distance-cost", "What does each lock ask of its servers, and how often does it wait for an answer?", d.CostsAnswer(), d.Costs())
	if len(d.Asked)+len(d.Far) > 0 {
		add("distance-predicted", "What would it take at another round trip?", d.Answer(), d.Predictions())
	}
	return s
}

func contentionSection(d *chart.Contention) section {
	t := d.Rows()
	return section{ID: "contenders", Title: "Distributed locks, many contenders", Slug: "contenders", Note: d.Notes(), Folded: len(d.Asked) == 0, Figures: []figure{
		{Name: "contenders-table", ID: "contenders-table", Title: chart.ContendersTitle, Answer: d.Answer() + " " + d.Laws(), Head: t.Head, Rows: t.Rows, Shown: true},
	}}
}

func breaches(run *result.Run) (out []breach) {
	for _, r := range run.Results {
		for _, v := range r.Violations {
			out = append(out, breach{r.Lock.Name, r.Workload.Name(), v.Rule, v.Detail, r.Round + 1, v.Count, v.Trace})
		}
	}
	slices.SortStableFunc(out, func(a, b breach) int { return strings.Compare(a.Lock, b.Lock) })
	return out
}

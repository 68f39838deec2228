package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// Limits of one picture of a history.
const (
	mostHistoryBytes = 64 << 20
	mostLanes        = 8
	mostMarks        = 400 // events drawn; the file has all
)

// A Timeline is a history with its interpretation.
type Timeline struct {
	r       *result.FaultResult
	name    string // of the file
	history oracle.History
	oracle.Judgement
	finding  oracle.Finding
	from, to int64          // the range drawn
	events   []oracle.Event // in that range
	lanes    []int          // workers
}

// ReadTimeline reads the history called name, of a try of r.
func ReadTimeline(run *result.Run, r *result.FaultResult, name string) (*Timeline, error) {
	f, err := os.Open(run.HistoryFile(name))
	if err != nil {
		return nil, errors.Unwrap(err) // the caller has the name
	}
	defer f.Close()
	h, err := oracle.ReadHistory(io.LimitReader(f, mostHistoryBytes))
	if err != nil {
		return nil, err
	}
	if len(h) == 0 {
		return nil, errors.New("it has no event")
	}
	for i, e := range h {
		h[i].Text = result.OneLine(e.Text)
	}
	h.Sort()
	s := &Timeline{r: r, name: name, history: h, Judgement: oracle.Judge(h, oracle.RulesOf(r.Lock.Traits, 0))}
	s.frame()
	return s, nil
}

func (s *Timeline) frame() {
	first, last := s.history[0].At, s.history[len(s.history)-1].At
	s.from, s.to = max(first, last-int64(4*time.Second)), last
	i := slices.IndexFunc(s.Findings, func(f oracle.Finding) bool { return f.Anomaly != "" })
	if i >= 0 {
		s.finding = s.Findings[i]
		end := max(s.finding.To, s.finding.From)
		for _, o := range s.Overlaps { // up to the first release
			if s.finding.Anomaly == oracle.TwoHolders && s.Holds[o.Later].Acquired == s.finding.From {
				end = max(end, min(s.Holds[o.Earlier].Releasing, end+int64(2*time.Second)))
			}
		}
		around := max(int64(40*time.Millisecond), (end-s.finding.From)*4/10)
		s.from, s.to = max(first, s.finding.From-around), min(last, end+around)
		// Include the fault that caused it.
		for _, e := range s.history {
			if (e.Kind == oracle.Fault || e.Kind == oracle.Killed || e.Kind == oracle.Paused) && e.At < s.from && s.finding.From-e.At < 8*(s.to-s.from) {
				s.from = max(first, e.At-around/2)
				break
			}
		}
	}
	if s.to <= s.from {
		s.to = s.from + int64(time.Millisecond)
	}
	add := func(w int, at bool) {
		if w >= 0 && at && !slices.Contains(s.lanes, w) {
			s.lanes = append(s.lanes, w)
		}
	}
	for _, h := range s.Holds {
		add(h.Worker, h.Acquired <= s.to && h.Releasing >= s.from)
	}
	for _, e := range s.history { // workers without a hold come last
		if e.At >= s.from && e.At <= s.to && len(s.events) < mostMarks {
			s.events = append(s.events, e)
			add(e.Worker, true)
		}
	}
	s.lanes = s.lanes[:min(len(s.lanes), mostLanes)]
	slices.Sort(s.lanes)
}

func (s *Timeline) Title() string {
	return fmt.Sprintf("What happened to %s in %s?", s.r.Lock.Name, s.r.Scenario)
}

// Answer summarizes the history.
func (s *Timeline) Answer() string {
	if s.finding.Anomaly == "" {
		return "The history itself shows no anomaly: it was counted elsewhere, such as at the server."
	}
	text := numfmt.Sentence(string(s.finding.Anomaly)) + " " + numfmt.Sentence(s.finding.Text)
	if s.finding.Anomaly == oracle.TwoHolders && s.Longest > 0 {
		text += fmt.Sprintf(" Two held it for %s at the longest.", numfmt.Nanos(float64(s.Longest)))
	}
	if s.Refused > 0 {
		text += fmt.Sprintf(" The resource refused %s.", numfmt.Plural(s.Refused, "write"))
	}
	return text
}

const HistoryDoc = "A lane is a worker, on the one clock of all events. Thin line: it waits for the lock; bar: it definitely holds it, from the grant to the beginning of the release or the news that it is lost; rust: another holds it too. Triangle: a write that the resource took; cross: one that it refused; #: the token. Vertical line: a fault begins or ends."

const (
	laneHeight  = vg.Length(30)
	laneBar     = vg.Length(9)
	laneNames   = vg.Length(66)
	faultLine   = vg.Length(13)
	historyFoot = vg.Length(50)
	mostFaults  = 3 // lines of texts

	spare = 1.2 // of the width of a text at the edge: a reader's typeface may be wider
)

func (s *Timeline) Picture() Picture {
	p := Picture{Answer: s.Answer(), Picture: draw.Picture{Height: vg.Length(s.faultRows())*faultLine + 8 + vg.Length(len(s.lanes))*laneHeight + historyFoot, Body: s.body}}
	p.Numbers.Head = Titles("at", "worker", "event", "token", "what")
	for _, e := range s.events {
		worker, token := numfmt.Unknown, ""
		if e.Worker >= 0 {
			worker = fmt.Sprint(e.Worker)
		}
		if e.Token > 0 {
			token = fmt.Sprint(e.Token)
		}
		text := e.Text
		if e.Kind == oracle.Wrote {
			text = strings.TrimSpace(map[bool]string{true: "taken", false: "refused"}[e.Taken] + " " + text)
		}
		p.Numbers.Rows = append(p.Numbers.Rows, []string{s.at(e.At), worker, string(e.Kind), token, text})
	}
	return p
}

func (s *Timeline) at(t int64) string { return numfmt.Nanos(float64(t - s.Start)) }

func (s *Timeline) body(c vgdraw.Canvas) error {
	field := c
	field.Min.X += laneNames
	field.Max.X -= 10
	field.Min.Y += historyFoot
	field.Max.Y -= vg.Length(s.faultRows())*faultLine + 8
	x := func(t int64) vg.Length {
		share := float64(t-s.from) / float64(s.to-s.from)
		return field.Min.X + vg.Length(math.Min(math.Max(share, 0), 1))*field.Size().X
	}
	name := draw.Typeset(8.5, draw.Ink, vgdraw.XLeft, vgdraw.YCenter)
	middle := make(map[int]vg.Length)
	for i, w := range s.lanes {
		y := field.Max.Y - (vg.Length(i)+0.5)*laneHeight
		middle[w] = y
		if i%2 == 0 {
			c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, y-laneHeight/2, c.Max.X, y+laneHeight/2))
		}
		c.FillText(name, vg.Point{X: c.Min.X + 4, Y: y + draw.Lift}, fmt.Sprintf("worker %d", w))
	}
	s.scale(c, field, x)
	s.faults(c, field, x)
	s.spans(c, x, middle)
	s.marks(c, x, middle)
	c.Max.Y = c.Min.Y + 16
	draw.DrawNotes(c, historyNotes)
	return nil
}

func (s *Timeline) faultRows() int {
	other := func(e oracle.Event) bool { return e.Kind != oracle.Fault && e.Kind != oracle.Over }
	return min(len(slices.DeleteFunc(slices.Clone(s.events), other)), mostFaults)
}

func (s *Timeline) scale(c, field vgdraw.Canvas, x func(int64) vg.Length) {
	st := draw.Typeset(8.5, draw.Muted, vgdraw.XCenter, vgdraw.YTop)
	for _, t := range draw.LinearTicks(float64(s.from-s.Start), float64(s.to-s.Start), numfmt.Nanos) {
		at := x(s.Start + int64(t.Value))
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Grid.RGBA(), Width: vg.Points(0.6)}, at, field.Min.Y, at, field.Max.Y)
		c.FillText(st, vg.Point{X: at, Y: field.Min.Y - 3}, t.Label)
	}
}

// faults draws a line at each fault and its end. The first ones have their texts, each in its
// own row.
func (s *Timeline) faults(c, field vgdraw.Canvas, x func(int64) vg.Length) {
	row := 0
	for _, e := range s.events {
		hue, text := draw.Rust, e.Text
		switch e.Kind {
		case oracle.Fault:
		case oracle.Over:
			hue, text = draw.Muted, strings.TrimSpace("undone: "+text)
		default:
			continue
		}
		at, top := x(e.At), field.Max.Y+2
		if row < mostFaults {
			st := draw.Typeset(8.5, hue, vgdraw.XLeft, vgdraw.YCenter)
			text = draw.Shorten(st, text, 260)
			top = field.Max.Y + (vg.Length(row)+0.5)*faultLine
			c.FillText(st, vg.Point{X: min(at+3, c.Max.X-st.Width(text)*spare), Y: top + draw.Lift}, text)
		}
		c.StrokeLine2(faultStyle(hue), at, field.Min.Y, at, top)
		row++
	}
}

// spans draws the waits as lines and the holds as bars.
func (s *Timeline) spans(c vgdraw.Canvas, x func(int64) vg.Length, middle map[int]vg.Length) {
	span := func(hue draw.Token, thick vg.Length, worker int, from, to int64) {
		if y, ok := middle[worker]; ok && to >= s.from && from <= s.to {
			c.FillPolygon(hue.RGBA(), draw.Rect(x(from), y-thick/2, max(x(to), x(from)+1.5), y+thick/2))
		}
	}
	for _, a := range s.Attempts {
		span(draw.Axis, vg.Points(1.2), a.Worker, a.Asked, a.Answered)
	}
	for _, h := range s.Holds {
		span(draw.Blue, laneBar, h.Worker, h.Acquired, h.Releasing)
	}
	for _, o := range s.Overlaps {
		a, b := s.Holds[o.Earlier], s.Holds[o.Later]
		from := max(a.Acquired, b.Acquired)
		span(draw.Rust, laneBar, a.Worker, from, from+int64(o.Length))
		span(draw.Rust, laneBar, b.Worker, from, from+int64(o.Length))
	}
}

// marked are the events with an upright mark and their name.
var marked = map[oracle.EventKind]draw.Token{
	oracle.Told: draw.Ink, oracle.Failed: draw.Muted, oracle.Refused: draw.Muted,
	oracle.Paused: draw.Rust, oracle.Resumed: draw.Rust, oracle.Killed: draw.Rust,
}

func (s *Timeline) marks(c vgdraw.Canvas, x func(int64) vg.Length, middle map[int]vg.Length) {
	ends := make(map[int]vg.Length)
	word := func(e oracle.Event, text string, hue draw.Token) {
		st := draw.Typeset(7.5, hue, vgdraw.XLeft, vgdraw.YCenter)
		at := min(x(e.At), c.Max.X-st.Width(text)*spare)
		if at > ends[e.Worker] {
			c.FillText(st, vg.Point{X: at, Y: middle[e.Worker] + laneBar/2 + 5.5 + draw.Lift}, text)
			ends[e.Worker] = at + st.Width(text) + 4
		}
	}
	for _, e := range s.events {
		y, ok := middle[e.Worker]
		if !ok {
			continue
		}
		if hue, ok := marked[e.Kind]; ok {
			c.StrokeLine2(vgdraw.LineStyle{Color: hue.RGBA(), Width: vg.Points(1.6)}, x(e.At), y-laneBar/2-2, x(e.At), y+laneBar/2+2)
			word(e, string(e.Kind), hue)
		}
		switch e.Kind {
		case oracle.Granted:
			if e.Token > 0 {
				word(e, tokenName(e.Token), draw.Muted)
			}
		case oracle.Wrote:
			st := vgdraw.GlyphStyle{Color: draw.Ink.RGBA(), Radius: 3, Shape: vgdraw.PyramidGlyph{}}
			if !e.Taken {
				st.Color, st.Shape = draw.Rust.RGBA(), vgdraw.CrossGlyph{}
			}
			c.DrawGlyphNoClip(st, vg.Point{X: x(e.At), Y: y - laneBar/2 - 5})
		}
	}
}

func tokenName(token uint64) string {
	text := fmt.Sprint(token)
	if len(text) > 7 {
		text = "…" + text[len(text)-5:]
	}
	return "#" + text
}

var historyNotes = []draw.Note{
	{Colour: draw.Axis, Line: true, Text: "waits"}, {Colour: draw.Blue, Text: "holds"}, {Colour: draw.Rust, Text: "two hold"},
	draw.GlyphNote(vgdraw.PyramidGlyph{}, "write taken"), draw.GlyphNote(vgdraw.CrossGlyph{}, "write refused"),
	upright("told that it is lost", vgdraw.LineStyle{Color: draw.Ink.RGBA(), Width: vg.Points(1.6)}), upright("fault", faultStyle(draw.Rust)),
}

func upright(text string, st vgdraw.LineStyle) draw.Note {
	return draw.Note{Text: text, Sample: func(c vgdraw.Canvas, box vg.Rectangle) {
		x := box.Max.X - 4
		c.StrokeLine2(st, x, box.Min.Y-2, x, box.Max.Y+2)
	}}
}

func faultStyle(hue draw.Token) vgdraw.LineStyle {
	return vgdraw.LineStyle{Color: hue.RGBA(), Width: vg.Points(1), Dashes: []vg.Length{3, 2}}
}

// Limits of the histories in a page.
const (
	mostTimelines = 6
	openTimelines = 2 // not folded, on a page about failures only
)

// FaultCharts returns the charts of the histories of run, and notes on histories without a
// chart.
func FaultCharts(run *result.Run) (charts []Named, notes []string) {
	var rows []result.FaultOutcome
	total := 0
	for _, f := range run.Faults {
		if total += len(f.Histories); len(f.Histories) > 0 {
			rows = append(rows, result.JudgeFault(f))
		}
	}
	rank := func(row result.FaultOutcome) int {
		switch {
		case row.Verdict == result.Unexpected:
			return 0
		case row.Broken > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(rows, func(a, b result.FaultOutcome) int { return cmp.Compare(rank(a), rank(b)) })
	for _, row := range rows {
		if len(charts) == mostTimelines {
			break
		}
		st, err := ReadTimeline(run, row.Fault, row.Fault.Histories[0])
		if err != nil {
			notes = append(notes, fmt.Sprintf("The history %s cannot be drawn: %v.", row.Fault.Histories[0], err))
			continue
		}
		charts = append(charts, Named{Name: fmt.Sprintf("history-%d", len(charts)+1), Title: st.Title(), Doc: HistoryDoc + " From " + st.name + ".", Pic: st.Picture(), Folded: len(charts) >= openTimelines})
	}
	if rest := total - len(charts) - len(notes); rest > 0 {
		notes = append(notes, fmt.Sprintf("%d more %s beside the results.", rest, numfmt.Choose(rest, "history lies", "histories lie")))
	}
	return charts, notes
}

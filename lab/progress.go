package lab

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/runner"
	"locklab/harness/stat"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// progress shows how far a run, a comparison of two builds or an experiment has
// come: one line that is written over on a terminal, elsewhere a line every ten seconds.
type progress struct {
	out      io.Writer
	width    func() int // of the terminal; nil if out is none
	rates    map[string][]float64
	disturbs func() (steal, load float64)
	pause    time.Duration            // between two lines elsewhere
	written  time.Time                // of the last of them
	shown    bool                     // a line is there to be written over
	bar      *progressbar.ProgressBar // in its place, of an experiment; nil if there is none
}

// newProgress returns a progress on out.
func (p *Program) newProgress(out io.Writer) *progress {
	s := newProgress(out)
	if p.everyStep {
		s.pause = 0
	}
	return s
}

func newProgress(out io.Writer) *progress {
	s := &progress{out: out, pause: 10 * time.Second, rates: make(map[string][]float64), disturbs: machine.NewMeter().Read}
	if f, ok := out.(file); ok && term.IsTerminal(int(f.Fd())) {
		s.width = func() int { return width(f) }
	}
	return s
}

// add notes a result, of this run or of an earlier part of it.
func (s *progress) add(name string, r *harness.Result) {
	if rate, ok := metric.Throughput.Of(r); ok && len(r.Violations) == 0 {
		s.rates[name] = append(s.rates[name], rate)
	}
}

func (s *progress) update(p runner.Progress) {
	name := p.Case.Name()
	if p.Result == nil && p.Lost == nil {
		if s.width != nil && !s.shown {
			s.line(step{done: p.Done, total: p.Total, name: name, left: p.Left})
		}
		return
	}
	for _, text := range oddities(p) {
		s.lasting(text)
	}
	if p.Lost != nil {
		return
	}
	s.add(name, p.Result)
	at := step{done: p.Done, total: p.Total, round: p.Round + 1, name: name, figure: figure(s.rates[name]), left: p.Left}
	if len(p.Result.Violations) > 0 {
		at.figure = "VIOLATED " + p.Result.Violations[0].Rule
	}
	if len(p.Result.Violations) > 0 {
		s.lasting(at.figure + ": " + name)
	}
	s.show(at)
}

// show shows at, and what disturbs the machine.
func (s *progress) show(at step) {
	at.steal, at.load = s.disturbs()
	switch {
	case s.width != nil:
		s.line(at)
	case time.Since(s.written) >= s.pause || at.done == at.total:
		s.written = time.Now()
		fmt.Fprintln(s.out, at.plain())
	}
}

// parts returns a function that shows how many parts of the named experiment are
// done: a bar on a terminal, elsewhere a line for every tenth of an experiment that
// takes long.
func (s *progress) parts(name string) func(done, total int) {
	const long = 10 * time.Second
	begin, told := time.Now(), 0
	return func(done, total int) {
		if s.width != nil {
			if s.bar == nil {
				s.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(s.out), progressbar.OptionFullWidth(),
					progressbar.OptionShowCount(), progressbar.OptionSetDescription(name), progressbar.OptionClearOnFinish())
			}
			s.bar.Set(done) // an error means only that the bar could not be drawn
			return
		}
		if tenth := 10 * done / max(1, total); tenth > told && time.Since(begin) > long {
			told = tenth
			fmt.Fprintf(s.out, "%s: %d of %d\n", name, done, total)
		}
	}
}

// oddities returns a line for each process that p tells of and that gave no
// result.
func oddities(p runner.Progress) (lines []string) {
	name := p.Case.Name()
	if p.Lost != nil {
		return []string{"LOST " + loss(p).String()}
	}
	for _, why := range p.Result.Retries {
		lines = append(lines, fmt.Sprintf("AGAIN %s, round %d: %s; it was measured again", name, p.Round+1, why))
	}
	return lines
}

// lasting writes a line that stays.
func (s *progress) lasting(text string) {
	s.clear()
	fmt.Fprintln(s.out, text)
}

// line writes over the line before.
func (s *progress) line(at step) {
	// The last column stays empty: some terminals begin a new line there.
	fmt.Fprintf(s.out, "\r%s\x1b[K", at.fit(s.width()-1))
	s.shown = true
}

// clear takes the line or the bar away.
func (s *progress) clear() {
	if s.bar != nil && !s.bar.IsFinished() {
		s.bar.Exit() // likewise
		s.shown = true
	}
	s.bar = nil
	if s.shown {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.shown = false
	}
}

// figure says what a case gave so far: the median of its rounds and, from six on,
// the greater half of the interval around it.
func figure(rates []float64) string {
	sum := stat.Summarize(rates)
	if sum.N == 0 {
		return ""
	}
	text := numfmt.Plain(numfmt.PerSecond(sum.Median))
	if sum.N < stat.MinRounds(0.95) {
		return text
	}
	return fmt.Sprintf("%s ±%.0f %%", text, 100*sum.Spread())
}

// A step is what a line of progress says.
type step struct {
	done, total, round int
	name, figure       string
	left               time.Duration
	steal, load        float64
}

// plain is the line for a file: everything, in columns.
func (s step) plain() string {
	return strings.TrimRight(fmt.Sprintf("%s round %-2d  %-44s  %-15s  %s  %s", s.count(), s.round, s.name, s.figure, s.rest(), s.noise()), " ")
}

func (s step) count() string {
	return fmt.Sprintf("[%*d/%d]", len(fmt.Sprint(s.total)), s.done, s.total)
}

// rest says how long it will take from here, in at least seven characters.
func (s step) rest() string {
	return fmt.Sprintf("%7s left", time.Duration(max(0, s.left)).Round(time.Second))
}

// noise says what disturbs the machine, as far as that is known.
func (s step) noise() string {
	var parts []string
	if s.figure != "" && !math.IsNaN(s.steal) {
		parts = append(parts, fmt.Sprintf("steal %.0f %%", 100*s.steal))
	}
	if s.figure != "" && !math.IsNaN(s.load) {
		parts = append(parts, fmt.Sprintf("load %.1f", s.load))
	}
	return strings.Join(parts, " ")
}

// leastName is how much of a case's name is worth showing.
const leastName = 16

// fit is the line for a terminal of so many columns: what does not fit goes from
// the right, after the name was cut.
func (s step) fit(columns int) string {
	optional := []string{s.figure, strings.TrimSpace(s.rest()), s.noise()}
	name := strings.TrimPrefix(s.name, "lock=")
	for n := len(optional); n >= 0; n-- {
		tail := ""
		for _, part := range optional[:n] {
			if part != "" {
				tail += "  " + part
			}
		}
		room := columns - columnsOf(s.count()) - 1 - columnsOf(tail)
		if room >= min(leastName, columnsOf(name)) {
			return s.count() + " " + cut(name, room) + tail
		}
	}
	return cut(s.count(), columns)
}

// columnsOf returns how many columns text takes, whose characters take one each.
func columnsOf(text string) int { return utf8.RuneCountInString(text) }

// cut shortens text to so many columns.
func cut(text string, columns int) string {
	runes := []rune(text)
	switch {
	case len(runes) <= columns:
		return text
	case columns < 1:
		return ""
	}
	return string(runes[:columns-1]) + "…"
}

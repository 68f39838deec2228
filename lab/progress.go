package lab

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

func width(out io.Writer) int {
	if o, ok := out.(*output); ok {
		out = o.Writer
	}
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 100
}

// progress shows progress on a terminal in one line, elsewhere in one every ten seconds.
type progress struct {
	out     io.Writer
	builds  []string   // names of the builds that measure; nil for one build
	width   func() int // of the terminal; nil if out is not a terminal
	rates   map[string][]float64
	pause   time.Duration // between two lines, if not on a terminal
	written time.Time     // of the last of them
	shown   bool          // there is a line to overwrite
}

// linePause is the time between two lines if the output is not a terminal.
const linePause = 10 * time.Second

func (p *Program) newProgress(out io.Writer) *progress {
	s := &progress{out: out, pause: linePause, rates: make(map[string][]float64)}
	if p.everyStep {
		s.pause = 0
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.width = func() int { return width(f) }
	}
	return s
}

func (s *progress) add(name string, r *result.Result) {
	if rate, ok := result.Throughput.Of(r); ok && len(r.Violations) == 0 {
		s.rates[name] = append(s.rates[name], rate)
	}
}

func (s *progress) update(p measure.Progress) {
	name, build := p.Case.Name(), ""
	if s.builds != nil {
		build = fmt.Sprintf(" (%s build)", s.builds[p.Build])
	}
	switch {
	case p.Lost != nil:
		s.lasting("LOST " + loss(p).String() + build)
		return
	case p.Result == nil:
		if s.width != nil && !s.shown {
			s.line(step{done: p.Done, total: p.Total, name: name, left: p.Left})
		}
		return
	}
	for _, why := range p.Result.Retries {
		s.lasting(fmt.Sprintf("AGAIN %s, round %d: %s; it was measured again%s", name, p.Round+1, why, build))
	}
	name += build
	s.add(name, p.Result)
	at := step{done: p.Done, total: p.Total, round: p.Round + 1, name: name, figure: figure(s.rates[name]), left: p.Left, noise: p.Result.Noise}
	if len(p.Result.Violations) > 0 {
		at.figure = "VIOLATED " + p.Result.Violations[0].Rule
		s.lasting(at.figure + ": " + name)
	}
	s.show(at)
}

func (s *progress) show(at step) {
	switch {
	case s.width != nil:
		s.line(at)
	case time.Since(s.written) >= s.pause || at.done == at.total:
		s.written = time.Now()
		fmt.Fprintln(s.out, at)
	}
}

// parts returns a function that shows the parts of the named experiment. If out is not a
// terminal, a short experiment has no line.
func (s *progress) parts(name string) func(done, total int) {
	begin := time.Now()
	s.written = begin
	return func(done, total int) {
		took := time.Since(begin)
		if s.width != nil || took > linePause {
			s.show(step{done: done, total: total, name: name, left: took * time.Duration(total-done) / time.Duration(max(1, done))})
		}
	}
}

func (s *progress) lasting(text string) {
	s.clear()
	fmt.Fprintln(s.out, text)
}

func (s *progress) line(at step) {
	// The last column stays empty: some terminals begin a new line there.
	fmt.Fprintf(s.out, "\r%s\x1b[K", cut(at.String(), s.width()-1))
	s.shown = true
}

func (s *progress) clear() {
	if s.shown {
		fmt.Fprint(s.out, "\r\x1b[K")
		s.shown = false
	}
}

// figure formats the median of a case's rounds and, from six on, the half interval.
func figure(rates []float64) string {
	sum := stat.Summarize(rates)
	if sum.N == 0 {
		return ""
	}
	text := numfmt.Plain(numfmt.PerSecond(sum.Median))
	if sum.N < stat.MinRounds || sum.Median == 0 {
		return text
	}
	return fmt.Sprintf("%s ±%.0f %%", text, 100*sum.Spread())
}

// A step is the content of a line of progress.
type step struct {
	done, total, round int
	name, figure       string
	left               time.Duration
	noise              *machine.Noise // in the window; nil if it was not measured
}

func (s step) String() string {
	line := fmt.Sprintf("[%*d/%d] %7s left", len(fmt.Sprint(s.total)), s.done, s.total, time.Duration(max(0, s.left)).Round(time.Second))
	if s.round > 0 {
		line += fmt.Sprintf("  round %-2d", s.round)
	}
	line = fmt.Sprintf("%s  %-15s  %-44s", line, s.figure, strings.TrimPrefix(s.name, "lock="))
	if s.noise != nil && s.noise.Steal >= 0 {
		line += fmt.Sprintf("  steal %.0f %%", 100*s.noise.Steal)
	}
	if s.noise != nil && s.noise.Others >= 0 {
		line += fmt.Sprintf("  others %.0f %%", 100*s.noise.Others)
	}
	return strings.TrimRight(line, " ")
}

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

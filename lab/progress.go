package lab

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
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
	later   time.Duration // of the parts of the command after the shown one
	pause   time.Duration // between two lines, if not on a terminal
	written time.Time     // of the last of them

	mu    sync.Mutex  // protects the line on the terminal, which a goroutine counts down
	at    step        // content of the line
	since time.Time   // of at
	shown bool        // there is a line to overwrite
	tick  *time.Timer // draws it again; nil if out is not a terminal
}

// linePause is the time between two lines if the output is not a terminal.
const linePause = 10 * time.Second

// newProgress returns a progress on out of a part of a command; later is the time of the next parts.
// The caller must call clear at the end.
func (p *Program) newProgress(out io.Writer, later time.Duration) *progress {
	s := &progress{out: out, later: later, pause: linePause, rates: make(map[string][]float64)}
	if p.everyStep {
		s.pause = 0
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.countDown(func() int { return width(f) })
	}
	return s
}

// countDown shows s on a terminal of that width. It redraws the line every second, with less time
// left, until s is cleared.
func (s *progress) countDown(width func() int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = width
	s.tick = time.AfterFunc(time.Second, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tick == nil {
			return
		}
		if s.at.name != "" {
			s.draw()
		}
		s.tick.Reset(time.Second)
	})
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
			s.show(step{done: p.Done, total: p.Total, name: name, left: p.Left})
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
		s.mu.Lock()
		defer s.mu.Unlock()
		s.at, s.since = at, time.Now()
		s.draw()
	case time.Since(s.written) >= s.pause || at.done == at.total:
		s.written = time.Now()
		at.left += s.later
		fmt.Fprintln(s.out, at)
	}
}

// parts returns a function that shows the parts of the named experiment, which takes about whole, 0
// if unknown. If out is not a terminal, a short experiment has no line.
func (s *progress) parts(name string, whole time.Duration) func(done, total int) {
	begin := time.Now()
	s.written = begin
	return func(done, total int) {
		took := time.Since(begin)
		if s.width != nil || took > linePause {
			all := cmp.Or(whole, took*time.Duration(total)/time.Duration(max(1, done)))
			s.show(step{done: done, total: total, name: name, left: remaining(all, took, done, total)})
		}
	}
}

// remaining returns the time that the rest takes of what was estimated to take whole, if done of
// total took took. The rest counts as estimated in the rate, so a slow beginning changes it little.
func remaining(whole, took time.Duration, done, total int) time.Duration {
	ahead := float64(whole) * float64(total-done) / float64(max(1, total))
	return time.Duration(ahead * (float64(took) + ahead) / float64(max(1, whole)))
}

func (s *progress) lasting(text string) { fmt.Fprintln(s, text) }

// Write writes text that stays, above the line.
func (s *progress) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	return s.out.Write(text)
}

func (s *progress) draw() {
	at := s.at
	at.left = max(0, at.left-time.Since(s.since)) + s.later
	// The last column stays empty: some terminals begin a new line there.
	fmt.Fprintf(s.out, "\r%s\x1b[K", cut(at.String(), s.width()-1))
	s.shown = true
}

func (s *progress) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tick != nil {
		s.tick.Stop()
		s.tick = nil
	}
	s.erase()
}

func (s *progress) erase() {
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

package lab

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/reports/chart"
	"locklab/reports/page"
)

// The files of a report in the directory of its run.
const (
	reportName   = "index.html"
	detailsName  = "details.html"
	markdownName = "report.md"
	chartsName   = "charts" // the pictures of the Markdown
)

// machinesDir is the default directory of a report of several runs.
const machinesDir = "machines"

const reportHelp = `report draws an earlier run again: ` + reportName + `, and the same as ` + markdownName + ` with its
charts as PNG files. From several directories, such as the same run on several machines, it
draws one report: the recommendations of each, every lock on every machine in one frame, and the
ratio of each machine to the first with its interval.

Distributed locks are judged within the strongest class of guarantees that the failure
scenarios showed: of this run, of DIR/chaos, or of the runs that --chaos names. --require
recommends only locks whose tested guarantees hold: failover (one holder, and not stuck,
whichever server is lost), fencing (a resource that checks tokens takes no stale write),
order (served in order of arrival) and recovery (free again after its holder or a waiter
has died).

For distributed locks the report has the round trips of an acquisition and a handover,
and with --rtt how long they take at that round trip. This rests on the results without
--delay; results with delays are compared with their predictions.

With --contenders it predicts their rate with more contenders. The time per handover is
fitted to the points up to a tenth of the most workers, and the other points show the error.
The fit needs four points or more, such as those of --workers 5,10,20,50,500.

With --strict any warning in the report that --accept does not name makes the exit
status 3; the report is written all the same.`

const reportExamples = `  locklab report build/report
  locklab report build/report --out report.md             only the Markdown
  locklab report build/report --format json               for a program
  locklab report runs/laptop runs/server --out both       several machines in one report
  locklab report runs/laptop --chaos runs/faults          with the outcomes of failure scenarios
  locklab report runs/laptop --require failover,fencing   only locks with these guarantees
  locklab report runs/laptop --rtt 1.5ms,5ms              predicts distributed locks at these round trips
  locklab report runs/many --contenders 10k               predicts more contenders
  locklab report build/report --strict --accept guest     fails if the run has another warning
  locklab report build/report --png pictures              each chart as a picture`

type reportOptions struct {
	out, format, pictures string
	trips                 []time.Duration
	contenders            []int
	strictness
	guarantees guarding
}

func (p *Program) reportCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:     "report DIR [DIR]...",
		Short:   "Draw the report of an earlier run again, or one report of several runs",
		Long:    reportHelp,
		Example: reportExamples,
		Args:    needs(1, math.MaxInt, "report needs the directory of a run, or of several"),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			if err := o.validate(page.WarningKinds()); err != nil {
				return err
			}
			switch {
			case o.format != "" && o.format != "json":
				return usage("--format is %q: want json, or leave it out", o.format)
			case o.format != "" && o.out+o.pictures != "":
				return usage("--format json prints, and writes no file: leave out --out and --png")
			case len(o.guarantees.chaos) > 0 && len(dirs) > 1:
				return usage("--chaos is for one run; of several, each takes its own from DIR/%s", chaosName)
			}
			return interruptible(cmd.Context(), cmd.ErrOrStderr(), "the report", func(files *saver) error {
				return o.report(p.Name, dirs, files, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "FILE.html, FILE.md, or a directory for both (default DIR; of several, "+machinesDir+")")
	f.StringVar(&o.format, "format", "", "json: print the decisions, tables, quality and guarantees, and write no file; 'schema report' prints its JSON Schema")
	f.StringVar(&o.pictures, "png", "", "also write each chart as a PNG file into this directory; with its question and answer")
	f.Var(list(&o.trips, parseRoundTrip), "rtt", "predict distributed locks at these round trips to their servers, such as 1.5ms,5ms")
	f.Var(list(&o.contenders, parseContenders), "contenders", "predict distributed locks with these numbers of contenders, such as 10k,100k")
	o.guarantees.flags(cmd)
	o.guarantees.tableFlags(cmd)
	o.guarantees.runFlags(cmd)
	o.strictness.flags(cmd, "machine or the run")
	return cmd
}

func (o *reportOptions) report(program string, dirs []string, files *saver, stdout, stderr io.Writer) error {
	runs, err := o.guarantees.loadRuns(dirs)
	if err == nil {
		err = o.predict(runs)
	}
	switch {
	case err != nil:
		return err
	case o.format != "" && len(runs) > 1:
		return usage("--format json is for one run")
	case o.format != "":
		err = page.WriteJSON(stdout, runs[0])
	case len(runs) > 1:
		err = o.drawMachines(stdout, files, runs, dirs)
	default:
		err = o.drawRun(stdout, files, runs[0], cmp.Or(o.out, dirs[0]))
	}
	if err != nil {
		return err
	}
	var ws []machine.Warning
	for _, run := range runs {
		ws = append(ws, page.Warnings(run)...)
	}
	return o.refuseWarnings(program, ws, false, stderr)
}

var parseRoundTrip = within(1, harness.MaxDelay, time.ParseDuration, fmt.Sprintf("a round trip: want more than 0 and %v at most, such as 1.5ms", harness.MaxDelay))

const mostContenders = 10_000_000

func parseContenders(text string) (int, error) {
	digits := text
	for suffix, zeros := range map[string]string{"k": "000", "M": "000000"} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits = rest + zeros
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 2 || n > mostContenders {
		return 0, usage("%q is not a number of contenders: want 2 to %dM, such as 10k", text, mostContenders/1_000_000)
	}
	return n, nil
}

func (o *reportOptions) predict(runs []*result.Run) error {
	runs[0].Contenders, runs[0].RoundTrips = o.contenders, o.trips
	return cmp.Or(predictable(runs, "contenders", o.contenders != nil, chart.CanExtrapolate), predictable(runs, "rtt", o.trips != nil, page.CanPredict))
}

func predictable(runs []*result.Run, flag string, given bool, check func(*result.Run) error) error {
	switch {
	case !given:
		return nil
	case len(runs) > 1:
		return usage("--%s is for one run", flag)
	}
	if err := check(runs[0]); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

func loadRuns(dirs []string) ([]*result.Run, error) { return readRuns(dirs, loadRun) }

func loadRun(dir string) (*result.Run, error) {
	beThrifty()
	run, err := result.Load(dir)
	if err != nil {
		return nil, err
	}
	if m := run.Manifest; m.IsPart() {
		return nil, usage("%s is the part of rank %d of a run of %d ranks: make one run of all parts by 'merge' first", dir, m.Rank, m.Ranks)
	}
	return run, nil
}

func readRuns(dirs []string, load func(dir string) (*result.Run, error)) ([]*result.Run, error) {
	var runs []*result.Run
	for _, dir := range dirs {
		run, err := load(dir)
		if err != nil {
			return nil, err
		}
		for _, other := range runs {
			if sameDir(dir, other.Dir) || run.Manifest.IsCopyOf(other.Manifest) {
				return nil, usage("%s is given twice (also as %s): several runs must be different", dir, other.Dir)
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (o *reportOptions) drawMachines(stdout io.Writer, files *saver, runs []*result.Run, dirs []string) error {
	if o.pictures != "" {
		return usage("--png is for one run; of several, --out DIR writes the pictures to DIR/%s", chartsName)
	}
	doc, err := page.Machines(runs, dirs)
	if err != nil {
		return err
	}
	return newTarget(cmp.Or(o.out, machinesDir)).publish(stdout, files, doc, doc.HTML)
}

// beThrifty: a report holds a whole run in memory and makes several times as much garbage.
func beThrifty() { debug.SetGCPercent(25) }

func (o *reportOptions) drawRun(stdout io.Writer, files *saver, run *result.Run, out string) error {
	if o.pictures != "" {
		for _, p := range page.Posters(run) {
			if err := files.write(filepath.Join(o.pictures, p.Name+".png"), p.WritePNG); err != nil {
				return fmt.Errorf("chart %s: %w", p.Name, err)
			}
		}
	}
	return writeReport(stdout, files, run, out)
}

func writeReport(stdout io.Writer, files *saver, run *result.Run, out string) error {
	t := newTarget(out)
	doc := page.Report(run)
	html := doc.HTML
	if filepath.Base(t.html) == reportName {
		if err := files.write(filepath.Join(filepath.Dir(t.html), detailsName), doc.HTML); err != nil {
			return err
		}
		html = page.Brief(run, detailsName).HTML
	}
	return t.publish(stdout, files, doc, html)
}

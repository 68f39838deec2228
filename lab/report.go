package lab

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"locklab/harness"
	"locklab/harness/result"
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

func (p *Program) reportCommand() *cobra.Command {
	var out, format, pictures, rtt, contenders string
	var demand strictness
	var guarantees guarding
	cmd := &cobra.Command{
		Use:   "report DIR [DIR]...",
		Short: "Draw the report of an earlier run again, or of several beside each other",
		Long: `report draws an earlier run again: ` + reportName + `, and the same as ` + markdownName + ` with its
charts as PNG files.

Of several directories, such as the same run on several machines, it draws one
report: each one's verdicts, every lock on every machine in one frame, the ratio
of each machine to the first with its interval, and what they do not have in
common.

Distributed locks are judged within the strongest class of guarantees that was
seen: in failure scenarios of this run, of DIR/chaos, or of the runs that --chaos
names. --require recommends only locks whose tested guarantees hold: failover
(one holder, and not stuck, whichever server is lost), fencing (a resource that
checks tokens takes no stale write), order (served in order of arrival) and
recovery (free again after its holder or a waiter has died).

Of locks kept by servers it says how many round trips follow one another in an
acquisition and in a hand-over, and with --rtt how long these would take at that
round trip between your program and your servers. That rests on what was measured
without --delay; where the run has delays too, the report holds the predictions
for them against what was measured.

With --contenders it predicts their rate and wait with more contenders. The time per
handover is fitted to the points up to a tenth of the most workers; the other points
show the error. It needs at least four such points, as --workers 5,10,20,50,500 has.

With --strict any warning in the report that --accept does not name makes the exit
status 3; the report is written all the same.`,
		Example: `  locklab report build/report
  locklab report build/report --out report.md             only the Markdown
  locklab report build/report --format json               for a program
  locklab report runs/laptop runs/server --out both       several machines in one report
  locklab report runs/laptop --chaos runs/faults          with the outcomes of failure scenarios
  locklab report runs/laptop --require failover,fencing   only locks with these guarantees
  locklab report runs/laptop --rtt 1.5ms,5ms              predicts distributed locks so far away
  locklab report runs/many --contenders 10k --rtt 50ms    predicts more contenders, near and far
  locklab report build/report --strict --accept guest     fails if the run has another warning
  locklab report build/report --png pictures              each chart as a picture`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%w: report needs the directory of a run, or of several", harness.ErrUsage)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := demand.validate(page.WarningKinds()); err != nil {
				return err
			}
			if format != "" && format != "json" {
				return fmt.Errorf("%w: --format is %q: want json, or leave it out", harness.ErrUsage, format)
			}
			if err := guarantees.load(); err != nil {
				return err
			}
			trips, err := parseList("rtt", rtt, parseRoundTrip)
			if err != nil {
				return err
			}
			numbers, err := parseList("contenders", contenders, parseContenders)
			if err != nil {
				return err
			}
			defer thrifty()()
			return interruptible(cmd.Context(), cmd.ErrOrStderr(), "the report", func(files *saver) error {
				runs, err := loadRuns(args)
				if err == nil {
					err = guarantees.applyAll(runs)
				}
				for i := 0; err == nil && i < len(runs); i++ {
					err = guarantees.compares(locksOf(runs[i]))
				}
				if err == nil {
					err = predict(runs, trips, numbers)
				}
				if err != nil {
					return err
				}
				if format != "" {
					return writeJSON(cmd.OutOrStdout(), runs)
				}
				if err := drawRuns(cmd.OutOrStdout(), files, runs, args, out, pictures); err != nil {
					return err
				}
				return demand.judgeRuns(p.Name, runs, cmd.ErrOrStderr())
			})
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "FILE.html, FILE.md, or a directory for both (default DIR; of several, "+machinesDir+")")
	cmd.Flags().StringVar(&format, "format", "", "json: print the decisions, tables, quality and guarantees, and write no file; 'schema report' prints its JSON Schema")
	cmd.Flags().StringVar(&pictures, "png", "", "also write each chart as a PNG file into this directory; with its question and answer")
	cmd.Flags().StringVar(&rtt, "rtt", "", "predict distributed locks at these round trips to their servers, such as 1.5ms,5ms")
	cmd.Flags().StringVar(&contenders, "contenders", "", "predict distributed locks with these numbers of contenders, such as 10k,100k; with --rtt also at these round trips")
	guarantees.flags(cmd)
	guarantees.tableFlags(cmd)
	guarantees.runFlags(cmd)
	demand.flags(cmd, "when the report is written", "machine or the run")
	return cmd
}

// writeJSON prints a single run as JSON, and rejects several.
func writeJSON(out io.Writer, runs []*result.Run) error {
	if len(runs) > 1 {
		return fmt.Errorf("%w: --format json is for one run", harness.ErrUsage)
	}
	return page.WriteJSON(out, runs[0])
}

func parseRoundTrip(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > harness.MaxDelay {
		return 0, fmt.Errorf("%w: %q is not a round trip: want more than 0 and %v at most, such as 1.5ms", harness.ErrUsage, text, harness.MaxDelay)
	}
	return d, nil
}

// mostContenders limits --contenders, to reject typing mistakes.
const mostContenders = 10_000_000

// parseContenders reads a number of contenders, with k for thousands and M for millions.
func parseContenders(text string) (int, error) {
	digits, unit := text, 1
	for suffix, factor := range map[string]int{"k": 1000, "M": 1_000_000} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, factor
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > mostContenders/unit || n*unit < 2 {
		return 0, fmt.Errorf("%w: %q is not a number of contenders: want 2 to %dM, such as 10k", harness.ErrUsage, text, mostContenders/1_000_000)
	}
	return n * unit, nil
}

// predict requests predictions at these round trips and with these numbers of contenders.
// It returns an error if runs is not one run with distributed locks that can be predicted.
func predict(runs []*result.Run, trips []time.Duration, contenders []int) error {
	switch {
	case len(runs) > 1 && len(contenders) > 0:
		return fmt.Errorf("%w: --contenders is for one run", harness.ErrUsage)
	case len(runs) > 1 && len(trips) > 0:
		return fmt.Errorf("%w: --rtt is for one run", harness.ErrUsage)
	}
	if len(contenders) > 0 {
		runs[0].Contenders = contenders
		if err := chart.CanExtrapolate(runs[0]); err != nil {
			return fmt.Errorf("--contenders: %w", err)
		}
	}
	if len(trips) == 0 {
		return nil
	}
	runs[0].RoundTrips = trips
	if err := page.CanPredict(runs[0]); err != nil {
		return fmt.Errorf("--rtt: %w", err)
	}
	return nil
}

// drawRuns writes the report of runs, read from dirs: of one run, or of several side by
// side.
func drawRuns(stdout io.Writer, files *saver, runs []*result.Run, dirs []string, out, pictures string) error {
	if len(runs) > 1 {
		return reportMachines(stdout, files, page.Machines(runs, dirs), out, pictures)
	}
	if pictures != "" {
		if err := writePictures(files, runs[0], pictures); err != nil {
			return err
		}
	}
	return writeReport(stdout, files, runs[0], cmp.Or(out, dirs[0]))
}

// loadRuns reads the runs in dirs and rejects duplicates.
func loadRuns(dirs []string) ([]*result.Run, error) { return readRuns(dirs, loadRun) }

// loadRun reads the run in dir, which must not be a part of a merged run.
func loadRun(dir string) (*result.Run, error) {
	run, err := result.Load(dir)
	if err != nil {
		return nil, err
	}
	if m := run.Manifest; m.IsPart() {
		return nil, fmt.Errorf("%w: %s is the part of rank %d of a run of %d ranks: make one run of all parts by 'merge' first", harness.ErrUsage, dir, m.Rank, m.Ranks)
	}
	return run, nil
}

// readRuns reads the runs in dirs with load and rejects duplicates.
func readRuns(dirs []string, load func(dir string) (*result.Run, error)) ([]*result.Run, error) {
	var runs []*result.Run
	var seen []os.FileInfo
	for i, dir := range dirs {
		run, err := load(dir)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: cannot read the run in %s: %v", harness.ErrUsage, dir, err)
		}
		for k, other := range seen {
			if os.SameFile(info, other) {
				return nil, fmt.Errorf("%w: %s is given twice (also as %s): several runs must be different ones", harness.ErrUsage, dirs[i], dirs[k])
			}
		}
		runs, seen = append(runs, run), append(seen, info)
	}
	return runs, nil
}

func reportMachines(stdout io.Writer, files *saver, machines []chart.Machine, out, pictures string) error {
	if pictures != "" {
		return fmt.Errorf("%w: --png is for one run; of several, --out DIR writes the pictures to DIR/%s", harness.ErrUsage, chartsName)
	}
	if out == "" {
		out = machinesDir
	}
	t := newTarget(out)
	err := t.write(files,
		func(w io.Writer) error { return page.WriteMachinesHTML(w, machines) },
		func(w io.Writer, folder string, picture func(string, []byte) error) error {
			return page.WriteMachinesMarkdown(w, machines, folder, picture)
		})
	if err != nil {
		return err
	}
	if err := page.WriteMachines(stdout, machines, width(stdout)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\n%s\n", reportLine(t.first()))
	return err
}

// thrifty makes the process collect garbage early, until undo is called. A report holds a
// whole run in memory and makes several times as much garbage.
func thrifty() (undo func()) {
	const percent = 25
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}

func writePictures(files *saver, run *result.Run, dir string) error {
	names := slices.Concat(chart.FindingCharts(run), chart.FaultCharts(run), chart.SimulationCharts(run))
	if len(run.Results) > 0 || len(names) == 0 {
		names = slices.Concat(names, chart.Charts(run), chart.ContendersCharts(run))
	}
	for _, name := range names {
		var png bytes.Buffer
		if err := page.WritePNG(&png, run, name); err != nil {
			return err
		}
		if err := files.save(filepath.Join(dir, name+".png"), png.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// writeReport writes the report of run to out and its verdict to stdout.
func writeReport(stdout io.Writer, files *saver, run *result.Run, out string) error {
	t := newTarget(out)
	err := t.write(files,
		func(w io.Writer) error {
			if filepath.Base(t.html) != reportName {
				return page.WriteHTML(w, run)
			}
			var details bytes.Buffer
			if err := page.WriteHTML(&details, run); err != nil {
				return err
			}
			if err := files.save(filepath.Join(filepath.Dir(t.html), detailsName), details.Bytes()); err != nil {
				return err
			}
			return page.WriteBriefHTML(w, run, detailsName)
		},
		func(w io.Writer, folder string, picture func(string, []byte) error) error {
			return page.WriteMarkdown(w, run, folder, picture)
		})
	if err != nil {
		return err
	}
	if err := page.WriteVerdict(stdout, run, width(stdout)); err != nil {
		return err
	}
	if err := page.WriteDistance(stdout, run, width(stdout)); err != nil {
		return err
	}
	if err := page.WriteContenders(stdout, run, width(stdout)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\n%s\n", reportLine(t.first()))
	return err
}

package lab

import (
	"encoding/json"
	"errors"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/site"
	"maps"
	"os"
)

func (o runOptions) open(p *measure.Plan, s *site.Servers, skipped []result.Skip) (string, *result.Writer, *result.Run, error) {
	dir := o.store
	dir.out = outOrNew(o.out)
	in := measure.Calibrate()
	m := o.program.manifest(o.seed)
	maps.Copy(m.Versions, s.Versions())
	o.record(&m, p)
	m.Command, m.Flags, m.Overhead, m.Sections = o.commandLine(), o.chosen, in.Overhead(), in.SectionCosts(p.Cases)
	m.Sites, m.Skipped, m.Warnings = s.Sites, skipped, append(m.Warnings, site.ColdWarnings(s.Sites)...)
	if o.Ranks > 1 {
		m.Rank, m.Ranks, m.Job, m.Machine.Host = o.Rank, o.Ranks, o.Job, o.host
	}
	m.Tolerance = o.guarantees.tolerance
	out, run, err := dir.open(m)
	if err != nil || run == nil {
		return dir.out, out, nil, err
	}
	if err := goOn(p, dir.out, run, skipped); err != nil {
		return "", nil, nil, errors.Join(err, out.Finish(func(m *result.Manifest) {
			m.Finished, m.Interrupted = run.Manifest.Finished, run.Manifest.Interrupted
		}))
	}
	return dir.out, out, run, nil
}

// record writes into m what planAgain needs to make p again, with the flags.
func (o runOptions) record(m *result.Manifest, p *measure.Plan) {
	m.Rounds, m.Cases, m.OpenEvery, m.WindowEvery = p.Rounds, len(p.Cases), p.Every.Open, p.Every.Window
	if len(p.Cases) > 0 {
		m.Window = o.baseOf(p)
	}
}

// commandLine returns, for ranks, the command that started all of them.
func (o *runOptions) commandLine() []string {
	if o.command != nil || json.Unmarshal([]byte(os.Getenv(commandVariable)), &o.command) == nil {
		return o.command
	}
	return withoutPassword(append([]string{o.program.Name}, os.Args[1:]...))
}

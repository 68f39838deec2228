package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"locklab/harness"
	"locklab/harness/oracle"
)

// A Source is a run that contributed results of failure scenarios.
type Source struct {
	Dir     string
	Command []string
	Commit  string
	Faults  int // results of a scenario and a lock
}

// AddFault appends f, or adds its tries to the result of the same scenario and lock.
func AddFault(to []*FaultResult, f *FaultResult) []*FaultResult {
	return addTo(to, f, f.Same, func(old **FaultResult) { (*old).Add(f) })
}

func addTo[T any](list []T, v T, same func(T) bool, add func(old *T)) []T {
	if i := slices.IndexFunc(list, same); i >= 0 {
		add(&list[i])
		return list
	}
	return append(list, v)
}

// AddFaults adds the faults of other, a run of failure scenarios, and its source to r.
func (r *Run) AddFaults(other *Run) {
	for _, f := range other.Faults {
		c := *f
		c.Histories = Each(f.Histories, other.HistoryFile)
		r.Faults = AddFault(r.Faults, &c)
	}
	m := other.Manifest
	r.Chaos = append(r.Chaos, Source{Dir: other.Dir, Command: m.Command, Commit: m.Commit, Faults: len(other.Faults)})
}

// AddPublished adds outcomes of the project's own campaign, which from describes.
func (r *Run) AddPublished(fs []*FaultResult, from string) {
	for _, f := range fs {
		r.Faults = AddFault(r.Faults, f)
		r.Published = from
	}
}

// HistoryFile returns the path of a history that a fault of r names.
func (r *Run) HistoryFile(name string) string {
	if filepath.IsAbs(name) { // AddFaults made it so; names in files are relative
		return name
	}
	dir := r.Dir
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Join(dir, name)
}

func publishedCells(f *FaultResult) []cell {
	cells := []cell{{"scenario", f.Scenario}, {"lock", f.Lock.Name}, {"tries", f.Tries}}
	return append(cells, Each(oracle.Anomalies, func(h oracle.Anomaly) cell { return cell{string(h), f.Seen[h]} })...)
}

func writePublished(out io.Writer, run *Run) error {
	m := run.Manifest
	fmt.Fprintf(out, "# commit %s, %s, %s, Redis %s, ZooKeeper %s, go-redis %s, go-zookeeper %s\n", m.Commit, m.Started.UTC().Format("2006-01-02"), m.Machine.CPU,
		m.Versions[harness.KindRedis], m.Versions[harness.KindZooKeeper], m.Versions["github.com/redis/go-redis/v9"], m.Versions["github.com/go-zookeeper/zk"])
	tried := slices.DeleteFunc(slices.Clone(run.Faults), func(f *FaultResult) bool { return f.Tries == 0 })
	return writeCells(out, publishedCells, tried)
}

// ReadPublished reads the published counts: results with a scenario, the name of a
// lock, tries and anomalies.
func ReadPublished(in io.Reader) (out []*FaultResult, err error) {
	r := csv.NewReader(in)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("result: published counts: %w", err)
	}
	if head := columns(publishedCells(new(FaultResult))); len(rows) == 0 || !slices.Equal(rows[0], head) {
		return nil, fmt.Errorf("result: published counts: the first row is not %q", head)
	}
	for _, row := range rows[1:] {
		f := &FaultResult{Scenario: row[0], Lock: Lock{Name: row[1]}, Seen: make(map[oracle.Anomaly]int)}
		if f.Tries, err = strconv.Atoi(row[2]); err != nil || f.Tries < 1 {
			return nil, fmt.Errorf("result: published counts: %s of %s has the tries %q", row[0], row[1], row[2])
		}
		for i, h := range oracle.Anomalies {
			n, err := strconv.Atoi(row[3+i])
			if err != nil || n < 0 || n > f.Tries {
				return nil, fmt.Errorf("result: published counts: %s of %s: %q of %d tries show %s", row[0], row[1], row[3+i], f.Tries, h)
			}
			if n > 0 {
				f.Seen[h] = n
			}
		}
		f.Published = Campaign{f.Tries, f.Seen}
		out = append(out, f)
	}
	return out, nil
}

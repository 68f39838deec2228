package lab

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
)

const (
	partRanks  = 3
	partRounds = 2
	partWindow = 100 * time.Millisecond
)

// partResult returns the part of a case that a rank has. Its two workers alternate with
// those of other ranks, a millisecond each.
func partResult(rank, round int) *result.Result {
	w := harness.Workload{Workers: 2 * partRanks, Ranks: partRanks, Window: partWindow}
	r := &result.Result{Lock: result.Lock{Name: "queue", Doc: "made up", Paper: "none", Family: "redis", Traits: harness.Traits{Needs: "redis", Fenced: true}},
		Workload: w, Round: round, Elapsed: partWindow, Workers: make([]uint64, 2), SampleEvery: 1, Overlap: 1, Clock: "monotonic"}
	for at := range int64(partWindow / time.Millisecond) {
		worker := int(at) % w.Workers
		if worker/2 != rank {
			continue
		}
		h := harness.Hold{Worker: worker % 2, Requested: at*1e6 - 5e5, Acquired: at * 1e6, Releasing: at*1e6 + 8e5, Token: uint64(at + 1)}
		r.Holds = append(r.Holds, h)
		r.Ops++
		r.Workers[h.Worker]++
		r.Wait = r.Wait.Merge(result.Histogram{{Value: h.Acquired - h.Requested, N: 1}})
		r.Hold.Add(h.Releasing - h.Acquired)
	}
	host := []string{"a", "a", "b"}[rank]
	r.Ranks = []result.Rank{{Rank: rank, Host: host, First: 2 * rank, Workers: 2, Ops: r.Ops, Clock: host, Closed: int64(partWindow), Error: 20_000}}
	return r
}

func writeParts(t *testing.T, root string, edit func(p *result.Run)) (dirs []string) {
	t.Helper()
	var parts []*result.Run
	for rank := range partRanks {
		started := time.Date(2026, 11, 23, 1, 2, rank, 0, time.UTC)
		p := &result.Run{Dir: fmt.Sprint("rank-", rank), Manifest: result.Manifest{Command: []string{"locklab", "run"}, Commit: "0ff", Seed: 7, Rounds: partRounds, Cases: 1,
			Rank: rank, Ranks: partRanks, Job: "j", Started: started, Finished: started.Add(time.Minute), Machine: machine.Environment{OS: "linux", CPU: "Test 9000", CPUs: 2, Host: []string{"a", "a", "b"}[rank]}}}
		for round := range partRounds {
			p.Results = append(p.Results, partResult(rank, round))
		}
		if edit != nil {
			edit(p)
		}
		parts = append(parts, p)
	}
	return writeRuns(t, root, parts)
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		text := ""
		if d.Type().IsRegular() { // a pipe would block
			text = readFile(t, path)
		}
		out[filepath.ToSlash(name)] = text
		return err
	})
	requireNoError(t, err)
	return out
}

func TestMerge(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	parts := writeParts(t, filepath.Join(root, "parts"), nil)
	before := contents(t, filepath.Join(root, "parts"))
	merged := filepath.Join(root, "deep", "merged")
	requireStatus(t, 0, append([]string{"merge", "--out", merged + "/"}, parts...), "rank  host  workers  acquisitions  share  opened late  clock\n", "0     a     2        68            34", "2     b     2        64 ", "2 results of 3 ranks merged into "+merged)
	if !maps.Equal(before, contents(t, filepath.Join(root, "parts"))) {
		t.Error("the parts have changed")
	}
	requireStatus(t, 0, []string{"report", merged}, "report: ")
	requireContains(t, readFile(t, filepath.Join(merged, detailsName)), "rank-least")
	if run := requireRun(t, merged); len(run.Results) != partRounds || len(run.Manifest.Parts) != partRanks || run.Results[0].Ops != 100 {
		t.Errorf("%+v", run)
	}
}

func TestMergeStatus(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	parts := writeParts(t, filepath.Join(root, "parts"), nil)
	late := writeParts(t, filepath.Join(root, "late"), func(p *result.Run) {
		if p.Manifest.Rank == 1 {
			p.Results[1].Ranks[0].Late = 2e7
		}
	})
	broken := writeParts(t, filepath.Join(root, "broken"), func(p *result.Run) {
		if p.Manifest.Rank == 2 { // in round 2 it held the lock while others did
			r := p.Results[1]
			for i := range r.Holds {
				r.Holds[i].Acquired -= 4e5
				r.Holds[i].Releasing -= 4e5
			}
		}
	})
	full := filepath.Join(root, "full")
	requireNoError(t, os.MkdirAll(filepath.Join(full, "x"), 0o755))
	single := writeRun(t, filepath.Join(root, "single"), 1000, 2, nil)
	out := filepath.Join(root, "out")
	requireNoError(t, os.MkdirAll(filepath.Join(out, "late"), 0o755)) // an empty directory is accepted
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
		wrote  bool
	}{
		{"nothing", nil, exitUsage, "merge needs the directories of all parts of a run", false},
		{"missing", parts[:2], exitUsage, "the part of rank 2 of 3 is missing", false},
		{"twice", []string{parts[0], parts[1], parts[2], parts[1]}, exitUsage, "is given twice", false},
		{"exists", append([]string{"--out", parts[0]}, parts...), exitUsage, "already holds a run", false},
		{"not empty", append([]string{"--out", full}, parts...), exitUsage, "is not empty", false},
		{"a file", append([]string{"--out", filepath.Join(parts[0], result.ManifestName)}, parts...), exitUsage, "cannot write to", false},
		{"late", late, exitUnfit, "not merged: lock=queue/workers=6/ranks=3/hold=0s, round 2: rank 1 on a opened its window 20 ms late, 20 % of it", true},
		{"broken", broken, exitFailed, "lock=queue/workers=6/ranks=3/hold=0s, round 2 violated exclusion: over all ranks, worker 4 was granted the lock", true},
	} {
		dir := filepath.Join(out, c.name)
		args := []string{"merge"}
		if !slices.Contains(c.args, "--out") {
			args = append(args, "--out", dir)
		}
		_, stderr, status := executeArgs(t, append(args, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) || c.status == exitUsage && strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, want %d and %q:\n%s", c.name, status, c.status, c.want, stderr)
		}
		if wrote := result.Exists(dir); wrote != c.wrote {
			t.Errorf("%s: wrote is %v", c.name, wrote)
		}
	}
	if left, err := filepath.Glob(filepath.Join(out, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	for _, command := range []string{"report", "export", "compare " + single, "compare --to queue", "agree", "history " + single} {
		requireRefusals(t, command, []refusal{{parts[0], "is the part of rank 0 of a run of 3 ranks: make one run of all parts by 'merge' first"}})
	}
}

package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/harness"
)

// The files of a run.
const (
	ManifestName    = "manifest.json"
	ResultsName     = "results.jsonl"
	BenchName       = "bench.txt"
	WaitLogName     = "wait.hlog"
	HandoverLogName = "handover.hlog"
)

// maxLine limits one line of results.jsonl, so that a damaged file cannot take all memory.
const maxLine = 16 << 20

// ErrForeign is wrapped by errors about a directory whose files another program wrote.
var ErrForeign = fmt.Errorf("%w: not the files of a run", harness.ErrUsage)

// Foreign returns an error that wraps [ErrForeign] if another program wrote files in dir.
func Foreign(dir string) error {
	_, err := ReadManifest(dir)
	if !errors.Is(err, ErrForeign) {
		_, err = loadResults(dir, Manifest{})
	}
	if errors.Is(err, ErrForeign) {
		return err
	}
	return nil
}

// ReadManifest wraps harness.ErrUsage if dir has no run, or one that this version cannot read.
func ReadManifest(dir string) (m Manifest, err error) {
	name := filepath.Join(dir, ManifestName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%w: %s holds no run: it has no %s", harness.ErrUsage, dir, ManifestName)
	}
	if info, serr := os.Stat(dir); serr == nil && !info.IsDir() {
		return m, fmt.Errorf("%w: %s holds no run: it is a file, and a run is a directory", harness.ErrUsage, dir)
	}
	if err != nil {
		return m, fmt.Errorf("%w: cannot read the run in %s: %v", harness.ErrUsage, dir, err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		if json.Valid(text) {
			return m, fmt.Errorf("%w: another program wrote %s: %v", ErrForeign, name, err)
		}
		return m, fmt.Errorf("%w: %s is damaged: %v", harness.ErrUsage, name, err)
	}
	var keys map[string]json.RawMessage
	if _ = json.Unmarshal(text, &keys); m.Schema < 1 || keys["machine"] == nil || keys["started"] == nil {
		return m, fmt.Errorf("%w: another program wrote %s", ErrForeign, name)
	}
	if m.Schema > Schema {
		return m, fmt.Errorf("%w: %s has schema %d, this program reads up to %d: use a newer one",
			harness.ErrUsage, dir, m.Schema, Schema)
	}
	clean(&m)
	return m, nil
}

// Load reads the run in directory dir. Unreadable lines are skipped and listed in Run.Damage.
// An error wraps harness.ErrUsage if dir has no run or one that this version cannot read.
func Load(dir string) (*Run, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	return loadResults(dir, m)
}

func loadResults(dir string, m Manifest) (*Run, error) {
	run := &Run{Dir: dir, Manifest: m}
	name := filepath.Join(dir, ResultsName)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s holds no run: it has no %s", harness.ErrUsage, dir, ResultsName)
	case err == nil && !info.Mode().IsRegular(): // a device or a pipe may have no end
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrForeign, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read the run in %s: %v", harness.ErrUsage, dir, err)
	}
	defer f.Close()
	return run, run.read(f)
}

// read adds the lines of results.jsonl to r. Each unreadable line is skipped and adds a
// sentence to r.Damage. If no line belongs to a run, the error wraps [ErrForeign].
func (r *Run) read(file io.Reader) error {
	in, unpack := bufio.NewReaderSize(file, 1<<16), new(unpacker)
	damaged := func(format string, args ...any) { r.Damage = append(r.Damage, OneLine(fmt.Sprintf(format, args...))) }
	own, foreign := false, false
	for n := 1; ; n++ {
		text, whole, size, err := readLine(in)
		if err != nil {
			return fmt.Errorf("result: %w", err)
		}
		if r.last = text; whole {
			r.whole, r.last = r.whole+size, nil
		}
		if len(text) == 0 && !whole {
			break
		}
		record, err := unpack.decode(text)
		own = own || bytes.HasPrefix(text, lineStart)
		foreign = foreign || len(bytes.TrimSpace(text)) > 0 && (whole || !bytes.HasPrefix(lineStart, text))
		switch {
		case len(bytes.TrimSpace(text)) == 0:
		case err != nil && !whole:
			damaged("line %d is cut short, as after a crash; it was skipped", n)
		case err != nil:
			damaged("line %d was skipped: %v", n, err)
		case !r.add(record):
			damaged("line %d was skipped: it is of a kind that this version does not know", n)
		}
		if !whole {
			break
		}
	}
	if foreign && !own {
		return fmt.Errorf("%w: no line of %s begins as one", ErrForeign, filepath.Join(r.Dir, ResultsName))
	}
	return nil
}

// lineStart is the beginning of each line, even of a truncated one.
var lineStart = []byte(`{"schema":`)

func (r *Run) add(record Record) bool {
	switch {
	case record.Result != nil:
		r.Results = append(r.Results, record.Result)
	case record.Finding != nil:
		// The experiment was run again, or was resumed.
		r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool { return f.Name == record.Finding.Name })
		r.Findings = append(r.Findings, record.Finding)
	case record.Sample != nil:
		r.Samples = append(r.Samples, *record.Sample)
	case record.Fault != nil:
		r.Faults = AddFault(r.Faults, record.Fault)
	case record.Simulation != nil:
		s := record.Simulation
		r.Simulations = addTo(r.Simulations, s, s.Same, func(old **Simulation) { *old = s })
	case record.Machine != nil:
		m := record.Machine
		same := func(old *ModelMachine) bool { return old.Name == m.Name }
		r.Machines = addTo(r.Machines, m, same, func(old **ModelMachine) {
			if (*old).Hypothetical != m.Hypothetical || !bytes.Equal((*old).File, m.File) {
				r.Simulations = slices.DeleteFunc(r.Simulations, func(s *Simulation) bool { return s.Simulated == m.Name })
			}
			*old = m
		})
	default:
		return false
	}
	return true
}

// readLine returns the next line without its newline, whether it had one, and its size in
// the file. Bytes beyond maxLine are dropped, which makes the line undecodable.
func readLine(in *bufio.Reader) (text []byte, whole bool, size int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if len(text) < maxLine {
			text = append(text, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(text, []byte("\n")), true, size, nil
		case errors.Is(err, io.EOF):
			return text, false, size, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, 0, err
		}
	}
}

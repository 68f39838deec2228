package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

type mutant struct {
	dir, name string
	file      string   // within dir
	test      []string // arguments of go test
	old, new  string   // whole lines
}

func (m mutant) String() string { return m.dir + "/" + m.name }

const entriesFile = "testdata/mutants.txt"

func readAll(root string) (all []mutant, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(filepath.ToSlash(path), "/"+entriesFile) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(filepath.Dir(path)))
		if err != nil {
			return err
		}
		ms, err := parse(filepath.ToSlash(dir), string(text))
		all = append(all, ms...)
		return err
	})
	return all, err
}

func parse(dir, text string) (ms []mutant, err error) {
	names := make(map[string]bool)
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		var m *mutant
		if len(ms) > 0 {
			m = &ms[len(ms)-1]
		}
		switch {
		case line == "" || word[:min(1, len(word))] == "#":
		case word == "mutant" && !names[rest]:
			names[rest] = true
			ms = append(ms, mutant{dir: dir, name: rest})
		case m == nil:
			return nil, fmt.Errorf("%s/%s:%d: %q is of no mutant", dir, entriesFile, i+1, line)
		case word == "file" && m.file == "":
			m.file = rest
		case word == "test" && m.test == nil:
			m.test = strings.Fields(rest)
		case m.test != nil && strings.ContainsAny(line[:1], " -+"):
			m.add(line[:1], line[1:]+"\n")
		default:
			return nil, fmt.Errorf("%s/%s:%d: unexpected %q", dir, entriesFile, i+1, line)
		}
	}
	return ms, nil
}

func (m *mutant) add(mark, line string) {
	if mark != "+" {
		m.old += line
	}
	if mark != "-" {
		m.new += line
	}
}

func (m mutant) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.dir, m.file))
	if err != nil {
		return nil, fmt.Errorf("%v: %w", m, err)
	}
	text = append([]byte("\n"), text...) // so that each line follows a newline
	old := []byte("\n" + m.old)
	switch n := bytes.Count(text, old); {
	case m.old == m.new || len(m.test) == 0:
		return nil, fmt.Errorf("%v: it changes nothing, or has no test", m)
	case n != 1:
		return nil, fmt.Errorf("%v: its lines are %d times in %s, want once", m, n, m.file)
	}
	return bytes.Replace(text, old, []byte("\n"+m.new), 1)[1:], nil
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

func main() { os.Exit(run(".", os.Args[1:])) }

func run(root string, args []string) int {
	path := ""
	if len(args) == 1 {
		path = args[0]
	}
	m, err := load(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "setmodule:", err)
		return 1
	}
	if err := m.check(path); err != nil {
		fmt.Fprintf(os.Stderr, "setmodule: MODULE=%q: %v\n", path, err)
		return 2
	}
	changed, err := m.rewrite(root, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "setmodule:", err)
		return 1
	}
	fmt.Printf("module %s, was %s: %d files changed\n", path, m.path, changed)
	return 0
}

type tree struct {
	path     string   // from go.mod
	requires []string // the paths of the required modules
	folders  []string // top-level folders that can be part of a package's path
	files    []string // all that may contain the path, relative to the root
}

var leftOut = []string{".git", "build", "runs", "node_modules"}

func load(root string) (tree, error) {
	var m tree
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		switch {
		case len(words) == 2 && words[0] == "module":
			m.path = strings.Trim(words[1], `"`)
		case len(words) >= 2 && strings.HasPrefix(words[1], "v"):
			m.requires = append(m.requires, words[0])
		}
	}
	if m.path == "" {
		return m, errors.New("go.mod has no line \"module\"")
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(leftOut, d.Name()):
			return fs.SkipDir
		case d.IsDir() && rel != "." && !strings.ContainsAny(rel, `/\.`):
			m.folders = append(m.folders, rel)
		case d.Type().IsRegular():
			m.files = append(m.files, rel)
		}
		return nil
	})
	return m, err
}

// rewrite replaces the path of the module by another, and returns the number of changed
// files. It writes nothing unless it can rewrite all of them.
func (m tree) rewrite(root, path string) (int, error) {
	texts := make(map[string][]byte)
	for _, name := range m.files {
		old, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return 0, err
		}
		if !bytes.Contains(old, []byte(m.path)) || bytes.IndexByte(old, 0) >= 0 || !utf8.Valid(old) {
			continue
		}
		text := m.replace(string(old), path, filepath.Base(name) == "go.mod" || filepath.Base(name) == "go.work")
		if text == string(old) {
			continue
		}
		texts[name] = sorted(name, old, []byte(text))
	}
	for name, text := range texts {
		file := filepath.Join(root, name)
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(file, text, info.Mode().Perm()); err != nil {
			return 0, err
		}
	}
	return len(texts), nil
}

// sorted formats a Go file again if it was formatted: its imports are ordered by their
// paths.
func sorted(name string, old, text []byte) []byte {
	if filepath.Ext(name) != ".go" {
		return text
	}
	was, err := format.Source(old)
	if err != nil || !bytes.Equal(was, old) {
		return text
	}
	is, err := format.Source(text)
	if err != nil {
		return text
	}
	return is
}

package twin

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"locklab/internal/child"
)

// ErrNoCompiler reports that there is no working C compiler, with the reason around it.
var ErrNoCompiler = errors.New("twin: no C compiler")

// ErrNoHeader reports a missing header, with its name and source around it.
var ErrNoHeader = errors.New("twin: missing C header")

func compiler() []string {
	if words := strings.Fields(os.Getenv("CC")); len(words) > 0 {
		return words
	}
	return []string{"cc"}
}

func build(ctx context.Context, dir string, p *Program, flags []string) (string, error) {
	if p.Build != nil {
		return p.Build(ctx, dir)
	}
	words := compiler()
	if _, err := exec.LookPath(words[0]); err != nil {
		return "", fmt.Errorf("%w: %w: install gcc or clang, or name one in CC", ErrNoCompiler, err)
	}
	if err := unpack(dir); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "twin")
	said, err := compile(ctx, dir, words, flags, p.File, out)
	if err == nil {
		return out, nil
	}
	// A compiler without headers or linker counts as missing.
	if said, err := compile(ctx, dir, words, flags, "hello.c", out); err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("%w: %s builds no program: %w: %s", ErrNoCompiler, words[0], err, said)
	}
	if header, _, _ := strings.Cut(p.Needs, ":"); p.Needs != "" && ctx.Err() == nil && !hasHeader(ctx, dir, words, header) {
		return "", fmt.Errorf("%w: %s", ErrNoHeader, p.Needs)
	}
	return "", fmt.Errorf("twin: cannot build %s: %w: %s", p.File, err, said)
}

func hasHeader(ctx context.Context, dir string, words []string, header string) bool {
	const name = "header.c"
	text := "#include <" + header + ">\nint main(void) { return 0; }\n"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		return true
	}
	_, err := compile(ctx, dir, words, nil, name, filepath.Join(dir, "header"))
	return err == nil
}

func compile(ctx context.Context, dir string, words, flags []string, file, out string) (string, error) {
	args := append(append([]string{}, words[1:]...), "-std=c11", "-pthread")
	args = append(append(args, flags...), "-o", out, file)
	cmd := exec.CommandContext(ctx, words[0], args...)
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return last(string(said)), err
}

func last(text string) string { return cmp.Or(child.LastWords(text), "it printed nothing") }

func unpack(dir string) error {
	files, err := fs.Sub(sources, "c")
	if err != nil {
		return err
	}
	const hello = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }\n"
	return errors.Join(os.CopyFS(dir, files), os.WriteFile(filepath.Join(dir, "hello.c"), []byte(hello), 0o600))
}

// A Program is a C source that measures one topic.
type Program struct {
	Topic string // name in the first line of the protocol
	File  string // in the directory c
	Cases []string
	Needs string // a header in addition to C11 and POSIX, and how to get it; or ""

	// Build, if not nil, makes the program in another language, in a directory that is removed
	// once it runs, and returns the path.
	Build func(ctx context.Context, dir string) (path string, err error)
}

// CoreToCore passes a word between two threads. An operation is one way.
var CoreToCore = &Program{
	Topic: "core-to-core",
	File:  "core_to_core.c",
	Cases: []string{"cas-spin", "load-then-cas"},
}

// Locks takes and frees a lock. An operation is an acquisition with its release. The
// program ends if two threads were inside at once.
var Locks = &Program{
	Topic: "locks",
	File:  "locks.c",
	Cases: []string{"tas", "tas-xchg", "ttas", "ticket", "mcs", "clh", "pthread-mutex"},
}

// ConcurrencyKit does the same as Locks, with locks written by others.
var ConcurrencyKit = &Program{
	Topic: "concurrency-kit",
	File:  "ck.c",
	Cases: []string{"ck-fas", "ck-cas", "ck-ticket", "ck-mcs", "ck-clh"},
	Needs: "ck_spinlock.h: install libck-dev, see concurrencykit.org",
}

//go:embed c/*.c c/*.h
var sources embed.FS

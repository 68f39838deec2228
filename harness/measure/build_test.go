package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
)

func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	requireNoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return path
}

func this(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	requireNoError(t, err)
	return script(t, "exec '"+exe+"'")
}

func TestAskBuild(t *testing.T) {
	path := this(t)
	b, err := AskBuild(t.Context(), path)
	requireNoError(t, err)
	if b.Path != path || b.Protocol != protocol || b.Schema != result.Schema || b.Go == "" || b.Arch == "" ||
		b.Overhead.Loop <= 0 || !slices.Contains(b.Locks, "good") {
		t.Errorf("%+v", b)
	}
}

func TestAskBuildRefuses(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	requireNoError(t, os.WriteFile(plain, []byte("text"), 0o644))
	const hear = "read -r spec\n"
	for _, c := range []struct{ path, want string }{
		{filepath.Join(t.TempDir(), "none"), "no such file"},
		{t.TempDir(), "is a directory"},
		{plain, "permission denied"},
		{script(t, hear+"exit 0"), "protocol"},
		{script(t, hear+"echo '{}'"), "which protocol"},
		{script(t, "exec head -n 1"), "which protocol"}, // echoes its input
		{script(t, hear+"exit 7"), "status 7"},
		{script(t, hear+`echo 'no lock is called ""' >&2; exit 1`), "before there was --interleave"}, // the output of older builds
		{script(t, "exec yes"), "pipe"},                                                              // is stopped before it fills the memory
		{script(t, hear+fmt.Sprintf(`echo '{"protocol":%d,"schema":%d}'`, protocol+1, result.Schema)), "build both"},
		{script(t, hear+fmt.Sprintf(`echo '{"protocol":%d,"schema":%d}'`, protocol, result.Schema+1)), "build both"},
	} {
		_, err := AskBuild(t.Context(), c.path)
		if !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want one line with %q", err, c.want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := AskBuild(ctx, script(t, "exec sleep 60")); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 8*time.Second {
		t.Errorf("a program that does not answer: %v after %v", err, time.Since(start))
	}
}

// TestRunBuilds: each build measures every case of a round in turn, in varying order.
func TestRunBuilds(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	exe, err := os.Executable()
	requireNoError(t, err)
	builds := []Build{
		{Path: script(t, "echo 0 >> '"+log+"'; exec '"+exe+"'")},
		{Path: script(t, "echo 1 >> '"+log+"'; exec '"+exe+"'")},
	}
	p := plan(8, good)
	p.Cases[0].Workload.Window = 2 * time.Millisecond
	type slot struct{ build, round int }
	var slots []slot
	err = p.RunBuilds(t.Context(), builds, func(build int, at Progress) error {
		slots = append(slots, slot{build, at.Round})
		if at.Done != len(slots) || at.Total != 16 || at.Result.Round != at.Round || at.Result.Lock.Name != good.Name {
			t.Errorf("%+v", at)
		}
		return nil
	})
	requireNoError(t, err)
	first := 0
	var said strings.Builder
	for i := 0; i+1 < len(slots); i += 2 {
		a, b := slots[i], slots[i+1]
		if a.round != i/2 || b.round != i/2 || a.build+b.build != 1 {
			t.Errorf("runs %d and %d are %v and %v", i, i+1, a, b)
		}
		first += a.build
		fmt.Fprintf(&said, "%d\n%d\n", a.build, b.build)
	}
	if len(slots) != 16 || first == 0 || first == 8 {
		t.Errorf("%d runs; the second build came first in %d of 8 rounds", len(slots), first)
	}
	if text, err := os.ReadFile(log); err != nil || string(text) != said.String() {
		t.Errorf("the programs ran in the order %q, reported %q (%v)", text, said.String(), err)
	}

	stop := errors.New("enough")
	if err := p.RunBuilds(t.Context(), builds, func(int, Progress) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want what report said", err)
	}
	if err := plan(0, good).RunBuilds(t.Context(), builds, nil); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("no rounds: %v", err)
	}
}

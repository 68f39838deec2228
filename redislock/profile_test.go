package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/internal/backend"
)

// TestProfile counts the cost of a contended turn in the server: requests, and by callgrind the
// instructions from the bytes of a request to the reply, without the kernel and periodic work.
// Unlike times, the counts are the same on a busy machine. -v lists the instructions
// of the whole run by function, calls included; functions that the server does not export have no names.
//
// With redis-queue and 8 contenders Redis 7.0.15 of Debian takes 302,000 instructions, 8.2.3
// 277,000, and Valkey 9.1.2 314,000.
func TestProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	valgrind := findValgrind(t)
	for _, test := range []struct {
		contenders int
		requests   float64
		most       float64 // instructions
	}{
		{8, 3, 320e3},
		{50, 3, 355e3}, // more places in the queue
	} {
		t.Run(fmt.Sprintf("redis-queue/%d", test.contenders), func(t *testing.T) {
			const tries = 5 // on a busy machine a request may be repeated, or have no answer for too long
			for try := 1; ; try++ {
				requests, all, table, err := profileTurns(t, valgrind, test.contenders)
				if err != nil && try < tries {
					continue
				}
				requireNoError(t, err)
				fits := requests > test.requests-0.1 && requests < test.requests+0.05 && all <= test.most && all > test.most/2
				if !fits && try < tries {
					continue
				}
				t.Logf("%.2f requests and %.0f instructions a turn\n%s", requests, all, table)
				if !fits {
					t.Errorf("%.2f requests and %.0f instructions a turn, want %.0f, and at most %.0f and not half of that",
						requests, all, test.requests, test.most)
				}
				return
			}
		})
	}
}

// findValgrind returns valgrind's path, or skips, or fails if LOCKLAB_REQUIRE names it.
func findValgrind(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("valgrind")
	if err == nil {
		_, err = exec.LookPath("callgrind_annotate")
	}
	if err == nil {
		return path
	}
	reason := fmt.Sprintf("%v: apt-get install valgrind", err)
	if backend.Required("valgrind") {
		t.Fatal(reason)
	}
	t.Skip(reason)
	return ""
}

var (
	programTotals = regexp.MustCompile(`(?m)^\s*([\d,]+).*PROGRAM TOTALS$`)
	functionCost  = regexp.MustCompile(`(?m)^\s*[\d,]+ \(.*$`)
)

// readProfile returns the instructions in a callgrind file, and its functions with the highest
// costs, calls included.
func readProfile(ctx context.Context, path string) (all float64, table string, err error) {
	out, err := exec.CommandContext(ctx, "callgrind_annotate", "--inclusive=yes", path).Output()
	if err != nil {
		return 0, "", err
	}
	total := programTotals.FindSubmatch(out)
	if total == nil {
		return 0, "", fmt.Errorf("%s has no total:\n%s", path, out)
	}
	all, err = strconv.ParseFloat(strings.ReplaceAll(string(total[1]), ",", ""), 64)
	return all, string(bytes.Join(functionCost.FindAll(out, 40), []byte("\n"))), err
}

func profileTurns(t *testing.T, valgrind string, n int) (requests, all float64, table string, err error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "callgrind")
	s, err := backend.StartRedisOf(t.Context(), backend.RedisOptions{Under: []string{
		valgrind, "--tool=callgrind", "--callgrind-out-file=" + out,
		// Only the server's work for clients.
		"--toggle-collect=readQueryFromClient", "--toggle-collect=handleClientsWithPendingWrites",
		// CONFIG RESETSTAT ends one part of the profile and begins the next.
		"--dump-before=configResetStatCommand",
	}})
	if errors.Is(err, harness.ErrUnavailable) && !backend.Required(harness.KindRedis) {
		t.Skip(err)
	}
	requireNoError(t, err)
	defer s.Stop()
	each := max(4, 200/n)
	c, admin := newContenders(t, s.Endpoint(), n), dial(t, s.Endpoint())
	mark := func() error { return admin.ConfigResetStat(t.Context()).Err() }
	if err := errors.Join(c.turns(t.Context(), 2), mark()); err != nil {
		return 0, 0, "", err
	}
	before := c.requests()
	err = c.turns(t.Context(), each)
	sent := c.requests() - before
	if err := errors.Join(err, mark()); err != nil {
		return 0, 0, "", err
	}
	turns := float64(n * each)
	all, table, err = readProfile(t.Context(), out+".2")
	return float64(sent) / turns, all / turns, table, err
}

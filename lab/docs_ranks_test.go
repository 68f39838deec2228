package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"locklab/harness"
	"locklab/internal/backend"
)

// shortRanks is a short run of several ranks, each with at least one worker.
const shortRanks = "--rounds 1 --duration 30ms --warmup 1ms"

// allRanks runs one rank's command for all, each in its directory, with a local Redis.
func allRanks(home, command string) error {
	m := regexp.MustCompile(`--rank (\d+) --ranks (\d+) .*redis://([\w.:]+)`).FindStringSubmatch(command)
	if m == nil {
		return fmt.Errorf("no rank, ranks or Redis in %q", command)
	}
	ctx, cancel := context.WithTimeout(context.Background(), mostTime)
	defer cancel()
	server, err := backend.Start(ctx, harness.KindRedis)
	if err != nil {
		return err
	}
	defer server.Stop()
	at := server.Endpoint().Addrs[0][0]
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return err
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		host := filepath.Join(home, fmt.Sprint(i))
		if err := os.Mkdir(host, 0o755); err != nil {
			return err
		}
		c := strings.Replace(command, "--rank "+m[1]+" ", fmt.Sprintf("--rank %d ", i), 1)
		c = "env LOCKLAB_REDIS=" + at + " " + strings.Replace(c, m[3], at, 1)
		all.Go(func() { errs[i] = shorten(host, c, shortRanks) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// understood lets a command's locklab print its help, after it has accepted the flags.
func understood(home, command string) error {
	i := strings.Index(command, "locklab ")
	if i < 0 {
		return fmt.Errorf("no locklab in %q", command)
	}
	return shorten(home, "env "+command[i:], "--help")
}

func deployExists(_, command string) error {
	names := regexp.MustCompile(`\bdeploy/[\w./]+`).FindAllString(command, -1)
	if len(names) == 0 {
		return fmt.Errorf("no file in %q", command)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join("..", name)); err != nil {
			return err
		}
	}
	return nil
}

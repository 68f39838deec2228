package twin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const ownerVariable = "LOCKLAB_TWIN_OWNER"

// TestMain is also the owner that TestDiesWithOwner kills.
func TestMain(m *testing.M) {
	if os.Getenv(ownerVariable) == "" {
		os.Exit(m.Run())
	}
	tw, err := Start(context.Background(), CoreToCore)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(tw.child.PID())
	_, err = tw.Run(context.Background(), "cas-spin", []int{Unbound, Unbound}, time.Minute)
	fmt.Println(err)
}

func TestDiesWithOwner(t *testing.T) {
	needCompiler(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerVariable+"=1")
	stdout, err := owner.StdoutPipe()
	requireNoError(t, err)
	requireNoError(t, owner.Start())
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	for deadline := time.Now().Add(10 * time.Second); countThreads(line) < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // until it measures
	}
	requireNoError(t, errors.Join(readErr, owner.Process.Kill()))
	if err := owner.Wait(); err == nil {
		t.Error("the owner was not killed")
	}
	if _, err := strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatalf("the owner said %q", line)
	}
	for deadline := time.Now().Add(20 * time.Second); countThreads(line) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %s outlives its owner", line)
		}
	}
}

// countThreads returns a process's threads, 0 if it is gone or a zombie.
func countThreads(pid string) int {
	text, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name in parentheses may contain blanks.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return 0
	}
	n, err := strconv.Atoi(fields[17])
	if err != nil {
		return 0
	}
	return n
}
